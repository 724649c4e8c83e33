/* The bytes that a launch touches, by its kernel's name and its geometry. */
#ifndef GEOMETRY_BYTES_H
#define GEOMETRY_BYTES_H

#include "geometry.h"
#include "measure.h"
#include "tensor_sizes.h"

/*
 * Each element of each tensor once, for families whose name tells tensors and element types and
 * whose grid tells elements; unknown for the rest. `name` is demangled. The families, all PyTorch's
 * (ATen/native/cuda; constants checked on 2.11, each against DRAM traffic that ncu measured on an
 * H200, within 10 % where L2 could not hold the tensors):
 *
 *   vectorized_elementwise_kernel    128 threads x 8 elements (4 with at::detail::Array, before
 *   (thread_constants.h)             2.7); tensors: N of the array argument; types: the functor's
 *   unrolled_elementwise_kernel      128 x its argument of elements a thread. With LoadWithCast
 *                                    some operand has another type than the functor: mostly
 *                                    half as wide (autocast), so half an operand less
 *   elementwise_kernel<T, V>         T x V elements; tensors: the functor's. Strides unknown
 *   multi_tensor_apply_kernel        65536 elements a block, less for the last of each tensor, of
 *   (MultiTensorApply.cuh)           which a launch has at most 110, 64, 48, 36, 30 by depth
 *   reduce_kernel (Reduce.cuh)       only where its input is dealt in the least parts, 16 values
 *                                    a thread: more than one block an output and fewer than would
 *                                    fill the device
 *   batch_norm_*_channels_last       channels = columns; 16 rows a thread, up to 128 blocks of
 *   (Normalization.cuh)              rows; beyond, tensor_sizes.h
 *   max_pool_*_nhwc                  positions by the grid, channels by the shared memory
 *   (DilatedMaxPool2d.cu)
 *   layer norm, softmax of long rows a row a block, as long as tensor_sizes.h says
 *
 * `low`: what cannot be less, with partial blocks, broadcast operands and unknown types; `high`
 * likewise.
 */
struct measure geometry_bytes_of(const char *name, const struct signature *s,
				 const struct device_shape *shape,
				 const struct tensor_sizes *sizes);

/* Channels, and elements of each, that the grid of a channels-last batch norm allows: more than
 * `_over` and at most `_most`. */
struct batch_norm_grid {
	double channels_over, channels_most;
	double elements_over, elements_most;
};

/* False if it is none. The name may be mangled. */
bool batch_norm_grid_of(const struct signature *s, struct batch_norm_grid *grid);

/*
 * DRAM utilisation, in percent of `peak` (bytes/s), of a launch that touches so many bytes in so
 * long. What the kernels before left in L2 is not read from DRAM, up to all that it holds: `low`.
 * `value` has a quarter of its size in hits, or half of all bytes if those are fewer: on an H200 (60
 * MiB) ncu saw 13 MB as the median of 19 pointwise launches of 19 to 600 MB in three workloads, most
 * often 5 to 22. `high` has none. With `cold`, nothing before has just written it (parameters,
 * gradients and state of an optimizer), and `value` has no hits either.
 */
struct measure geometry_dram_pct(const struct measure *bytes, double duration_ns,
				 const struct measure *peak, double l2_bytes, bool cold);

#endif
