/* CUPTI stand-in: activity records, the client's buffers, and when it gets them back.
 *
 * A record is written with its true times when the operation is enqueued, into a buffer that the
 * client cannot see yet; at hand-over the times of what is still running are taken back.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKER_MS 10
#define LONG_NAME_BYTES 65536

struct buffer {
	struct buffer *next;
	uint8_t *base;
	size_t size, used, count, max_count;
	uint64_t latest_end_ns;
	bool full;
	bool current; /* some thread still writes to it */
	bool gone;    /* handed over while that was so: the thread frees this at its next record */
};

/* CUPTI's internal lock: held while it calls the client's buffer functions, as the real one is. */
static pthread_mutex_t lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static CUpti_TimestampCallbackFunc timestamp;
static _Atomic uint8_t kinds[CUPTI_ACTIVITY_KIND_COUNT];
static struct buffer *buffers, **buffers_tail = &buffers;
static __thread struct buffer *own;
static struct buffer *shared;
static size_t dropped;
static uint64_t written, completed;
static uint32_t flush_period_ms;
static bool worker_started;

/* Attributes by number; only the per-thread one changes anything. */
static struct {
	size_t bytes;
	uint64_t value;
} attributes[] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = {8, 3200000},
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP] = {8, 8388608},
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = {8, 250},
	[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] = {1, 0},
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = {8, 3},
	[CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED] = {1, 0},
	[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER] = {1, 1},
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS] = {8, 16777216},
};

static void make_lock(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &a);
	pthread_mutexattr_destroy(&a);
}

static void take(void)
{
	pthread_once(&lock_once, make_lock);
	pthread_mutex_lock(&lock);
}

static void give(void)
{
	pthread_mutex_unlock(&lock);
}

static bool on(CUpti_ActivityKind kind)
{
	return kind < CUPTI_ACTIVITY_KIND_COUNT &&
	       atomic_load_explicit(&kinds[kind], memory_order_relaxed);
}

static size_t record_bytes(CUpti_ActivityKind kind)
{
	switch ((int)kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(sim_kernel_record);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(CUpti_ActivityMemcpyPtoP4);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return sizeof(CUpti_ActivityOverhead3);
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return sizeof(CUpti_ActivityExternalCorrelation);
	case SIM_FUTURE_KIND:
		return SIM_FUTURE_BYTES;
	default:
		return 0;
	}
}

/* The start and end fields of a record that has them. */
static bool times_of(CUpti_Activity *record, uint64_t **start, uint64_t **end)
{
	switch (record->kind) {
#define TIMES(kind_, type)                                                                         \
	case kind_:                                                                                \
		*start = (uint64_t *)((uint8_t *)record + offsetof(type, start));                  \
		*end = (uint64_t *)((uint8_t *)record + offsetof(type, end));                      \
		return true;
		TIMES(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sim_kernel_record)
		TIMES(CUPTI_ACTIVITY_KIND_MEMCPY, CUpti_ActivityMemcpy6)
		TIMES(CUPTI_ACTIVITY_KIND_MEMCPY2, CUpti_ActivityMemcpyPtoP4)
		TIMES(CUPTI_ACTIVITY_KIND_MEMSET, CUpti_ActivityMemset4)
#undef TIMES
	default:
		return false;
	}
}

static void unlink_buffer(struct buffer *buffer)
{
	for (struct buffer **at = &buffers; *at; at = &(*at)->next) {
		if (*at != buffer)
			continue;
		*at = buffer->next;
		if (buffers_tail == &buffer->next)
			buffers_tail = at;
		return;
	}
}

/* A clock of the program's: its value now, and at its registration, whence its rate. */
struct own_clock {
	bool set;
	double rate;
	uint64_t now, value;
};
static uint64_t registered_at, registered_value;

static uint64_t real_now(void)
{
	return cupti_core()->clock->realtime(cupti_core()->clock->now());
}

