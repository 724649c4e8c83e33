/* Every API call passes here: ids, cost, scripted failure, callbacks, truth. */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu.h"

#define LISTENERS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct thread self;
static _Atomic uint32_t next_correlation;
static _Atomic bool up, down, orphan;
static const struct sim_listener *_Atomic listeners[LISTENERS];
static _Atomic(const void *) subscriber;

struct thread *thread_self(void)
{
	if (!self.tid)
		self.tid = (int)syscall(SYS_gettid);
	return &self;
}

void gpu_lock(void)
{
	pthread_mutex_lock(&lock);
}

void gpu_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool gpu_is_up(void)
{
	return atomic_load(&up);
}

static void gpu_down(void)
{
	atomic_store(&down, true);
}

/* A forked child's driver is unusable when the parent's was in use, as the real one is. */
static void after_fork(void)
{
	self.tid = 0;
	self.call = NULL;
	if (atomic_load(&up))
		atomic_store(&orphan, true);
}

void gpu_set_up(void)
{
	if (!atomic_exchange(&up, true)) {
		pthread_atfork(NULL, NULL, after_fork);
		atexit(gpu_down);
	}
}

void charge(uint64_t ns)
{
	if (ns)
		sim_clock->work(ns);
}

void wait_until(uint64_t when_ns)
{
	uint64_t begin = sim_clock->now();

	if (when_ns <= begin)
		return;
	if (script.sync_spins)
		sim_clock->work(when_ns - begin);
	else
		sim_clock->sleep_until(when_ns);
	truth_wait(self.call ? self.call->api->name : "?", begin, sim_clock->now());
}

void tell_resource(uint32_t cbid, const void *data)
{
	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *l = atomic_load(&listeners[i]);

		if (l)
			l->resource(cbid, data);
	}
}

void tell_load(uint64_t begin_ns, uint64_t end_ns)
{
	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *l = atomic_load(&listeners[i]);

		if (l)
			l->lazy_load(begin_ns, end_ns, self.call ? self.call->correlation : 0);
	}
}

void tell_synchronized(uint32_t cbid, struct CUctx_st *context, struct CUstream_st *stream)
{
	CUpti_SynchronizeData data = {context, stream};

	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *l = atomic_load(&listeners[i]);

		if (l)
			l->synchronized(cbid, &data);
	}
}

bool records_wanted(enum sim_op_kind kind)
{
	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *l = atomic_load(&listeners[i]);

		if (l && l->wants_record(kind))
			return true;
	}
	return false;
}

void tell_record(const struct sim_op *op)
{
	truth_op(op);
	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *l = atomic_load(&listeners[i]);

		if (l)
			l->record(op);
	}
}

static void tell_api(struct sim_call *call, bool exit)
{
	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *l = atomic_load(&listeners[i]);

		if (l)
			l->api(call, exit);
	}
}

/* A runtime call's cost is spent inside the driver call it makes, as in reality, or else by itself.
 */
static void spend(struct sim_call *call)
{
	uint64_t ns = call->cost_ns;

	call->cost_ns = 0;
	if (call->outer && call->api->domain == SIM_DRIVER) {
		ns += call->outer->cost_ns;
		call->outer->cost_ns = 0;
	}
	charge(ns);
}

int sim_invoke(const struct sim_api *api, const void *params, sim_impl impl)
{
	struct thread *t = thread_self();
	struct sim_call call = {.api = api, .params = params, .outer = t->call};

	if (atomic_load_explicit(&orphan, memory_order_relaxed))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (atomic_load_explicit(&down, memory_order_relaxed))
		return CUDA_ERROR_DEINITIALIZED;
	sim_clock->enter();
	if (call.outer) {
		call.correlation = call.outer->correlation;
	} else {
		call.correlation =
			atomic_fetch_add_explicit(&next_correlation, 1, memory_order_relaxed);
		call.cost_ns = script_cost(api);
	}
	call.runtime_correlation = call.outer && call.outer->api->domain == SIM_RUNTIME
					   ? call.outer->correlation
				   : api->domain == SIM_RUNTIME ? call.correlation
								: 0;
	if (api->symbol)
		call.symbol = api->symbol(params);
	call.begin_ns = sim_clock->now();
	t->call = &call;
	tell_api(&call, false);
	call.ret = script_fault(api->name);
	if (api->domain == SIM_DRIVER || call.ret)
		spend(&call);
	if (!call.ret)
		call.ret = impl(params, &call);
	spend(&call);
	if (call.outer && call.captured)
		call.outer->captured = true;
	call.end_ns = sim_clock->now();
	tell_api(&call, true);
	t->call = call.outer;
	truth_call(&call, call.outer != NULL);
	return call.ret;
}

