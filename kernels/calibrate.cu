/* The list of ceilings, each by its name in the JSON; analysis/ceilings.def has the same names. */
#include "kernels/calibrate.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <string>

#include "kernels/check.h"
#include "kernels/gemm.h"
#include "kernels/launch_costs.h"

#define DRIVER_BYTES 81 /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80 */

static const struct {
	const char *name;
	const char *kernel;
} of_kernels[] = {
	{"dram_read", "dram_read"},
	{"dram_write", "dram_write"},
	{"dram_copy", "dram_copy"},
	{"l2_read", "l2_read"},
	{"shared_read", "l1_shared"},
	{"fp32", "fma_fp32"},
	{"fp64", "fp64"},
	{"h2d_pinned", "h2d_pinned"},
	{"d2h_pinned", "d2h_pinned"},
	{"h2d_pageable", "h2d_pageable"},
	{"d2h_pageable", "d2h_pageable"},
};

static const char *const of_gemms[GEMM_TYPES] = {
	"tensor_bf16", "tensor_fp16", "tensor_tf32", "tensor_fp8", "tensor_int8", "tensor_fp64",
};

/* "580.95.05", or "" where NVML is not there. */
static void read_driver(char out[DRIVER_BYTES])
{
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(), (*version)(char *, unsigned), (*shutdown)();

	out[0] = '\0';
	if (!nvml)
		return;
	init = (int (*)())dlsym(nvml, "nvmlInit_v2");
	version = (int (*)(char *, unsigned))dlsym(nvml, "nvmlSystemGetDriverVersion");
	shutdown = (int (*)())dlsym(nvml, "nvmlShutdown");
	if (!init || !version || !shutdown || init())
		return;
	if (version(out, DRIVER_BYTES - 1))
		out[0] = '\0';
	shutdown();
}

static std::string quoted(const char *text)
{
	std::string out = "\"";

	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			out += '\\';
		if ((unsigned char)*text >= ' ')
			out += *text;
	}
	return out + "\"";
}

struct output {
	std::string ceilings, skipped;
};

static void add(struct output *out, const char *name, const struct measured *m)
{
	char line[256];

	if (!m->known) {
		fprintf(stderr, "  %-24s skipped: %s\n", name, m->reason);
		out->skipped += (out->skipped.empty() ? "" : ",") + std::string("\n   ") +
				quoted(name) + ": " + quoted(m->reason);
		return;
	}
	fprintf(stderr, "  %-24s %.4g %s\n", name, m->value, m->unit);
	snprintf(
		line, sizeof(line),
		"%s\n   \"%s\": {\"value\": %.6g, \"low\": %.6g, \"high\": %.6g, \"unit\": \"%s\", \"n\": %u}",
		out->ceilings.empty() ? "" : ",", name, m->value, m->low, m->high, m->unit, m->n);
	out->ceilings += line;
}

static void measure_all(const struct gpu *gpu, struct output *out)
{
	struct launch_costs costs = measure_launch_costs(gpu);

	add(out, "launch_enqueue", &costs.enqueue);
	add(out, "launch_start_to_start", &costs.start_to_start);
	add(out, "kernel_shortest", &costs.shortest);
	add(out, "graph_node", &costs.graph_node);
	add(out, "graph_node_gap", &costs.graph_node_gap);
	for (const auto &entry : of_kernels) {
		struct measured m = measure_kernel(gpu, entry.kernel);

		add(out, entry.name, &m);
	}
	for (unsigned type = 0; type < GEMM_TYPES; type++) {
		struct measured m = measure_gemm(gpu, (enum gemm_type)type);

		add(out, of_gemms[type], &m);
	}
}

static void print_device(const struct gpu *gpu, const char *driver, const struct output *out)
{
	time_t now = time(NULL);
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("  {\"uuid\": \"%s\", \"name\": %s, \"driver\": %s, \"date\": \"%s\",\n", gpu->uuid,
	       quoted(gpu->name).c_str(), quoted(driver).c_str(), date);
	printf("   \"attributes\": {\"cc_major\": %d, \"cc_minor\": %d, \"sm_count\": %d,"
	       " \"clock_khz\": %d, \"memory_clock_khz\": %d, \"memory_bus_bits\": %d,"
	       " \"l2_bytes\": %zu, \"memory_bytes\": %zu},\n",
	       gpu->cc_major, gpu->cc_minor, gpu->sm_count, gpu->clock_khz, gpu->memory_clock_khz,
	       gpu->memory_bus_bits, gpu->l2_bytes, gpu->memory_bytes);
	printf("   \"ceilings\": {%s},\n   \"skipped\": {%s}}", out->ceilings.c_str(),
	       out->skipped.c_str());
}

int calibrate(int only)
{
	char driver[DRIVER_BYTES];
	int count;

	CHECK(cudaGetDeviceCount(&count));
	if (only >= count) {
		fprintf(stderr, "boundshim-kernels: there is no device %d; %d are visible\n", only,
			count);
		return 1;
	}
	read_driver(driver);
	printf("{\"schema\": \"boundshim.ceilings/1\", \"devices\": [\n");
	for (int i = only < 0 ? 0 : only; i < (only < 0 ? count : only + 1); i++) {
		struct output out;
		struct gpu gpu;

		gpu_open(&gpu, i);
		fprintf(stderr, "%s (%s), device %d of %d\n", gpu.name, gpu.uuid, i, count);
		measure_all(&gpu, &out);
		if (i > 0 && only < 0)
			printf(",\n");
		print_device(&gpu, driver, &out);
	}
	printf("\n]}\n");
	if (fflush(stdout) || ferror(stdout)) {
		perror("boundshim-kernels: stdout");
		return 1;
	}
	return 0;
}
