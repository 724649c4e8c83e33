/* The contract between the stand-in libraries: clock, script, truth, API calls, device operations.
 *
 * libcuda.so.1 holds the virtual GPU and all state. libcudart and libcupti find it through struct
 * sim_core, as the real ones find the driver through private tables. Nothing here reaches a
 * product.
 */
#pragma once

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_ENTRY __attribute__((visibility("default")))
/* Markers that gen.py reads; each stands at the beginning of a line. */
#define IMPL(name) int impl_##name(const name##_args *p, struct sim_call *call)
#define SYMBOL(name) const char *symbol_##name(const void *params)
#define EXPORTED(name) SIM_ENTRY

#define SIM_CORE_SYMBOL "sim_core"
#define SIM_CLOCK_SYMBOL "sim_clock_virtual"

/* Values of CUpti_CallbackDomain. */
enum sim_domain {
	SIM_DRIVER = 1,
	SIM_RUNTIME = 2
};

/* Times are nanoseconds on the timeline of CLOCK_REALTIME, without steps. */
struct sim_clock {
	bool is_virtual;
	uint64_t (*now)(void);
	/* The calling thread belongs to the application: it has a timeline of its own. */
	void (*enter)(void);
	void (*work)(uint64_t ns);
	/* Blocks the caller until then; a blocked thread spends no CPU time. */
	void (*sleep_until)(uint64_t when_ns);
	/* CLOCK_REALTIME as the process sees it at that time: applies the scripted step. */
	uint64_t (*realtime)(uint64_t ns);
	void (*step)(uint64_t at_ns, int64_t delta_ns);
	uint64_t (*origin)(void);
};

extern const struct sim_clock *sim_clock;
void sim_clock_init(void);

/* One API function. name is what the linker sees, function what CUpti_CallbackData.functionName
 * says. */
struct sim_api {
	const char *name;
	const char *function;
	uint32_t domain;
	uint32_t cbid;
	bool per_thread;
	const char *(*symbol)(const void *params);
	uint64_t *cost_ns; /* looked up in the script once */
};

#define SIM_COST_UNKNOWN UINT64_MAX

/* functionParams of a function without parameters. */
struct sim_no_args {
	int unused;
};

struct sim_call {
	const struct sim_api *api;
	const void *params;
	struct sim_call *outer;
	uint32_t correlation;
	uint32_t runtime_correlation;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t cost_ns;
	uint64_t correlation_data;
	const char *symbol;
	bool captured;
	int ret;
};

typedef int (*sim_impl)(const void *params, struct sim_call *call);

enum sim_op_kind {
	SIM_KERNEL,
	SIM_COPY,
	SIM_PEER,
	SIM_SET,
	SIM_HOST,
	SIM_EMPTY
};

/* One operation of the device, placed in time. Kinds of copy and memory are CUPTI's numbers. */
struct sim_op {
	enum sim_op_kind kind;
	const char *name;
	uint32_t device, context, stream;
	uint32_t correlation, runtime_correlation;
	uint32_t graph;
	uint64_t node;
	uint64_t enqueued_ns, start_ns, end_ns;
	uint64_t held_ns; /* when the last event or value let its stream go on; 0 = none */
	uint64_t bytes;
	uint32_t value;
	uint8_t copy_kind, src_kind, dst_kind;
	bool async;
	bool cooperative;
	uint32_t src_device, dst_device, src_context, dst_context;
	int32_t grid[3], block[3], cluster[3];
	uint32_t registers, static_shared, dynamic_shared;
	int64_t grid_id;
};

/* What one attached libcupti wants to hear. No lock of the core is held in any of these calls. */
struct sim_listener {
	bool (*wants_api)(uint32_t domain, uint32_t cbid);
	void (*api)(struct sim_call *call, bool exit);
	void (*resource)(uint32_t cbid, const void *data);
	void (*synchronized)(uint32_t cbid, const void *data);
	/* Returns the CPU time that recording it costs the caller. */
	void (*record)(const struct sim_op *op);
	bool (*wants_record)(enum sim_op_kind kind);
	void (*lazy_load)(uint64_t begin_ns, uint64_t end_ns, uint32_t correlation);
};

