/* What the performance monitors of each virtual GPU count: the kernels that ran, and what the
 * script says each of them keeps busy. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

/* Kernels remembered for each device: a burst of 50 ms has at most 17,000 launches of 3 us. */
#define REMEMBERED 65536

struct busy {
	uint64_t start_ns, end_ns;
	const float *value;
};

/* A change of what is busy: from then on these counters have that much more (or less). */
struct change {
	uint64_t at_ns;
	const float *value;
	int sign;
	int only, but; /* counter, or -1 */
};

static struct lane {
	struct busy *at;
	uint64_t count;
} lanes[SCRIPT_DEVICES];

void counters_add(int device, const struct script_kernel *kernel, const struct sim_op *op)
{
	struct lane *lane = &lanes[device];

	if (!lane->at && !(lane->at = calloc(REMEMBERED, sizeof(*lane->at))))
		abort();
	lane->at[lane->count++ % REMEMBERED] =
		(struct busy){op->start_ns, op->end_ns, kernel->counters};
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static size_t add_pair(struct change *to, const struct busy *b, uint64_t late_ns, int only, int but)
{
	to[0] = (struct change){b->start_ns + late_ns, b->value, 1, only, but};
	to[1] = (struct change){b->end_ns + late_ns, b->value, -1, only, but};
	return 2;
}

/* The changes that matter between two times. DRAM writes come late: the caches write back. */
static struct change *changes_between(uint32_t device, uint64_t from, uint64_t to, size_t *count)
{
	struct lane *lane = &lanes[device];
	uint64_t n = lane->count < REMEMBERED ? lane->count : REMEMBERED;
	uint64_t late = script.cupti.pm_writeback_ns;
	struct change *changes = malloc((n * 4 + 1) * sizeof(*changes));

	if (!changes)
		abort();
	*count = 0;
	for (uint64_t i = 0; i < n; i++) {
		const struct busy *b = &lane->at[i];

		if (b->start_ns >= to || b->end_ns + late <= from)
			continue;
		*count += add_pair(changes + *count, b, 0, -1, SIM_DRAM_WRITE);
		*count += add_pair(changes + *count, b, late, SIM_DRAM_WRITE, -1);
	}
	qsort(changes, *count, sizeof(*changes), by_time);
	return changes;
}

static void apply(const struct change *c, double *now)
{
	for (int k = 0; k < SIM_COUNTERS; k++)
		if ((c->only < 0 || c->only == k) && c->but != k)
			now[k] += c->sign * (double)c->value[k];
}

/* Noise that depends on place and counter alone: a run can be repeated. */
static double noise(uint64_t at_ns, int counter)
{
	uint64_t x = (at_ns + (uint64_t)counter) * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return script.cupti.pm_noise * ((double)(x >> 11) / 4503599627370496.0 - 1);
}

static double limited(double value)
{
	return value < 0 ? 0 : value > 100 ? 100 : value;
}

void counters_read(uint32_t device, const uint64_t *edges, size_t samples,
		   double (*values)[SIM_COUNTERS])
{
	double now[SIM_COUNTERS];
	struct change *changes;
	size_t count, next = 0;

	memset(values, 0, samples * sizeof(*values));
	if (!samples)
		return;
	for (int k = 0; k < SIM_COUNTERS; k++)
		now[k] = (double)script.cupti.pm_idle[k];
	gpu_lock();
	changes = changes_between(device, edges[0], edges[samples], &count);
	gpu_unlock();
	for (size_t i = 0; i < samples; i++) {
		uint64_t at = edges[i], end = edges[i + 1];

		while (at < end) {
			uint64_t until;

			while (next < count && changes[next].at_ns <= at)
				apply(&changes[next++], now);
			until = next < count && changes[next].at_ns < end ? changes[next].at_ns
									  : end;
			for (int k = 0; k < SIM_COUNTERS; k++)
				values[i][k] += limited(now[k]) * (double)(until - at) /
						(double)(end - edges[i]);
			at = until;
		}
		for (int k = 0; script.cupti.pm_noise > 0 && k < SIM_COUNTERS; k++)
			values[i][k] = limited(values[i][k] + noise(edges[i], k));
	}
	free(changes);
}