/* Both clocks at once: of several tries the one that was interrupted least. */
static uint64_t read_both(uint64_t *value)
{
	uint64_t best = UINT64_MAX, at = 0;

	for (unsigned tries = 0; tries < 16 && best > 1000; tries++) {
		uint64_t before = real_now(), own = timestamp(), after = real_now();

		if (after - before >= best)
			continue;
		best = after - before;
		at = before + best / 2;
		*value = own;
	}
	return at;
}

static struct own_clock read_own_clock(void)
{
	struct own_clock c = {.set = timestamp != NULL, .rate = 1};

	if (!c.set)
		return c;
	c.now = read_both(&c.value);
	if (c.now > registered_at + 100000)
		c.rate = (double)(c.value - registered_value) / (double)(c.now - registered_at);
	return c;
}

/* As CUPTI does: interpolated, when records are handed over. */
static uint64_t by_clock(const struct own_clock *c, uint64_t sim_ns)
{
	uint64_t real = cupti_core()->clock->realtime(sim_ns);
	double value = (double)c->value + ((double)real - (double)c->now) * c->rate;

	return c->set ? (uint64_t)(value > 1 ? value : 1) : real;
}

/* What still runs is given without its end, once: its record will not come again. */
static void take_back_times(struct buffer *buffer, uint64_t now)
{
	struct own_clock own = read_own_clock();
	uint64_t *start, *end;
	size_t bytes;

	for (size_t at = 0; at < buffer->used; at += bytes) {
		CUpti_Activity *record = (CUpti_Activity *)(buffer->base + at);

		bytes = record_bytes(record->kind);
		if (!bytes)
			return;
		if (!times_of(record, &start, &end))
			continue;
		if (*end > now && *end < UINT64_MAX / 2) {
			*end = 0;
			if (*start > now)
				*start = 0;
			if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
				((sim_kernel_record *)record)->completed = 0;
		}
		if (*start && *start < UINT64_MAX / 2)
			*start = by_clock(&own, *start);
		if (*end && *end < UINT64_MAX / 2)
			*end = by_clock(&own, *end);
	}
}

static void hand_over(struct buffer *buffer, uint64_t now)
{
	const struct sim_cupti_script *s = cupti_core()->cupti;

	struct buffer given = *buffer;

	unlink_buffer(buffer);
	if (buffer->current)
		buffer->gone = true;
	else
		free(buffer);
	if (s->lose_buffer_every && ++completed % s->lose_buffer_every == 0) {
		cupti_core()->truth("{\"t\":\"lost_buffer\",\"records\":%zu}", given.count);
		return;
	}
	take_back_times(&given, now);
	if (s->unlocked_callbacks)
		give();
	complete(NULL, 0, given.base, given.size, given.used);
	if (s->unlocked_callbacks)
		take();
}

/* forced: all; else those whose records are all finished. full_only: what the worker returns. */
static void hand_over_all(bool forced, bool full_only)
{
	uint64_t now = cupti_core()->clock->now();
	bool found = true;

	while (found && complete) {
		struct buffer *pick = NULL;

		found = false;
		for (struct buffer *b = buffers; b; b = b->next) {
			if (full_only && !b->full)
				continue;
			if (!forced && b->latest_end_ns + cupti_core()->cupti->delay_ns > now)
				continue;
			if (!b->used && !b->full)
				continue;
			pick = b;
			if (!cupti_core()->cupti->reversed)
				break;
		}
		if (pick) {
			found = true;
			hand_over(pick, now);
		}
	}
}

static void *worker(void *arg)
{
	struct timespec t;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec += (flush_period_ms ? flush_period_ms : WORKER_MS) % 1000 * 1000000;
		t.tv_sec += flush_period_ms / 1000 + t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		pthread_mutex_lock(&wake_lock);
		pthread_cond_clockwait(&wake, &wake_lock, CLOCK_MONOTONIC, &t);
		pthread_mutex_unlock(&wake_lock);
		take();
		hand_over_all(false, true);
		give();
	}
	return arg;
}

