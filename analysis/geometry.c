/* Occupancy and waves from the launch geometry. */
#include "geometry.h"

#include <string.h>

#define REGISTER_UNIT 256 /* registers of a warp, since Kepler (CUDA occupancy calculator) */
#define SHARED_UNIT 128   /* bytes; 256 before compute capability 8.0, which changes little */
#define PARTITIONS 4      /* of an SM, each with its own registers */

static uint64_t number(const struct vocabulary *v, uint32_t device, const char *key)
{
	uint64_t value = 0;

	/* No such attribute comes near this; arithmetic below cannot overflow. */
	return vocabulary_number(v, device, key, &value) && value < 1u << 30 ? value : 0;
}

struct device_shape device_shape_of(const struct vocabulary *v, uint32_t device)
{
	struct device_shape shape = {
		.sm_count = number(v, device, "sm_count"),
		.threads_per_sm = number(v, device, "threads_per_sm"),
		.blocks_per_sm = number(v, device, "blocks_per_sm"),
		.registers_per_sm = number(v, device, "registers_per_sm"),
		.shared_per_sm = number(v, device, "shared_per_sm"),
		.shared_reserved = number(v, device, "shared_reserved"),
		.warp_size = number(v, device, "warp_size"),
	};

	if (!shape.warp_size || shape.warp_size > 1024)
		shape.warp_size = 32;
	return shape;
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static double blocks_of(const struct signature *s)
{
	return (double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2];
}

uint64_t geometry_blocks_per_sm(const struct device_shape *shape, const struct signature *s)
{
	double threads = (double)s->block[0] * (double)s->block[1] * (double)s->block[2];
	uint64_t warps, limit, per_warp;

	if (!s->known || !shape->threads_per_sm || threads < 1 || threads > 1024)
		return 0;
	warps = ((uint64_t)threads + shape->warp_size - 1) / shape->warp_size;
	limit = shape->threads_per_sm / (warps * shape->warp_size);
	if (shape->blocks_per_sm)
		limit = least(limit, shape->blocks_per_sm);
	per_warp = round_up(s->registers * shape->warp_size, REGISTER_UNIT);
	if (shape->registers_per_sm && per_warp)
		limit = least(limit,
			      shape->registers_per_sm / PARTITIONS / per_warp * PARTITIONS / warps);
	if (shape->shared_per_sm && s->shared_bytes + shape->shared_reserved)
		limit = least(limit, shape->shared_per_sm /
					     round_up(s->shared_bytes + shape->shared_reserved,
						      SHARED_UNIT));
	return limit;
}

static struct measure exactly(double value)
{
	return (struct measure){true, value, value, value};
}

struct measure geometry_waves(const struct device_shape *shape, const struct signature *s)
{
	uint64_t fit = geometry_blocks_per_sm(shape, s);

	if (!fit || !shape->sm_count)
		return (struct measure){0};
	return exactly(blocks_of(s) / ((double)fit * (double)shape->sm_count));
}

struct measure geometry_coverage(const struct device_shape *shape, const struct signature *s)
{
	if (!s->known || !shape->sm_count)
		return (struct measure){0};
	return exactly(blocks_of(s) / (double)shape->sm_count);
}
