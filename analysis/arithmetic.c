/* Arithmetic to percentages of peak. */
#include "arithmetic.h"

#include <math.h>
#include <string.h>

#include "shim/trace/format.h"

/* Below this share of its launches inside library calls, a kernel's mean time is not that of those. */
#define LAUNCHES_LEAST 0.95
#define BOUND_PCT 60.0 /* as decide.c */
#define ALIKE_LEAST 0.5

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

static bool is_attention(const struct library_shape *shape)
{
	return shape->operation == BST_ENUM_OPERATION_ATTENTION_FORWARD ||
	       shape->operation == BST_ENUM_OPERATION_ATTENTION_BACKWARD;
}

/* At most, by a forward pass that computes its matrix products and its exponentials in turn. */
static double attention_most(const struct library_shape *shape, enum ceiling pipe,
			     const struct ceilings *ceilings)
{
	const struct measure *tensor = &ceilings->of[pipe].measure;
	const struct measure *shared = &ceilings->of[CEILING_SHARED_READ].measure;
	/* 16 exponentials where shared memory gives 128 bytes */
	double exp_per_s = shared->high / 8, products_s;

	if (shape->operation != BST_ENUM_OPERATION_ATTENTION_FORWARD || !shape->k ||
	    !tensor->known || !shared->known || exp_per_s <= 0)
		return 100;
	products_s = 4 * (double)shape->k / tensor->high;
	return 100 * products_s / (products_s + 1 / exp_per_s);
}

static struct measure attention_pct(struct measure pct, double most)
{
	double high = fmin(pct.value, most), low = fmin(pct.value / 2, high);

	return (struct measure){pct.known, (low + high) / 2, low, high};
}

/* Which of both binds: 0 = neither. */
static int side_of(const struct measure *flops_pct, const struct measure *bytes_pct)
{
	if (fmax(flops_pct->value, bytes_pct->value) < BOUND_PCT)
		return 0;
	return flops_pct->value >= bytes_pct->value ? 1 : 2;
}

/* `found` is complete but for this. */
static double alike(const struct library *library, uint32_t signature,
		    const struct ceilings *ceilings, const struct kernel_arithmetic *found)
{
	size_t count;
	const struct library_stat *stat = library_stats_of(library, signature, &count);
	int side = side_of(&found->flops_pct, &found->bytes_pct);
	double same = 0, all = 0;

	for (size_t i = 0; i < count; i++) {
		struct measure flops, bytes;

		if (stat[i].total_ns <= 0)
			continue;
		flops = percent_of(1e9 * stat[i].flops / stat[i].total_ns,
				   &ceilings->of[found->pipe].measure);
		bytes = percent_of(1e9 * stat[i].bytes / stat[i].total_ns,
				   &ceilings->of[CEILING_DRAM_READ].measure);
		all += stat[i].total_ns;
		same += side_of(&flops, &bytes) == side ? stat[i].total_ns : 0;
	}
	return all > 0 ? same / all : 0;
}

static void add_flops(const struct library_sum *sum, const struct library_shape *shape,
		      const struct ceilings *ceilings, struct kernel_arithmetic *found)
{
	found->flops = measure_exact(sum->flops / (double)sum->launches);
	if (found->pipe == CEILING_COUNT)
		return;
	found->flops_pct =
		percent_of(1e9 * sum->flops / sum->total_ns, &ceilings->of[found->pipe].measure);
	if (is_attention(shape))
		found->flops_pct = attention_pct(found->flops_pct,
						 attention_most(shape, found->pipe, ceilings));
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
	if (sum.flops_launches == sum.launches && !sum.nominal)
		add_flops(&sum, shape, ceilings, found);
	if (sum.bytes_launches == sum.launches) {
		found->bytes = measure_exact(sum.bytes / (double)sum.launches);
		found->bytes_pct =
			percent_of(sum.bytes / seconds, &ceilings->of[CEILING_DRAM_READ].measure);
	}
	found->alike = 1;
	if (sum.shapes > 1 && found->flops_pct.known && found->bytes_pct.known)
		found->alike = alike(library, signature, ceilings, found);
	return found->flops.known || found->bytes.known;
}

void arithmetic_decide_input(const struct kernel_arithmetic *found, struct decide_input *input)
{
	if (!found->flops_pct.known || !found->bytes_pct.known || found->alike < ALIKE_LEAST)
		return;
	input->unit_pct[UNIT_COMPUTE] = found->flops_pct;
	input->unit_pct[UNIT_DRAM] = found->bytes_pct;
	input->evidence = EVIDENCE_LIBRARY;
}