struct sim_export {
	const char *name;
	void *address;
};

/* What the performance monitors of the virtual GPU count, in per cent of peak. */
enum sim_counter {
	SIM_DRAM_READ,
	SIM_DRAM_WRITE,
	SIM_TENSOR,
	SIM_FMA,
	SIM_ALU,
	SIM_FP64,
	SIM_XU,
	SIM_L2,
	SIM_L1,
	SIM_SM_ACTIVE,
	SIM_COUNTERS
};

/* How CUPTI behaves by script. */
struct sim_cupti_script {
	uint32_t version;
	uint64_t activity_cost_ns, callback_cost_ns, api_cost_ns, flush_cost_ns;
	uint64_t gap_ns, node_ns;
	uint64_t delay_ns;
	bool reversed;
	bool unlocked_callbacks;
	uint32_t lose_buffer_every;
	uint32_t buffer_records; /* a buffer is full with so many, 0 = with as many as fit */
	uint64_t drop_first, drop_count;
	/* PM sampling */
	float pm_idle[SIM_COUNTERS]; /* counted beside whatever the kernels do */
	double pm_noise;
	uint64_t pm_writeback_ns;
	bool pm_no_statics;       /* nothing is destroyed at exit */
	uint64_t pm_call_ns;      /* CPU time of the calls that set up and end */
	uint64_t pm_decode_ns;    /* CPU time for each sample */
	uint64_t pm_late_stop_ns; /* the first stop takes so long to come into force */
	uint64_t pm_decode_most;  /* samples that one call decodes; 0: all */
	uint64_t pm_image_most; /* samples that an image holds, however large it is; 0: by its size
				  */
	uint64_t pm_record_bytes; /* of one sample in the hardware buffer */
};

enum sim_bad {
	SIM_GOOD,
	SIM_BAD_ZERO,
	SIM_BAD_INVERTED,
	SIM_BAD_SENTINEL,
	SIM_BAD_UNKNOWN_KIND,
	SIM_BAD_LONG_NAME,
	SIM_BAD_NAME_BYTES,
	SIM_BAD_DUPLICATE,
	SIM_BAD_NULL_NAME,
};

struct sim_core {
	const struct sim_clock *clock;
	const struct sim_cupti_script *cupti;
	int (*invoke)(const struct sim_api *api, const void *params, sim_impl impl);
	/* The code to fail with, 0 for none. Counts the call. */
	int (*fault)(const char *function);
	enum sim_bad (*bad_record)(uint64_t number);
	void (*truth)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	void (*attach)(const struct sim_listener *listener);
	bool (*claim_subscriber)(const void *owner);
	void (*release_subscriber)(const void *owner);
	bool (*is_up)(void);
	bool (*is_down)(void);
	uint32_t (*device_count)(void);
	/* Name of the chip and its clock. */
	const char *(*device_chip)(uint32_t device, uint64_t *clock_hz);
	/* Sample i is the mean from edges[i] to edges[i + 1]. */
	void (*read_counters)(uint32_t device, const uint64_t *edges, size_t samples,
			      double (*values)[SIM_COUNTERS]);
	uint32_t (*context_id)(CUcontext context);
	uint32_t (*context_device)(CUcontext context);
	CUcontext (*current_context)(void);
	int (*stream_id)(CUcontext context, CUstream stream, bool per_thread, uint32_t *id);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*graph_exec_id)(CUgraphExec exec);
	uint64_t (*graph_node_id)(CUgraphNode node);
	struct sim_call *(*current_call)(void);
	/* Makes the running call that much longer. */
	void (*charge)(uint64_t ns);
};

/* The libraries but libcuda define these two for themselves. */
#ifndef SIM_INVOKE
#define SIM_INVOKE(api, params, impl) sim_invoke(api, params, impl)
#endif
int sim_invoke(const struct sim_api *api, const void *params, sim_impl impl);
int sim_stub(const char *name, int code);
#ifndef SIM_STUB
#define SIM_STUB(name, code) sim_stub(name, code)
#endif
