/* The element types of library calls: from each library's numbers to ours (BST_ENUM_DATA_TYPE_*),
 * and their sizes. */
#ifndef DATA_TYPE_H
#define DATA_TYPE_H

#include <stdbool.h>
#include <stdint.h>

/* From cudaDataType (library_types.h), which cuBLAS and cuBLASLt use. UNKNOWN for what this version
 * has not heard of. */
uint8_t data_type_of_cuda(int cuda);
/* From cudnnDataType_t. The packed types (INT8x4 ...) are their element. */
uint8_t data_type_of_cudnn(int cudnn);
/* From ncclDataType_t. */
uint8_t data_type_of_nccl(int nccl);

/* Bits of one element, both parts of a complex one; 0 = unknown. */
unsigned data_type_bits(uint8_t type);
bool data_type_is_complex(uint8_t type);

/* From cublasComputeType_t to BST_ENUM_COMPUTE_*. */
uint8_t compute_of_cublas(int compute);

#endif