static void start_worker(void)
{
	sigset_t all, old;
	pthread_t thread;

	if (worker_started)
		return;
	worker_started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, worker, NULL))
		abort();
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static struct buffer *new_buffer(void)
{
	const struct sim_cupti_script *s = cupti_core()->cupti;
	struct buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		abort();
	if (s->unlocked_callbacks)
		give();
	request(&buffer->base, &buffer->size, &buffer->max_count);
	if (s->unlocked_callbacks)
		take();
	if (!buffer->base || !buffer->size) {
		free(buffer);
		return NULL;
	}
	if ((uintptr_t)buffer->base % 8) {
		fprintf(stderr, "sim: an activity buffer is not 8-byte aligned\n");
		abort();
	}
	if (!attributes[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER].value)
		memset(buffer->base, 0, buffer->size);
	*buffers_tail = buffer;
	buffers_tail = &buffer->next;
	return buffer;
}

/* Room for one record in this thread's buffer, or NULL and a drop counted. */
static void *room(size_t bytes, uint64_t end_ns)
{
	struct buffer **mine =
		attributes[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER].value ? &own : &shared;
	uint32_t most = cupti_core()->cupti->buffer_records;
	struct buffer *b = *mine;
	void *at;

	if (!request)
		return NULL;
	if (b && b->gone) {
		free(b);
		b = *mine = NULL;
	}
	if (b && (b->used + bytes > b->size || (b->max_count && b->count == b->max_count) ||
		  (most && b->count >= most))) {
		b->full = true;
		b->current = false;
		*mine = NULL;
		b = NULL;
		pthread_mutex_lock(&wake_lock);
		pthread_cond_signal(&wake);
		pthread_mutex_unlock(&wake_lock);
	}
	if (!b) {
		b = *mine = new_buffer();
		if (b)
			b->current = true;
	}
	if (!b || b->used + bytes > b->size) {
		dropped++;
		return NULL;
	}
	at = b->base + b->used;
	b->used += bytes;
	b->count++;
	if (end_ns > b->latest_end_ns && end_ns < UINT64_MAX / 2)
		b->latest_end_ns = end_ns;
	return at;
}

static const char *long_name(void)
{
	static char name[LONG_NAME_BYTES];

	if (!name[0])
		memset(name, 'k', sizeof(name) - 1);
	return name;
}

static void spoil(struct sim_op *op, enum sim_bad how)
{
	static uint32_t previous;

	switch (how) {
	case SIM_BAD_ZERO:
		op->start_ns = op->end_ns = 0;
		break;
	case SIM_BAD_INVERTED: {
		uint64_t start = op->start_ns;

		op->start_ns = op->end_ns;
		op->end_ns = start;
		break;
	}
	case SIM_BAD_SENTINEL:
		op->start_ns = op->end_ns = 0x8000000000000000u;
		break;
	case SIM_BAD_LONG_NAME:
		op->name = long_name();
		break;
	case SIM_BAD_NAME_BYTES:
		op->name = "\xff\xfe\x80 not \"UTF-8\"\n\xc3(";
		break;
	case SIM_BAD_NULL_NAME:
		op->name = NULL;
		break;
	case SIM_BAD_DUPLICATE:
		op->correlation = previous;
		break;
	default:
		break;
	}
	previous = op->correlation;
}

