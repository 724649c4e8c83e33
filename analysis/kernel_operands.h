/* What a kernel's name says of the operands that it gives to tensor cores. */
#ifndef KERNEL_OPERANDS_H
#define KERNEL_OPERANDS_H

#include "ceilings.h"

/*
 * The ceiling of tensor cores with such operands: CEILING_TENSOR_BF16 for
 * "nvjet_sm90_tst_..." and "cutlass_80_bf16_s16816gemm_...". CEILING_COUNT where the name does not
 * say; it does not say either whether tensor cores are used at all.
 */
enum ceiling kernel_operands(const char *name);

#endif
