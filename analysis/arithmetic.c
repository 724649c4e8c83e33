/* Arithmetic to percentages of peak. */
#include "arithmetic.h"

#include <math.h>
#include <string.h>

#include "shim/trace/format.h"

/* Below this share of its launches inside library calls, a kernel's mean time is not that of those. */
#define LAUNCHES_LEAST 0.95
#define BOUND_PCT 60.0 /* as decide.c */

static enum ceiling ceiling_of_operands(uint8_t type)
{
	switch (type) {
	case BST_ENUM_DATA_TYPE_F16:
	case BST_ENUM_DATA_TYPE_C16:
		return CEILING_TENSOR_FP16;
	case BST_ENUM_DATA_TYPE_BF16:
	case BST_ENUM_DATA_TYPE_CB16:
		return CEILING_TENSOR_BF16;
	case BST_ENUM_DATA_TYPE_F8_E4M3:
	case BST_ENUM_DATA_TYPE_F8_E5M2:
		return CEILING_TENSOR_FP8;
	case BST_ENUM_DATA_TYPE_I8:
	case BST_ENUM_DATA_TYPE_U8:
		return CEILING_TENSOR_INT8;
	case BST_ENUM_DATA_TYPE_F64:
	case BST_ENUM_DATA_TYPE_C64:
		return CEILING_TENSOR_FP64;
	case BST_ENUM_DATA_TYPE_F32:
	case BST_ENUM_DATA_TYPE_C32:
		return CEILING_FP32;
	default:
		return CEILING_COUNT;
	}
}

/* The pipe that a library uses for such operands and such arithmetic; CEILING_COUNT = not known. */
static enum ceiling ceiling_of_shape(const struct library_shape *shape)
{
	switch (shape->compute) {
	case BST_ENUM_COMPUTE_F32_FAST_F16:
		return CEILING_TENSOR_FP16;
	case BST_ENUM_COMPUTE_F32_FAST_BF16:
		return CEILING_TENSOR_BF16;
	case BST_ENUM_COMPUTE_F32_FAST_TF32:
		return CEILING_TENSOR_TF32;
	case BST_ENUM_COMPUTE_F32_OR_TF32:
	case BST_ENUM_COMPUTE_F32_EMULATED:
	case BST_ENUM_COMPUTE_F64_EMULATED:
		return CEILING_COUNT;
	default:
		return ceiling_of_operands(shape->type[0]);
	}
}

static struct measure percent_of(double per_second, const struct measure *peak)
{
	if (!peak->known || peak->value <= 0)
		return (struct measure){0};
	return (struct measure){true, fmin(100 * per_second / peak->value, 100),
				fmin(100 * per_second / peak->high, 100),
				fmin(100 * per_second / fmax(peak->low, 1), 100)};
}

bool arithmetic_of(const struct library *library, uint32_t signature, uint64_t launches,
		   const struct ceilings *ceilings, struct kernel_arithmetic *found)
{
	const struct library_shape *shape;
	struct library_sum sum;
	double seconds;

	memset(found, 0, sizeof(*found));
	found->pipe = CEILING_COUNT;
	if (!library || !library_sum(library, signature, &sum) || sum.total_ns <= 0 ||
	    (double)sum.launches < LAUNCHES_LEAST * (double)launches)
		return false;
	seconds = sum.total_ns / 1e9;
	shape = library_shape(library, sum.shape);
	found->pipe = shape ? ceiling_of_shape(shape) : CEILING_COUNT;
	if (sum.flops_launches == sum.launches && !sum.nominal) {
		found->flops = measure_exact(sum.flops / (double)sum.launches);
		if (found->pipe != CEILING_COUNT)
			found->flops_pct =
				percent_of(sum.flops / seconds, &ceilings->of[found->pipe].measure);
	}
	if (sum.bytes_launches == sum.launches) {
		found->bytes = measure_exact(sum.bytes / (double)sum.launches);
		found->bytes_pct =
			percent_of(sum.bytes / seconds, &ceilings->of[CEILING_DRAM_READ].measure);
	}
	return found->flops.known || found->bytes.known;
}

void arithmetic_decide_input(const struct kernel_arithmetic *found, struct decide_input *input)
{
	if (!found->flops_pct.known || !found->bytes_pct.known)
		return;
	if (found->flops_pct.value < BOUND_PCT && found->bytes_pct.value < BOUND_PCT)
		return;
	input->unit_pct[UNIT_COMPUTE] = found->flops_pct;
	input->unit_pct[UNIT_DRAM] = found->bytes_pct;
	input->evidence = EVIDENCE_LIBRARY;
}
