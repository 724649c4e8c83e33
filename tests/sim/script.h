/* What SIM_SCRIPT says: devices, kernels, costs, faults. Syntax: README.md. */
#pragma once

#include "sim.h"

#define SCRIPT_DURATIONS 32
#define SCRIPT_DEVICES 16

struct script_device {
	char name[64];
	char chip[16]; /* as CUPTI calls it */
	uint32_t cc_major, cc_minor;
	uint32_t sms;
	uint64_t memory_bytes;
	uint64_t clock_hz, memory_clock_hz;
	uint32_t bus_bits;
	uint64_t l2_bytes;
	bool mps;
};

struct script_kernel {
	const char *pattern;
	uint64_t durations_ns[SCRIPT_DURATIONS];
	uint32_t duration_count;
	uint64_t per_block_ps;
	uint64_t overlap_ns; /* how long before its predecessor's end a PDL kernel may start */
	uint32_t registers, static_shared, max_threads, blocks_per_sm;
	float counters[SIM_COUNTERS]; /* per cent of peak while it runs */
};

/* One way for bytes to travel. */
struct script_link {
	const char *name;
	uint64_t bytes_per_s;
	uint64_t latency_ns;
};

enum script_link_id {
	LINK_H2D,
	LINK_H2D_PAGEABLE,
	LINK_D2H,
	LINK_D2H_PAGEABLE,
	LINK_D2D,
	LINK_P2P,
	LINK_H2H,
	LINK_SET,
	LINK_COUNT
};

struct script {
	struct script_device devices[SCRIPT_DEVICES];
	uint32_t device_count;
	struct script_link links[LINK_COUNT];
	uint64_t launch_latency_ns, queue_gap_ns, sync_latency_ns;
	uint64_t graph_latency_ns, graph_node_gap_ns;
	uint64_t host_function_ns, module_load_ns;
	uint64_t pageable_async_bytes; /* smaller pageable host-to-device copies return at once */
	uint64_t copy_data_bytes;      /* larger copies and sets move no real bytes */
	uint32_t queue_depth;
	uint32_t driver_version;
	uint32_t first_correlation;
	bool lazy_loading;
	bool serial_kernels;
	bool sync_spins;
	struct sim_cupti_script cupti;
};

extern struct script script;
void script_load(void);
/* Never NULL: names that no line matches get the default kernel. */
const struct script_kernel *script_kernel(const char *name);
uint64_t script_duration(const struct script_kernel *kernel, uint64_t instance, uint64_t blocks);
uint64_t script_cost(const struct sim_api *api);
int script_fault(const char *function);
enum sim_bad script_bad_record(uint64_t number);
