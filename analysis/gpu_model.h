/* GPUs by name, as data sheets describe them. */
#ifndef GPU_MODEL_H
#define GPU_MODEL_H

#include "ceilings.h"

enum gpu_name {
#define GPU(name, ...) GPU_##name,
#include "gpu_model.def"
#undef GPU
	GPU_COUNT
};

struct gpu_model {
	const char *name;  /* "a100" */
	const char *words; /* "A100 SXM4 80 GB" */
	struct device_attributes attributes;
	const char *source; /* of its numbers */
};

/* Static. */
const struct gpu_model *gpu_model(enum gpu_name name);

#endif