static void write_kernel(const struct sim_op *op)
{
	sim_kernel_record *r = room(sizeof(*r), op->end_ns);

	if (!r)
		return;
	*r = (sim_kernel_record){0};
	r->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	r->registersPerThread = (uint16_t)op->registers;
	r->start = op->start_ns;
	r->end = op->end_ns;
	r->completed = op->end_ns;
	r->deviceId = op->device;
	r->contextId = op->context;
	r->streamId = op->stream;
	r->gridX = op->grid[0];
	r->gridY = op->grid[1];
	r->gridZ = op->grid[2];
	r->blockX = op->block[0];
	r->blockY = op->block[1];
	r->blockZ = op->block[2];
	r->staticSharedMemory = (int32_t)op->static_shared;
	r->dynamicSharedMemory = (int32_t)op->dynamic_shared;
	r->sharedMemoryExecuted = (op->static_shared + op->dynamic_shared + 1024 + 127) & ~127u;
	r->correlationId = op->correlation;
	r->gridId = op->grid_id;
	r->name = op->name;
	r->launchType = op->cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
					: CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	r->graphNodeId = op->node;
	r->graphId = op->graph;
	r->channelID = 8;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	r->clusterX = (uint32_t)op->cluster[0];
	r->clusterY = (uint32_t)op->cluster[1];
	r->clusterZ = (uint32_t)op->cluster[2];
}

static void write_copy(const struct sim_op *op)
{
	CUpti_ActivityMemcpy6 *r = room(sizeof(*r), op->end_ns);

	if (!r)
		return;
	*r = (CUpti_ActivityMemcpy6){0};
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r->copyKind = op->copy_kind;
	r->srcKind = op->src_kind;
	r->dstKind = op->dst_kind;
	r->flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	r->bytes = op->bytes;
	r->start = op->start_ns;
	r->end = op->end_ns;
	r->deviceId = op->device;
	r->contextId = op->context;
	r->streamId = op->stream;
	r->correlationId = op->correlation;
	r->runtimeCorrelationId = op->runtime_correlation;
	r->graphNodeId = op->node;
	r->graphId = op->graph;
	r->channelID = 9;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	r->copyCount = 1;
}

