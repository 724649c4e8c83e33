/* Tables of element types. */
#include "data_type.h"

#include "trace/format.h"

#define TYPE(name) BST_ENUM_DATA_TYPE_##name
#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

/* library_types.h of CUDA 13.0 */
static const uint8_t of_cuda[] = {
	[0] = TYPE(F32),      [1] = TYPE(F64),      [2] = TYPE(F16),      [3] = TYPE(I8),
	[4] = TYPE(C32),      [5] = TYPE(C64),      [6] = TYPE(C16),      [8] = TYPE(U8),
	[10] = TYPE(I32),     [12] = TYPE(U32),     [14] = TYPE(BF16),    [15] = TYPE(CB16),
	[16] = TYPE(I4),      [18] = TYPE(U4),      [20] = TYPE(I16),     [22] = TYPE(U16),
	[24] = TYPE(I64),     [26] = TYPE(U64),     [28] = TYPE(F8_E4M3), [29] = TYPE(F8_E5M2),
	[30] = TYPE(F8_E8M0), [31] = TYPE(F6_E2M3), [32] = TYPE(F6_E3M2), [33] = TYPE(F4_E2M1),
};

/* cudnn_graph_v9.h of cuDNN 9.19 */
static const uint8_t of_cudnn[] = {
	[0] = TYPE(F32),      [1] = TYPE(F64),      [2] = TYPE(F16),      [3] = TYPE(I8),
	[4] = TYPE(I32),      [5] = TYPE(I8),       [6] = TYPE(U8),       [7] = TYPE(U8),
	[8] = TYPE(I8),       [9] = TYPE(BF16),     [10] = TYPE(I64),     [11] = TYPE(BOOL),
	[12] = TYPE(F8_E4M3), [13] = TYPE(F8_E5M2), [15] = TYPE(F8_E8M0), [16] = TYPE(F4_E2M1),
	[17] = TYPE(I4),      [18] = TYPE(U4),      [19] = TYPE(U32),     [20] = TYPE(C32),
	[21] = TYPE(C64),
};

/* nccl.h of NCCL 2.28 */
static const uint8_t of_nccl[] = {
	TYPE(I8),  TYPE(U8),  TYPE(I32), TYPE(U32),  TYPE(I64),     TYPE(U64),
	TYPE(F16), TYPE(F32), TYPE(F64), TYPE(BF16), TYPE(F8_E4M3), TYPE(F8_E5M2),
};

static const uint8_t bits[] = {
	[TYPE(F64)] = 64,    [TYPE(F32)] = 32,    [TYPE(F16)] = 16,    [TYPE(BF16)] = 16,
	[TYPE(F8_E4M3)] = 8, [TYPE(F8_E5M2)] = 8, [TYPE(F8_E8M0)] = 8, [TYPE(F6_E2M3)] = 6,
	[TYPE(F6_E3M2)] = 6, [TYPE(F4_E2M1)] = 4, [TYPE(C64)] = 128,   [TYPE(C32)] = 64,
	[TYPE(C16)] = 32,    [TYPE(CB16)] = 32,   [TYPE(I64)] = 64,    [TYPE(I32)] = 32,
	[TYPE(I16)] = 16,    [TYPE(I8)] = 8,      [TYPE(I4)] = 4,      [TYPE(U64)] = 64,
	[TYPE(U32)] = 32,    [TYPE(U16)] = 16,    [TYPE(U8)] = 8,      [TYPE(U4)] = 4,
	[TYPE(BOOL)] = 8,
};

static uint8_t look_up(const uint8_t *table, int count, int value)
{
	return value >= 0 && value < count ? table[value] : TYPE(UNKNOWN);
}

uint8_t data_type_of_cuda(int cuda)
{
	return look_up(of_cuda, COUNT(of_cuda), cuda);
}

uint8_t data_type_of_cudnn(int cudnn)
{
	return look_up(of_cudnn, COUNT(of_cudnn), cudnn);
}

uint8_t data_type_of_nccl(int nccl)
{
	return look_up(of_nccl, COUNT(of_nccl), nccl);
}

unsigned data_type_bits(uint8_t type)
{
	return look_up(bits, COUNT(bits), type);
}

bool data_type_is_complex(uint8_t type)
{
	return type == TYPE(C64) || type == TYPE(C32) || type == TYPE(C16) || type == TYPE(CB16);
}

uint8_t compute_of_cublas(int compute)
{
	/* cublas_api.h of CUDA 13.0; the odd ones are the pedantic twins */
	switch (compute) {
	case 64:
	case 65:
		return BST_ENUM_COMPUTE_F16;
	case 68:
	case 69:
		return BST_ENUM_COMPUTE_F32;
	case 70:
	case 71:
		return BST_ENUM_COMPUTE_F64;
	case 72:
	case 73:
		return BST_ENUM_COMPUTE_I32;
	case 74:
		return BST_ENUM_COMPUTE_F32_FAST_F16;
	case 75:
		return BST_ENUM_COMPUTE_F32_FAST_BF16;
	case 77:
		return BST_ENUM_COMPUTE_F32_FAST_TF32;
	case 78:
		return BST_ENUM_COMPUTE_F32_EMULATED;
	case 79:
		return BST_ENUM_COMPUTE_F64_EMULATED;
	default:
		return BST_ENUM_COMPUTE_UNKNOWN;
	}
}
