/*
 * h2d_pinned, d2h_pinned, h2d_pageable, d2h_pageable: copies between host and device, no kernel.
 *
 * Saturate: the link (PCIe, or NVLink on Grace), from pageable memory rather the driver's staging
 * through pinned memory. Metric: none, Nsight Compute sees no copies. Leaf: transfer, with counters
 * and without.
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr size_t BYTES = (size_t)64 << 20;

static void prepare_to_device(struct work *work, bool pinned)
{
	work_host(work, BYTES, pinned);
	for (size_t i = 0; i < BYTES / 4; i++)
		work->host[i] = pattern(i);
	work_target(work, BYTES);
	work->bytes = (double)BYTES;
}

static void prepare_to_host(struct work *work, bool pinned)
{
	work_source(work, BYTES);
	pattern_fill(work->source, BYTES);
	work_host(work, BYTES, pinned);
	work->bytes = (double)BYTES;
}

static void to_device(const struct work *work)
{
	CHECK(cudaMemcpyAsync(work->target, work->host, BYTES, cudaMemcpyHostToDevice, 0));
}

static void to_host(const struct work *work)
{
	CHECK(cudaMemcpyAsync(work->host, work->source, BYTES, cudaMemcpyDeviceToHost, 0));
}

static bool arrived_on_device(const struct work *work)
{
	return pattern_mismatches(work->target, BYTES) == 0;
}

static bool arrived_on_host(const struct work *work)
{
	bool right = true;

	for (size_t i = 0; i < BYTES / 4; i++)
		right &= work->host[i] == pattern(i);
	return right;
}

void h2d_pinned_prepare(struct work *work)
{
	prepare_to_device(work, true);
}

void h2d_pinned_launch(const struct work *work)
{
	to_device(work);
}

bool h2d_pinned_check(const struct work *work)
{
	return arrived_on_device(work);
}

void d2h_pinned_prepare(struct work *work)
{
	prepare_to_host(work, true);
}

void d2h_pinned_launch(const struct work *work)
{
	to_host(work);
}

bool d2h_pinned_check(const struct work *work)
{
	return arrived_on_host(work);
}

void h2d_pageable_prepare(struct work *work)
{
	prepare_to_device(work, false);
}

void h2d_pageable_launch(const struct work *work)
{
	to_device(work);
}

bool h2d_pageable_check(const struct work *work)
{
	return arrived_on_device(work);
}

void d2h_pageable_prepare(struct work *work)
{
	prepare_to_host(work, false);
}

void d2h_pageable_launch(const struct work *work)
{
	to_host(work);
}

bool d2h_pageable_check(const struct work *work)
{
	return arrived_on_host(work);
}