static void write_peer(const struct sim_op *op)
{
	CUpti_ActivityMemcpyPtoP4 *r = room(sizeof(*r), op->end_ns);

	if (!r)
		return;
	*r = (CUpti_ActivityMemcpyPtoP4){0};
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r->copyKind = op->copy_kind;
	r->srcKind = op->src_kind;
	r->dstKind = op->dst_kind;
	r->flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	r->bytes = op->bytes;
	r->start = op->start_ns;
	r->end = op->end_ns;
	r->deviceId = op->device;
	r->contextId = op->context;
	r->streamId = op->stream;
	r->srcDeviceId = op->src_device;
	r->dstDeviceId = op->dst_device;
	r->srcContextId = op->src_context ? op->src_context : op->context;
	r->dstContextId = op->dst_context ? op->dst_context : op->context;
	r->correlationId = op->correlation;
	r->graphNodeId = op->node;
	r->graphId = op->graph;
	r->channelID = 9;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

static void write_set(const struct sim_op *op)
{
	CUpti_ActivityMemset4 *r = room(sizeof(*r), op->end_ns);

	if (!r)
		return;
	*r = (CUpti_ActivityMemset4){0};
	r->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r->value = op->value;
	r->bytes = op->bytes;
	r->start = op->start_ns;
	r->end = op->end_ns;
	r->deviceId = op->device;
	r->contextId = op->context;
	r->streamId = op->stream;
	r->correlationId = op->correlation;
	r->flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	r->memoryKind = op->dst_kind;
	r->graphNodeId = op->node;
	r->graphId = op->graph;
	r->channelID = 8;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static void write_future(void)
{
	CUpti_Activity *r = room(SIM_FUTURE_BYTES, 0);

	if (r) {
		memset(r, 0xa5, SIM_FUTURE_BYTES);
		r->kind = (CUpti_ActivityKind)SIM_FUTURE_KIND;
	}
}

bool activity_wants(enum sim_op_kind kind)
{
	switch (kind) {
	case SIM_KERNEL:
		return on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) || on(CUPTI_ACTIVITY_KIND_KERNEL);
	case SIM_COPY:
		return on(CUPTI_ACTIVITY_KIND_MEMCPY);
	case SIM_PEER:
		return on(CUPTI_ACTIVITY_KIND_MEMCPY2);
	case SIM_SET:
		return on(CUPTI_ACTIVITY_KIND_MEMSET);
	default:
		return false;
	}
}

void activity_record(const struct sim_op *original)
{
	const struct sim_cupti_script *s = cupti_core()->cupti;
	struct sim_op op = *original;
	enum sim_bad how;

	if (!activity_wants(op.kind))
		return;
	take();
	written++;
	how = cupti_core()->bad_record(written);
	spoil(&op, how);
	if (s->drop_first && written >= s->drop_first && written < s->drop_first + s->drop_count)
		dropped++;
	else if (how == SIM_BAD_UNKNOWN_KIND)
		write_future();
	else if (op.kind == SIM_KERNEL)
		write_kernel(&op);
	else if (op.kind == SIM_COPY)
		write_copy(&op);
	else if (op.kind == SIM_PEER)
		write_peer(&op);
	else
		write_set(&op);
	give();
}

/* External correlation ids, a stack for each kind and thread. */
#define EXTERNAL_KINDS 8
#define EXTERNAL_DEPTH 64
static __thread uint64_t external[EXTERNAL_KINDS][EXTERNAL_DEPTH];
static __thread unsigned int external_depth[EXTERNAL_KINDS];

static void write_external(const struct sim_call *call)
{
	for (unsigned int kind = 0; kind < EXTERNAL_KINDS; kind++) {
		CUpti_ActivityExternalCorrelation *r;

		if (!external_depth[kind])
			continue;
		r = room(sizeof(*r), 0);
		if (!r)
			return;
		*r = (CUpti_ActivityExternalCorrelation){0};
		r->kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
		r->externalKind = (CUpti_ExternalCorrelationKind)kind;
		r->externalId = external[kind][external_depth[kind] - 1];
		r->correlationId = call->correlation;
	}
}

/* Functions whose API records were asked for one by one. */
#define CBIDS 1024
static _Atomic uint8_t single[2][CBIDS];

void activity_api(const struct sim_call *call)
{
	CUpti_ActivityKind kind = call->api->domain == SIM_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER
								  : CUPTI_ACTIVITY_KIND_RUNTIME;
	CUpti_ActivityAPI *r;

	if (!on(kind) && !single[call->api->domain == SIM_RUNTIME][call->api->cbid % CBIDS])
		return;
	cupti_core()->charge(cupti_core()->cupti->api_cost_ns);
	take();
	if (on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) && !call->outer)
		write_external(call);
	r = room(sizeof(*r), 0);
	if (r) {
		*r = (CUpti_ActivityAPI){0};
		r->kind = kind;
		r->cbid = call->api->cbid;
		r->start = cupti_core()->clock->realtime(call->begin_ns);
		r->end = cupti_core()->clock->realtime(call->end_ns);
		r->processId = (uint32_t)getpid();
		r->threadId = (uint32_t)(uintptr_t)pthread_self();
		r->correlationId = call->correlation;
		r->returnValue = (uint32_t)call->ret;
	}
	give();
}

static void write_overhead(CUpti_ActivityOverheadKind what, uint64_t begin_ns, uint64_t end_ns,
			   uint32_t correlation)
{
	CUpti_ActivityOverhead3 *r;

	if (!on(CUPTI_ACTIVITY_KIND_OVERHEAD))
		return;
	take();
	r = room(sizeof(*r), 0);
	if (r) {
		*r = (CUpti_ActivityOverhead3){0};
		r->kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
		r->overheadKind = what;
		r->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
		r->objectId.pt.processId = (uint32_t)getpid();
		r->objectId.pt.threadId = (uint32_t)(uintptr_t)pthread_self();
		r->start = cupti_core()->clock->realtime(begin_ns);
		r->end = cupti_core()->clock->realtime(end_ns);
		r->correlationId = correlation;
	}
	give();
}

