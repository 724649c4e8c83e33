/* What a wrapper returns where no library provides the real function: that library's own "not
 * supported". */
#ifndef LIBRARY_MISSING_H
#define LIBRARY_MISSING_H

#define CUBLAS_MISSING 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#define CUBLASLT_MISSING 15
#define CUDNN_MISSING 3000 /* CUDNN_STATUS_NOT_SUPPORTED */
#define NCCL_MISSING 3     /* ncclInternalError */

#endif
