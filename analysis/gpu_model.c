/* The table of gpu_model.def. */
#include "gpu_model.h"

static const struct gpu_model models[GPU_COUNT] = {
#define GPU(name, words, major, minor, sms, clock, memory_clock, bus, source)                      \
	[GPU_##name] = {#name, words, {major, minor, sms, clock, memory_clock, bus, 0}, source},
#include "gpu_model.def"
#undef GPU
};

const struct gpu_model *gpu_model(enum gpu_name name)
{
	return &models[name];
}