void activity_lazy_load(uint64_t begin_ns, uint64_t end_ns, uint32_t correlation)
{
	write_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, begin_ns, end_ns,
		       correlation);
}

static void note(const char *call, uint32_t value)
{
	cupti_core()->truth("{\"t\":\"cupti\",\"pid\":%d,\"call\":\"%s\",\"value\":%u}", getpid(),
			    call, value);
}

EXPORTED(cuptiActivityRegisterCallbacks)
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
					   CUpti_BuffersCallbackCompleteFunc done)
{
	CUptiResult err = cupti_enter("cuptiActivityRegisterCallbacks");

	if (err)
		return err;
	if (!requested || !done)
		return CUPTI_ERROR_INVALID_PARAMETER;
	note("cuptiActivityRegisterCallbacks", request != NULL);
	take();
	request = requested;
	complete = done;
	start_worker();
	give();
	cupti_listen();
	return CUPTI_SUCCESS;
}

static CUptiResult set_kind(const char *function, CUpti_ActivityKind kind, uint8_t value)
{
	CUptiResult err = cupti_enter(function);

	if (err)
		return err;
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	note(function, kind);
	atomic_store(&kinds[kind], value);
	cupti_listen();
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityEnable)
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return set_kind("cuptiActivityEnable", kind, 1);
}

EXPORTED(cuptiActivityEnableAndDump)
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	return set_kind("cuptiActivityEnableAndDump", kind, 1);
}

EXPORTED(cuptiActivityDisable)
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return set_kind("cuptiActivityDisable", kind, 0);
}

EXPORTED(cuptiActivityEnableContext)
CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return set_kind("cuptiActivityEnableContext", kind, 1);
}

EXPORTED(cuptiActivityDisableContext)
CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	(void)context;
	return set_kind("cuptiActivityDisableContext", kind, 0);
}

EXPORTED(cuptiActivityFlushAll)
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult err = cupti_enter("cuptiActivityFlushAll");
	uint64_t begin;

	if (err)
		return err;
	if (!complete)
		return CUPTI_ERROR_INVALID_OPERATION;
	note("cuptiActivityFlushAll", flag);
	begin = cupti_core()->clock->now();
	take();
	hand_over_all(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, false);
	give();
	if (cupti_core()->cupti->flush_cost_ns)
		write_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, begin,
			       begin + cupti_core()->cupti->flush_cost_ns, 0);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityFlush)
CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	(void)context;
	(void)stream;
	return cuptiActivityFlushAll(flag);
}

EXPORTED(cuptiActivityFlushPeriod)
CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	CUptiResult err = cupti_enter("cuptiActivityFlushPeriod");

	if (!err)
		flush_period_ms = ms;
	return err;
}

EXPORTED(cuptiActivityGetNextRecord)
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	CUptiResult err = cupti_enter("cuptiActivityGetNextRecord");
	uint8_t *next;

	if (err)
		return err;
	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	next = *record ? (uint8_t *)*record + record_bytes((*record)->kind) : buffer;
	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (!record_bytes(((CUpti_Activity *)next)->kind))
		return CUPTI_ERROR_INVALID_KIND;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityGetNumDroppedRecords)
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *out)
{
	CUptiResult err = cupti_enter("cuptiActivityGetNumDroppedRecords");

	(void)stream;
	if (err)
		return err;
	if (!out)
		return CUPTI_ERROR_INVALID_PARAMETER;
	take();
	/* All buffers are global ones. */
	*out = context ? 0 : dropped;
	if (!context)
		dropped = 0;
	give();
	return CUPTI_SUCCESS;
}

