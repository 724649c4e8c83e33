/* Library calls first for FLOPs, counters first for bytes. */
#include "kernel_work.h"

#include "kernel_operands.h"
#include "pipe_flops.h"

static void add_flops(const struct kernel_work_input *in, struct kernel_work *work)
{
	struct pipe_flops busy;
	bool counted = pipe_flops_of(in->counters, in->name, in->class, in->peaks, &busy);

	if (in->arithmetic->flops.known) {
		work->flops = in->arithmetic->flops;
		work->flops_source = EVIDENCE_LIBRARY;
		work->pipe = in->arithmetic->pipe;
		/* The call leaves tf32 or not to the library: what the kernel did decides. */
		if (work->pipe == CEILING_COUNT)
			work->pipe = counted ? busy.pipe : kernel_operands(in->name);
	} else if (counted) {
		work->flops = measure_scaled(busy.per_s, in->duration_ns / 1e9);
		work->flops_source = EVIDENCE_COUNTERS;
		work->pipe = busy.pipe;
	}
}

static void add_bytes(const struct kernel_work_input *in, struct kernel_work *work)
{
	const struct measure *peak = &in->peaks->of[CEILING_DRAM_READ].measure;
	struct measure dram = counters_dram(in->counters);

	if (dram.known && peak->known) {
		work->bytes = measure_scaled(dram, peak->high / 100 * in->duration_ns / 1e9);
		work->bytes_source = EVIDENCE_COUNTERS;
	} else if (in->arithmetic->bytes.known) {
		work->bytes = in->arithmetic->bytes;
		work->bytes_source = EVIDENCE_LIBRARY;
	} else if (in->geometry_bytes->known) {
		work->bytes = *in->geometry_bytes;
		work->bytes_source = EVIDENCE_GEOMETRY;
	}
}

struct kernel_work kernel_work_of(const struct kernel_work_input *input)
{
	struct kernel_work work = {.pipe = CEILING_COUNT};

	add_flops(input, &work);
	add_bytes(input, &work);
	return work;
}