int sim_stub(const char *name, int code)
{
	int fault = script_fault(name);

	truth_write("{\"t\":\"stub\",\"pid\":%d,\"api\":\"%s\"}", getpid(), name);
	return fault ? fault : code;
}

static void attach(const struct sim_listener *listener)
{
	for (size_t i = 0; i < LISTENERS; i++) {
		const struct sim_listener *none = NULL;

		if (atomic_load(&listeners[i]) == listener)
			return;
		if (atomic_compare_exchange_strong(&listeners[i], &none, listener))
			return;
	}
	fprintf(stderr, "sim: more than %d libcupti copies\n", LISTENERS);
	abort();
}

static bool claim_subscriber(const void *owner)
{
	const void *none = NULL;

	return atomic_compare_exchange_strong(&subscriber, &none, owner);
}

static void release_subscriber(const void *owner)
{
	const void *expected = owner;

	atomic_compare_exchange_strong(&subscriber, &expected, NULL);
}

static bool core_is_down(void)
{
	return atomic_load(&down);
}

static const char *core_device_chip(uint32_t device, uint64_t *clock_hz)
{
	const struct script_device *d = device_at((int)device);

	if (!d)
		return NULL;
	*clock_hz = d->clock_hz;
	return d->chip;
}

static uint32_t core_context_id(CUcontext context)
{
	return context_ok(context) ? context->id : 0;
}

static uint32_t core_context_device(CUcontext context)
{
	return context_ok(context) ? (uint32_t)context->device : 0;
}

static int core_stream_id(CUcontext context, CUstream handle, bool per_thread, uint32_t *id)
{
	struct CUstream_st *stream;

	if (!handle && !per_thread && context_ok(context)) {
		*id = context->legacy->id;
		return 0;
	}
	stream = stream_of(handle, per_thread);
	if (!stream)
		return -1;
	*id = stream->id;
	return 0;
}

static uint32_t core_graph_id(CUgraph graph)
{
	return graph && graph->magic == MAGIC_GRAPH ? graph->id : 0;
}

static uint32_t core_graph_exec_id(CUgraphExec exec)
{
	return exec && exec->magic == MAGIC_EXEC ? exec->id : 0;
}

static uint64_t core_graph_node_id(CUgraphNode node)
{
	return node && node->magic == MAGIC_NODE ? node->id : 0;
}

static struct sim_call *core_current_call(void)
{
	return self.call;
}

SIM_ENTRY const struct sim_core *sim_core(void);

SIM_ENTRY const struct sim_core *sim_core(void)
{
	static struct sim_core core = {
		.cupti = &script.cupti,
		.invoke = sim_invoke,
		.fault = script_fault,
		.bad_record = script_bad_record,
		.truth = truth_write,
		.attach = attach,
		.claim_subscriber = claim_subscriber,
		.release_subscriber = release_subscriber,
		.is_up = gpu_is_up,
		.is_down = core_is_down,
		.device_count = device_count,
		.device_chip = core_device_chip,
		.read_counters = counters_read,
		.context_id = core_context_id,
		.context_device = core_context_device,
		.current_context = context_current,
		.stream_id = core_stream_id,
		.graph_id = core_graph_id,
		.graph_exec_id = core_graph_exec_id,
		.graph_node_id = core_graph_node_id,
		.current_call = core_current_call,
		.charge = charge,
	};

	core.clock = sim_clock;
	return &core;
}

__attribute__((constructor)) static void sim_init(void)
{
	sim_clock_init();
	script_load();
	truth_open();
	atomic_store(&next_correlation, script.first_correlation);
}