static CUptiResult attribute(CUpti_ActivityAttribute attr, const size_t *size, const void *value)
{
	if (!size || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if ((size_t)attr >= sizeof(attributes) / sizeof(attributes[0]) || !attributes[attr].bytes)
		return CUPTI_ERROR_NOT_SUPPORTED;
	return *size < attributes[attr].bytes ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT
					      : CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityGetAttribute)
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *size, void *value)
{
	CUptiResult err = cupti_enter("cuptiActivityGetAttribute");

	if (!err)
		err = attribute(attr, size, value);
	if (err)
		return err;
	memcpy(value, &attributes[attr].value, attributes[attr].bytes);
	*size = attributes[attr].bytes;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivitySetAttribute)
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *size, void *value)
{
	CUptiResult err = cupti_enter("cuptiActivitySetAttribute");

	if (!err)
		err = attribute(attr, size, value);
	if (err)
		return err;
	note("cuptiActivitySetAttribute", attr);
	attributes[attr].value = 0;
	memcpy(&attributes[attr].value, value, attributes[attr].bytes);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiGetTimestamp)
CUptiResult cuptiGetTimestamp(uint64_t *out)
{
	CUptiResult err = cupti_enter("cuptiGetTimestamp");

	if (err)
		return err;
	if (!out)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*out = timestamp ? timestamp() : cupti_core()->clock->realtime(cupti_core()->clock->now());
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityRegisterTimestampCallback)
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	CUptiResult err = cupti_enter("cuptiActivityRegisterTimestampCallback");

	if (err)
		return err;
	if (!function)
		return CUPTI_ERROR_INVALID_PARAMETER;
	note("cuptiActivityRegisterTimestampCallback", 1);
	take();
	timestamp = function;
	registered_at = read_both(&registered_value);
	give();
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityPushExternalCorrelationId)
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	CUptiResult err = cupti_enter("cuptiActivityPushExternalCorrelationId");

	if (err)
		return err;
	if ((unsigned int)kind >= EXTERNAL_KINDS || external_depth[kind] == EXTERNAL_DEPTH)
		return CUPTI_ERROR_INVALID_PARAMETER;
	external[kind][external_depth[kind]++] = id;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityPopExternalCorrelationId)
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						  uint64_t *last)
{
	CUptiResult err = cupti_enter("cuptiActivityPopExternalCorrelationId");

	if (err)
		return err;
	if ((unsigned int)kind >= EXTERNAL_KINDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!external_depth[kind])
		return CUPTI_ERROR_QUEUE_EMPTY;
	external_depth[kind]--;
	if (last)
		*last = external[kind][external_depth[kind]];
	return CUPTI_SUCCESS;
}

static CUptiResult set_single(const char *function, bool runtime, CUpti_CallbackId cbid,
			      uint8_t enable)
{
	CUptiResult err = cupti_enter(function);

	if (err)
		return err;
	if (cbid >= CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	note(function, cbid);
	atomic_store(&single[runtime][cbid], enable);
	cupti_listen();
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiActivityEnableDriverApi)
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return set_single("cuptiActivityEnableDriverApi", false, cbid, enable);
}

EXPORTED(cuptiActivityEnableRuntimeApi)
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return set_single("cuptiActivityEnableRuntimeApi", true, cbid, enable);
}

/* Settings that change nothing here: launch attributes, latency timestamps, device graphs ... */
#define SETTING(name, args)                                                                        \
	EXPORTED(name)                                                                             \
	CUptiResult name args                                                                      \
	{                                                                                          \
		return cupti_enter(#name);                                                         \
	}
SETTING(cuptiActivityEnableLaunchAttributes, (uint8_t enable))
SETTING(cuptiActivityEnableLatencyTimestamps, (uint8_t enable))
SETTING(cuptiActivityEnableDeviceGraph, (uint8_t enable))
SETTING(cuptiActivityEnableAllocationSource, (uint8_t enable))
SETTING(cuptiActivityEnableAllSyncRecords, (uint8_t enable))
