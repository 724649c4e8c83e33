/* The virtual GPU inside libcuda.so.1: contexts, memory, streams, events, graphs, functions.
 *
 * Functional effects (copied bytes, set bytes, host functions) happen when a call is made, in
 * stream order; only times are simulated. An operation's start and end are known when it is
 * enqueued. gpu_lock guards all of it; it is never held across a callback into a client or a wait.
 */
#pragma once

#include "script.h"
#include "sim.h"
#include "truth.h"

enum engine {
	ENGINE_NONE,
	ENGINE_H2D,
	ENGINE_D2H,
	ENGINE_PEER,
	ENGINE_COUNT
};

/* Bytes in three dimensions; a plain copy is one row. A NULL source means: set to value. */
struct box {
	char *dst;
	const char *src;
	size_t dst_pitch, dst_slice, src_pitch, src_slice;
	size_t width, height, depth;
	uint32_t value;
	uint8_t value_bytes;
};

struct work {
	struct sim_op op;
	uint64_t duration_ns;
	uint64_t overlap_ns;
	enum engine engine;
	struct box box;
	CUhostFn host;
	void *host_data;
	struct CUfunc_st *function;
};

struct capture {
	struct capture *next;
	struct CUgraph_st *graph;
	struct CUstream_st *origin;
	unsigned long long id;
	CUstreamCaptureMode mode;
	int owner_tid;
	bool invalid;
	bool over;
};

struct nodes {
	struct CUgraphNode_st **at;
	size_t count, room;
};

struct CUstream_st {
	uint32_t magic;
	uint32_t id;
	struct CUctx_st *context;
	struct CUstream_st *next;
	unsigned int flags;
	int priority;
	bool legacy;
	bool dead;
	uint64_t tail_start_ns, tail_end_ns;
	uint64_t wait_ns; /* events waited for */
	uint64_t *ends;   /* of the last queue_depth operations */
	uint64_t count;
	struct capture *capture;
	struct nodes tips; /* what the next captured node depends on */
};

struct CUevent_st {
	uint32_t magic;
	unsigned int flags;
	struct CUctx_st *context;
	bool recorded;
	uint64_t at_ns;
	struct capture *capture;
	struct nodes tips;
};

struct CUctx_st {
	uint32_t magic;
	uint32_t id;
	int device;
	bool primary, active;
	unsigned int flags;
	int retained;
	uint32_t next_stream_id;
	struct CUstream_st *streams;
	struct CUstream_st *legacy;
	struct CUctx_st *next;
	uint64_t kernel_free_ns;
	int64_t grid_id;
};

struct CUfunc_st {
	uint32_t magic;
	char *name;
	const struct script_kernel *script;
	struct CUmod_st *module;
	uint64_t launches;
	bool loaded;
	struct CUfunc_st *next;
};

/* Stands for a module and for a library. */
struct CUmod_st {
	uint32_t magic;
	uint32_t id;
	bool loaded;
	struct CUfunc_st *functions;
};

struct CUarray_st {
	uint32_t magic;
	size_t width, height, depth, element_bytes;
	char *data;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
};

struct CUgraphNode_st {
	uint32_t magic;
	uint64_t id;
	size_t index;
	struct CUgraph_st *graph;
	struct CUgraphNode_st *original;
	CUgraphNodeType type;
	struct nodes deps;
	struct work work;
	struct CUgraph_st *child;
	struct CUevent_st *event;
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMCPY3D copy;
	CUDA_MEMSET_NODE_PARAMS set;
	bool disabled;
	uint64_t end_ns;
};

struct CUgraph_st {
	uint32_t magic;
	uint32_t id;
	struct nodes nodes;
	struct CUgraph_st *original;
};

struct CUgraphExec_st {
	uint32_t magic;
	uint32_t id;
	unsigned long long flags;
	struct CUgraph_st *graph;
	struct CUctx_st *context;
};

#define MAGIC_CONTEXT 0x43545831u
#define MAGIC_STREAM 0x53545231u
#define MAGIC_EVENT 0x45565431u
#define MAGIC_FUNCTION 0x464e4331u
#define MAGIC_MODULE 0x4d4f4431u
#define MAGIC_ARRAY 0x41525231u
#define MAGIC_NODE 0x4e4f4431u
#define MAGIC_GRAPH 0x47525031u
#define MAGIC_EXEC 0x45584531u

