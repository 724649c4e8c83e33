/* Matching kernels with those that made their input. */
#include "tensor_sizes.h"

#include <math.h>
#include <string.h>

#include "geometry_bytes.h"
#include "shim/trace/format.h"

#define SOFTMAX_ROW 1024 /* up to it: softmax_warp_forward (PyTorch, PersistentSoftmax.cuh) */
#define ALIKE 0.05
/* Of the launches in question: fewer are trials, by which cuDNN's benchmark mode finds the fastest
 * kernel. */
#define TRIALS 0.02

static bool alike(double a, double b)
{
	return fabs(a - b) <= ALIKE * fmax(a, b);
}

static double norm_row(const struct vocabulary *v, const struct device_survey *survey)
{
	double row = 0;

	for (size_t i = 0; i < v->signature_count; i++) {
		const struct signature *s = &v->signature[i];
		double columns = (double)s->grid[0] * (double)s->block[0];

		if (!survey->kernel[i].launches || !s->known ||
		    !strstr(s->name, "GammaBetaBackwardCUDAKernelTemplate"))
			continue;
		if (row > 0 && columns != row)
			return 0;
		row = columns;
	}
	return row;
}

struct tensor_sources tensor_sources_of(const struct vocabulary *v,
					const struct device_survey *survey,
					const struct library *library)
{
	return (struct tensor_sources){v, survey, library, norm_row(v, survey)};
}

/* Calls of one operation that fit, with what each tells: their launches, and the mean by them. */
struct tally {
	double launches, sum, least, most;
};

static void tally_add(struct tally *t, const struct library_stat *stat, double value)
{
	t->least = t->launches > 0 ? fmin(t->least, value) : value;
	t->most = fmax(t->most, value);
	t->launches += (double)stat->launches;
	t->sum += (double)stat->launches * value;
}

static struct tally products_with_rows(const struct library *l, double rows, double launches)
{
	struct tally tally = {0};
	size_t count;
	const struct library_stat *stat = library_stats(l, &count);

	for (size_t i = 0; i < count; i++) {
		const struct library_shape *shape = library_shape(l, stat[i].shape);

		if (shape && shape->operation == BST_ENUM_OPERATION_GEMM && shape->batch <= 1 &&
		    (double)shape->n == rows && shape->m > SOFTMAX_ROW &&
		    alike((double)stat[i].launches, launches))
			tally_add(&tally, &stat[i], (double)shape->m);
	}
	return tally;
}

static struct tally convolutions_with(const struct library *l, const struct batch_norm_grid *grid,
				      double launches)
{
	struct tally tally = {0};
	size_t count;
	const struct library_stat *stat = library_stats(l, &count);

	for (size_t i = 0; i < count; i++) {
		const struct library_shape *shape = library_shape(l, stat[i].shape);

		if (shape && shape->operation == BST_ENUM_OPERATION_CONV_FORWARD &&
		    (double)stat[i].launches > TRIALS * launches &&
		    (double)shape->n > grid->channels_over &&
		    (double)shape->n <= grid->channels_most &&
		    (double)shape->m > grid->elements_over &&
		    (double)shape->m <= grid->elements_most)
			tally_add(&tally, &stat[i], (double)shape->m);
	}
	return tally;
}

struct tensor_sizes tensor_sizes_of(const struct tensor_sources *sources, uint32_t signature)
{
	const struct signature *s = &sources->vocabulary->signature[signature];
	double launches = (double)sources->survey->kernel[signature].launches;
	struct tensor_sizes sizes = {0};
	struct batch_norm_grid grid;
	struct tally tally;

	if (!s->known)
		return sizes;
	if (strstr(s->name, "layer_norm"))
		sizes.row = sources->norm_row;
	if (sources->library && strstr(s->name, "cunn_SoftMax")) {
		tally = products_with_rows(sources->library, (double)s->grid[0], launches);
		if (tally.launches > 0 && tally.least == tally.most)
			sizes.row = tally.least;
	}
	if (sources->library && batch_norm_grid_of(s, &grid)) {
		tally = convolutions_with(sources->library, &grid, launches);
		if (alike(tally.launches, launches))
			sizes.channel = tally.sum / tally.launches;
	}
	return sizes;
}
