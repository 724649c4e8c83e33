/* Sizes of tensors that a launch's own geometry leaves open, told by other kernels of the trace and
 * by library calls. */
#ifndef TENSOR_SIZES_H
#define TENSOR_SIZES_H

#include "library.h"
#include "survey.h"
#include "vocabulary.h"

/* 0 = not known. */
struct tensor_sizes {
	double row;     /* elements that a layer norm or a softmax normalises together */
	double channel; /* elements of one channel that a batch norm normalises, mean of launches */
};

/* What the sizes of all kernels of a device are told by. */
struct tensor_sources {
	const struct vocabulary *vocabulary;
	const struct device_survey *survey;
	const struct library *library; /* may be NULL */
	double norm_row;               /* from tensor_sources_of */
};

struct tensor_sources tensor_sources_of(const struct vocabulary *v,
					const struct device_survey *survey,
					const struct library *library);

/*
 * For one signature, by what its family is:
 *
 * Layer norm, a row for each block: the backward pass has one more kernel,
 * GammaBetaBackwardCUDAKernelTemplate, whose grid.x blocks of block.x columns cover one row (PyTorch,
 * layer_norm_kernel.cu). Known where all such kernels of the device say the same.
 *
 * Softmax of long rows, a row for each block: the matrix product before it wrote that many rows (n
 * of a column-major GEMM) and runs as often. Known where one row length of over 1024, below which
 * PyTorch takes other kernels, fits within 5 % of the launches.
 *
 * Batch norm: the convolutions before it have its channels as filters and as many outputs a channel
 * as its grid allows. Known where they run as often, within 5 % and but for trials.
 */
struct tensor_sizes tensor_sizes_of(const struct tensor_sources *sources, uint32_t signature);

#endif