/* call.c */
struct thread {
	struct sim_call *call;
	CUcontext contexts[64];
	unsigned int depth;
	CUstreamCaptureMode capture_mode;
	int tid;
	struct CUstream_st *own_stream; /* per-thread default streams, one a context */
};
struct thread *thread_self(void);
void gpu_lock(void);
void gpu_unlock(void);
bool gpu_is_up(void);
void gpu_set_up(void);
void tell_resource(uint32_t cbid, const void *data);
void tell_record(const struct sim_op *op);
void tell_load(uint64_t begin_ns, uint64_t end_ns);
void tell_synchronized(uint32_t cbid, struct CUctx_st *context, struct CUstream_st *stream);
bool records_wanted(enum sim_op_kind kind);
void charge(uint64_t ns);
/* Blocks the calling thread until then and notes the wait in the truth. */
void wait_until(uint64_t when_ns);
int sim_invoke(const struct sim_api *api, const void *params, sim_impl impl);

/* context.c */
unsigned int device_count(void);
const struct script_device *device_at(int device);
struct CUctx_st *context_current(void);
int context_set(struct CUctx_st *context);
int context_push(struct CUctx_st *context);
int context_pop(struct CUctx_st **context);
struct CUctx_st *context_create(int device, unsigned int flags, bool primary);
void context_destroy(struct CUctx_st *context);
struct CUctx_st *context_primary(int device);
uint64_t context_tail(struct CUctx_st *context);
bool context_ok(const struct CUctx_st *context);
uint64_t *engine_free(int device, enum engine engine);

/* memory.c */
struct allocation {
	char *base;
	size_t bytes;
	CUmemorytype type; /* CU_MEMORYTYPE_HOST: pinned */
	bool managed, registered;
	int device;
	unsigned int flags;
};
char *memory_allocate(size_t bytes, CUmemorytype type, bool managed, unsigned int flags,
		      int device);
int memory_register(void *p, size_t bytes, unsigned int flags);
int memory_free(void *p, bool registered);
bool memory_find(const void *p, struct allocation *found);
void memory_reset(int device);
uint64_t memory_used(int device);
void box_move(const struct box *box);

/* stream.c */
struct CUstream_st *stream_create(struct CUctx_st *context, unsigned int flags, int priority,
				  bool legacy);
int stream_destroy(struct CUstream_st *stream);
/* The stream that a handle means to the caller; NULL for a bad or dead one. */
struct CUstream_st *stream_of(CUstream handle, bool per_thread);
struct CUevent_st *event_of(CUevent handle);
int stream_submit(struct CUstream_st *stream, struct work *work, struct sim_call *call);
int stream_wait(struct CUstream_st *stream);
uint64_t stream_done_ns(struct CUstream_st *stream);
int stream_record(struct CUstream_st *stream, struct CUevent_st *event, struct sim_call *call);
int stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event, struct sim_call *call);
int stream_launch_graph(struct CUstream_st *stream, struct CUgraphExec_st *exec,
			struct sim_call *call);
void host_drain(void);

/* graph.c */
struct CUgraph_st *graph_create(void);
struct CUgraph_st *graph_clone(const struct CUgraph_st *graph, bool for_exec);
void graph_destroy(struct CUgraph_st *graph);
struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, CUgraphNodeType type,
				 const struct work *work, struct CUgraphNode_st *const *deps,
				 size_t dep_count);
void nodes_add(struct nodes *nodes, struct CUgraphNode_st *node);
void nodes_clear(struct nodes *nodes);
int graph_sort(struct CUgraph_st *graph);

/* capture.c */
/* 0, or the error of a call that no capture in force allows; such a call invalidates it. */
int capture_forbids(void);
int capture_begin(struct CUstream_st *stream, struct CUgraph_st *graph, CUstreamCaptureMode mode);
int capture_end(struct CUstream_st *stream, struct CUgraph_st **graph);
int capture_add(struct CUstream_st *stream, CUgraphNodeType type, const struct work *work,
		struct sim_call *call, struct CUgraphNode_st **node);
/* The legacy stream may not be used while a blocking stream of its context captures. */
int capture_forbids_legacy(const struct CUstream_st *stream);
int capture_invalidate(struct capture *capture, int error);

/* function.c */
struct CUmod_st *module_create(void);
struct CUfunc_st *module_function(struct CUmod_st *module, const char *name);
int function_work(CUfunction f, const unsigned int grid[3], const unsigned int block[3],
		  unsigned int shared, struct work *work);
void function_load(struct CUfunc_st *f, struct sim_call *call);

/* counters.c; the first with the lock held */
void counters_add(int device, const struct script_kernel *kernel, const struct sim_op *op);
void counters_read(uint32_t device, const uint64_t *edges, size_t samples,
		   double (*values)[SIM_COUNTERS]);

/* host.c */
void host_run(CUhostFn function, void *data, uint64_t at_ns);

extern const struct sim_export sim_exports[];
