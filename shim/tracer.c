/* Everything that is said to CUPTI. */
#define _GNU_SOURCE
#include "tracer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "actbuf.h"
#include "activity.h"
#include "api.h"
#include "clock.h"
#include "cupti_api.h"
#include "cupti_share.h"
#include "log.h"
#include "loss.h"
#include "recorder.h"
#include "rival.h"
#include "sampler.h"
#include "session.h"
#include "tracer_cupti.h"

/* From this version on CUPTI takes NULL for a buffer and counts what it drops (12.9: api version 28). */
#define VERSION_TAKES_NULL 28u
/* Below it, records that find no buffer go here; nobody reads them. Several requests may share it. */
static _Alignas(8) uint8_t spare[64 << 10];
#define KERNEL_RECORD_BYTES 216u /* to estimate how many records a spare buffer swallowed */

#define DRIVER_ID_LIMIT API_DRIVER_LIMIT

static struct cupti_api cupti;
static CUpti_SubscriberHandle subscriber;
static _Atomic int state = TRACER_UNTRIED;
static char reason[512];
static _Atomic unsigned news;                 /* changes of state and reason */
static uint8_t driver_class[DRIVER_ID_LIMIT]; /* class + 1 of the callbacks asked for, 0 = none */
static _Atomic int callbacks_ready;           /* `cupti` and `driver_class` are filled */
static _Atomic int stopped;                   /* we ask CUPTI for nothing any more */
static _Atomic int reading = 1;               /* the writer takes buffers */

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};
static const CUpti_CallbackIdResource resources[] = {
	CUPTI_CBID_RESOURCE_MODULE_LOADED,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Readings around changes of CUPTI's clock, for the writer. More than these at once are counted as lost. */
#define CLOCK_CHANGES 64u
static struct {
	uint64_t row[5];
	_Atomic int ready;
} clock_changes[CLOCK_CHANGES];
static _Atomic unsigned clock_changes_made;
static unsigned clock_changes_taken; /* writer thread */
/* Buffers from this one on have the new clock's times; 0 = it never changed. */
static _Atomic uint64_t new_clock_from;
static uint64_t clock_written; /* the change that chunks were ended for; writer thread */

/*
 * So many launches without a buffer asked for or given back: somebody else registered for them. While the program runs, as many as all
 * buffers hold, since kernels may be far behind; after the last flush, which gives everything back, a few.
 */
#define SILENT_LAUNCHES ((uint64_t)ACTBUF_COUNT * (ACTBUF_BYTES / KERNEL_RECORD_BYTES))
#define SILENT_LAUNCHES_AT_END 16u
static _Atomic uint64_t buffers_requested;

#define CLOCK_TRIES 8 /* the reading with the narrowest bracket is kept */

static void set_state(enum tracer_state to)
{
	atomic_fetch_add_explicit(&news, 1, memory_order_relaxed);
	/* release: pairs with tracer_state; the reason and the table are there before the state */
	atomic_store_explicit(&state, to, memory_order_release);
}

static void fail(const char *what, CUptiResult result)
{
	const char *words = NULL;

	if (cupti.cuptiGetResultString)
		cupti.cuptiGetResultString(result, &words);
	snprintf(reason, sizeof(reason), "%s: %s (%d)", what, words ? words : "unknown error",
		 (int)result);
}

/* Something is missing though CUPTI is on: the first such thing is said and kept. Starting thread, then writer thread. */
static void degrade(const char *what, CUptiResult result, const char *consequence)
{
	if (*reason)
		return;
	fail(what, result);
	atomic_fetch_add_explicit(&news, 1, memory_order_relaxed);
	log_line("CUPTI: %s; %s", reason, consequence);
}

/* CUPTI's threads and the program's own, holding CUPTI's locks: take a buffer, return, nothing else. */
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint8_t *p = actbuf_request();

	atomic_fetch_add_explicit(&buffers_requested, 1, memory_order_relaxed);
	*max_records = 0;
	*size = p ? ACTBUF_BYTES : 0;
	*buffer = p;
	if (p)
		return;
	if (cupti.version < VERSION_TAKES_NULL) {
		*buffer = spare;
		*size = sizeof(spare);
	} else {
		loss_add(BST_ENUM_LOSS_POOL_EXHAUSTED, 1);
	}
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				      size_t size, size_t valid_bytes)
{
	unsigned readers = share_wants_buffers() ? ACTBUF_APPLICATION : 0;

	(void)size;
	if (atomic_load_explicit(&reading, memory_order_relaxed))
		readers |= ACTBUF_OURS;
	if (actbuf_owns(buffer))
		actbuf_complete(buffer, valid_bytes, context, stream, readers);
	else if (buffer)
		loss_add(BST_ENUM_LOSS_POOL_EXHAUSTED,
			 (valid_bytes + KERNEL_RECORD_BYTES - 1) / KERNEL_RECORD_BYTES);
}

/*
 * The sampler hears of launches, not of records: those of a kernel of seconds, and of all that
 * share its buffer, come when it is over. A thread asks for the device of its context once.
 */
static void tell_sampler(const CUpti_CallbackData *data)
{
	static __thread uint32_t context_uid, device = UINT32_MAX;

	if (!cupti.cuptiGetDeviceId || !data->context)
		return;
	if (data->contextUid != context_uid || device == UINT32_MAX) {
		if (cupti.cuptiGetDeviceId(data->context, &device) != CUPTI_SUCCESS)
			device = UINT32_MAX;
		context_uid = data->contextUid;
	}
	sampler_saw_launch(device);
}

static bool is_launch(CUpti_CallbackId id)
{
	return driver_class[id] == BST_ENUM_CLASS_LAUNCH + 1 ||
	       driver_class[id] == BST_ENUM_CLASS_GRAPH_LAUNCH + 1;
}

static void driver_called(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
	uint16_t api = (uint16_t)(API_DRIVER_BASE + id);
	int result;

	if (id >= DRIVER_ID_LIMIT || !driver_class[id])
		return;
	if (data->callbackSite == CUPTI_API_ENTER) {
		if (is_launch(id))
			tell_sampler(data);
		*data->correlationData = recorder_driver_begin(
			api, api_is_device_operation((uint8_t)(driver_class[id] - 1)),
			data->correlationId);
		return;
	}
	if (!*data->correlationData)
		return;
	result = data->functionReturnValue ? *(const int *)data->functionReturnValue : 0;
	recorder_driver_end(api, *data->correlationData, data->correlationId, result);
}

static void node_made(const CUpti_GraphData *graph, bool cloned)
{
	struct node_event event = {.kind = cloned ? BST_ENUM_NODE_KIND_CLONED
						  : BST_ENUM_NODE_KIND_CREATED};

	if (!cupti.cuptiGetGraphNodeId || !graph->node)
		return;
	if (cupti.cuptiGetGraphNodeId(graph->node, &event.node) != CUPTI_SUCCESS)
		return;
	if (cloned && graph->originalNode)
		cupti.cuptiGetGraphNodeId(graph->originalNode, &event.source);
	if (cupti.cuptiGetGraphId && graph->graph)
		cupti.cuptiGetGraphId(graph->graph, &event.graph);
	if (!cloned)
		recorder_flag(BST_ENUM_CALL_FLAG_CAPTURED);
	recorder_node(&event);
}

static void resource_changed(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
	switch (id) {
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		recorder_flag(BST_ENUM_CALL_FLAG_MODULE_LOADED);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
		node_made(data->resourceDescriptor, false);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
		node_made(data->resourceDescriptor, true);
		break;
	default:
		break;
	}
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				 const void *data)
{
	(void)user;
	/* acquire: pairs with learn_driver_functions; CUPTI promises no order between enabling and calling */
	if (atomic_load_explicit(&callbacks_ready, memory_order_acquire) && session_recording()) {
		if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
			driver_called(id, data);
		else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
			resource_changed(id, data);
	}
	share_called_back(domain, id, data);
}

/* The driver functions of driver.def by the names that this CUPTI gives them. Returns how many it knows. */
static unsigned learn_driver_functions(void)
{
	unsigned known = 0, unknown = 0;

	for (uint32_t id = 1; id < DRIVER_ID_LIMIT && unknown < 16; id++) {
		const char *name = NULL;
		int class;

		if (cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) !=
			    CUPTI_SUCCESS ||
		    !name) {
			unknown++;
			continue;
		}
		unknown = 0;
		class = api_learn_driver(id, name);
		if (class < 0)
			continue;
		driver_class[id] = (uint8_t)(class + 1);
		known++;
	}
	/* release: pairs with called_back */
	atomic_store_explicit(&callbacks_ready, 1, memory_order_release);
	return known;
}

static void enable_callbacks(void)
{
	CUptiResult result, refused = CUPTI_SUCCESS;
	unsigned known = learn_driver_functions();

	for (unsigned i = 0; i < COUNT(resources); i++) {
		result = cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
						   resources[i]);
		if (result != CUPTI_SUCCESS)
			degrade("cuptiEnableCallback", result,
				"lazy loading and graph nodes are not told");
	}
	for (uint32_t id = 1; id < DRIVER_ID_LIMIT; id++) {
		if (!driver_class[id])
			continue;
		result = cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
		if (result != CUPTI_SUCCESS)
			refused = result;
	}
	if (refused != CUPTI_SUCCESS)
		degrade("cuptiEnableCallback", refused,
			"some launches that no hook sees will lack CPU times");
	else if (known == 0)
		degrade("cuptiGetCallbackName", CUPTI_ERROR_UNKNOWN,
			"launches that no hook sees will lack CPU times");
}

static void disable_callbacks(void)
{
	for (uint32_t id = 1; id < DRIVER_ID_LIMIT; id++)
		if (driver_class[id] && !share_wants_callback(CUPTI_CB_DOMAIN_DRIVER_API, id))
			cupti.cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
	for (unsigned i = 0; i < COUNT(resources); i++)
		if (!share_wants_callback(CUPTI_CB_DOMAIN_RESOURCE, resources[i]))
			cupti.cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
						  resources[i]);
}

static bool is_ours(CUpti_ActivityKind kind)
{
	for (unsigned i = 0; i < COUNT(kinds); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

const struct cupti_api *tracer_cupti(void)
{
	return tracer_state() == TRACER_ON ? &cupti : NULL;
}

CUpti_SubscriberHandle tracer_subscriber(void)
{
	return subscriber;
}

bool tracer_wants_kind(CUpti_ActivityKind kind)
{
	return !atomic_load(&stopped) && is_ours(kind);
}

bool tracer_wants_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	if (atomic_load_explicit(&stopped, memory_order_relaxed))
		return false;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		return id < DRIVER_ID_LIMIT && driver_class[id];
	for (unsigned i = 0; domain == CUPTI_CB_DOMAIN_RESOURCE && i < COUNT(resources); i++)
		if ((CUpti_CallbackId)resources[i] == id)
			return true;
	return false;
}

/* Kernel records are the point; of the others, one that this version refuses is said and done without. */
static CUptiResult enable_kinds(void)
{
	CUptiResult result = cupti.cuptiActivityEnable(kinds[0]);

	for (unsigned i = 1; i < COUNT(kinds) && result == CUPTI_SUCCESS; i++) {
		CUptiResult other = cupti.cuptiActivityEnable(kinds[i]);

		if (other != CUPTI_SUCCESS)
			degrade("cuptiActivityEnable", other,
				"copies and sets, or some of them, are not recorded");
	}
	return result;
}

/* Wishes that an older CUPTI may refuse. Buffers are zeroed by the writer, not by CUPTI in the launching thread. */
static void set_attributes(void)
{
	uint8_t zeroed = 1;
	size_t size = sizeof(zeroed);

	if (cupti.cuptiActivitySetAttribute)
		cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						&size, &zeroed);
	if (cupti.cuptiSetThreadIdType)
		cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

static enum tracer_state begin(const char *wanted_library)
{
	const char *rival = rival_loaded();
	CUptiResult result;

	if (rival) {
		snprintf(reason, sizeof(reason), "left to %s, which cannot share it", rival);
		return TRACER_TAKEN;
	}
	if (cupti_load(&cupti, wanted_library, reason, sizeof(reason)) != 0)
		return TRACER_OFF;
	if (actbuf_init() != 0) {
		snprintf(reason, sizeof(reason), "no memory for activity buffers");
		return TRACER_OFF;
	}
	result = cupti.cuptiSubscribe(&subscriber, called_back, NULL);
	if (result != CUPTI_SUCCESS) {
		fail("cuptiSubscribe", result);
		return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? TRACER_TAKEN
										: TRACER_OFF;
	}
	set_attributes();
	result = cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
	if (result != CUPTI_SUCCESS) {
		fail("cuptiActivityRegisterCallbacks", result);
		goto undo;
	}
	result = enable_kinds();
	if (result != CUPTI_SUCCESS) {
		fail("cuptiActivityEnable(CONCURRENT_KERNEL)", result);
		goto undo;
	}
	enable_callbacks();
	return TRACER_ON;
undo:
	cupti.cuptiUnsubscribe(subscriber);
	return TRACER_OFF;
}

void tracer_start(const char *wanted_library)
{
	enum tracer_state to = begin(wanted_library);

	if (to != TRACER_ON)
		log_line("CUPTI is off, device times are not recorded: %s", reason);
	set_state(to);
	if (to == TRACER_ON)
		sampler_start(cupti.handle);
	else
		sampler_refused(reason);
}

void tracer_refuse(const char *why)
{
	snprintf(reason, sizeof(reason), "%s", why);
	set_state(TRACER_OFF);
}

enum tracer_state tracer_state(void)
{
	return (enum tracer_state)atomic_load_explicit(&state, memory_order_acquire);
}

const char *tracer_reason(void)
{
	return reason;
}

const char *tracer_path(void)
{
	return cupti.path;
}

unsigned tracer_news(void)
{
	return atomic_load_explicit(&news, memory_order_relaxed);
}

uint32_t tracer_version(void)
{
	return cupti.version;
}

uint64_t tracer_timestamp(void)
{
	uint64_t now = 0;

	CUptiResult result;

	if (tracer_state() != TRACER_ON)
		return 0;
	result = cupti.cuptiGetTimestamp(&now);
	if (result != CUPTI_SUCCESS)
		degrade("cuptiGetTimestamp", result, "device times are placed less exactly");
	return result == CUPTI_SUCCESS ? now : 0;
}

void tracer_flush(bool forced)
{
	CUptiResult result;

	if (tracer_state() != TRACER_ON)
		return;
	/* at the end of our window the program's own profiler goes on: records without an end are not for it */
	if (atomic_load(&stopped) && share_wants_buffers())
		forced = false;
	result = cupti.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
	if (result != CUPTI_SUCCESS)
		degrade("cuptiActivityFlushAll", result, "device times may be missing");
}

static void decode(struct output *output, const struct actbuf *buffer)
{
	CUpti_Activity *record = NULL;
	CUptiResult result;

	for (;;) {
		result = cupti.cuptiActivityGetNextRecord(buffer->data, buffer->valid_bytes,
							  &record);
		if (result != CUPTI_SUCCESS)
			break;
		if (is_ours(record->kind) || !share_asked_for(record->kind))
			activity_record(output, (uint32_t)record->kind, (const uint8_t *)record);
	}
	if (result == CUPTI_ERROR_MAX_LIMIT_REACHED)
		return;
	loss_add(BST_ENUM_LOSS_UNKNOWN_RECORD, 1);
	degrade("cuptiActivityGetNextRecord", result, "device times are missing");
}

/* The counter of a queue is zeroed by reading it: every reading is added. */
static void count_dropped(void *context, uint32_t stream)
{
	size_t dropped = 0;

	if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) != CUPTI_SUCCESS ||
	    !dropped)
		return;
	loss_add(BST_ENUM_LOSS_CUPTI_DROPPED, dropped);
	share_dropped(dropped);
}

/* CUPTI's clock between two readings of the host's, the narrowest of several tries. */
void tracer_read_clocks(uint64_t row[5], enum bst_enum when)
{
	row[3] = UINT64_MAX;
	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = host_now();
		uint64_t device = tracer_timestamp();
		uint64_t between = host_now();
		uint64_t realtime = clock_ns(CLOCK_REALTIME);
		uint64_t after = host_now();

		if (after - before >= row[3])
			continue;
		row[0] = device;
		row[1] = realtime;
		row[2] = before + (between - before) / 2;
		row[3] = after - before;
	}
	row[4] = when;
}

void tracer_clock_changes(enum bst_enum when)
{
	unsigned made = atomic_load(&clock_changes_made), at;

	if (when == BST_ENUM_CLOCK_REASON_AFTER_CHANGE)
		atomic_store(&new_clock_from, actbuf_completions() + 1);
	do {
		at = made % CLOCK_CHANGES;
		if (atomic_load(&clock_changes[at].ready)) {
			loss_add(BST_ENUM_LOSS_OTHER, 1);
			return;
		}
	} while (!atomic_compare_exchange_weak(&clock_changes_made, &made, made + 1));
	tracer_read_clocks(clock_changes[at].row, when);
	atomic_store_explicit(&clock_changes[at].ready, 1, memory_order_release);
}

static void write_clock_changes(struct output *output)
{
	for (;; clock_changes_taken++) {
		unsigned at = clock_changes_taken % CLOCK_CHANGES;

		if (!atomic_load_explicit(&clock_changes[at].ready, memory_order_acquire))
			return;
		output_add_numbers(output, BST_TABLE_CLOCK, clock_changes[at].row);
		atomic_store(&clock_changes[at].ready, 0);
	}
}

/* Times of two clocks never share a chunk, so that each has an order. */
static void end_clock(struct output *output, uint64_t order)
{
	uint64_t from = atomic_load(&new_clock_from);

	if (from == clock_written || order + 1 < from)
		return;
	clock_written = from;
	output_flush(output);
}

void tracer_drain(struct output *output)
{
	struct actbuf buffer;

	if (tracer_state() == TRACER_UNTRIED || !cupti.cuptiActivityGetNextRecord)
		return;
	while (actbuf_take(ACTBUF_OURS, &buffer)) {
		end_clock(output, buffer.order);
		if (buffer.valid_bytes)
			decode(output, &buffer);
		count_dropped(buffer.context, buffer.stream);
		actbuf_release(ACTBUF_OURS, buffer.data);
	}
	write_clock_changes(output);
	share_deliver();
}

void tracer_end(void)
{
	struct actbuf buffer;

	atomic_store(&reading, 0);
	while (actbuf_take(ACTBUF_OURS, &buffer))
		actbuf_release(ACTBUF_OURS, buffer.data);
}

void tracer_stop(void)
{
	if (tracer_state() != TRACER_ON)
		return;
	atomic_store(&stopped, 1);
	for (unsigned i = 0; i < COUNT(kinds); i++)
		if (!share_wants_kind(kinds[i]))
			cupti.cuptiActivityDisable(kinds[i]);
	disable_callbacks();
}

/*
 * To leave CUPTI now would not help it: Proton, which brings a libcupti of its own, was refused even after cuptiUnsubscribe on ours
 * (H200, driver 580, 13.0 beside Triton's 12.8), and cuptiFinalize is no way out of a program that runs.
 */
void tracer_notice_rival(void)
{
	const char *rival = tracer_state() == TRACER_ON ? rival_came() : NULL;

	if (!rival || *reason)
		return;
	snprintf(
		reason, sizeof(reason),
		"%s came after it and will be refused: BOUNDSHIM_CUPTI_YIELD=1 leaves CUPTI to it, and so does "
		"loading it before CUDA is used",
		rival);
	log_line("CUPTI has one user: %s", reason);
	atomic_fetch_add_explicit(&news, 1, memory_order_relaxed);
}

void tracer_watch(uint64_t launches, bool at_end)
{
	static uint64_t known_buffers, known_launches;
	static bool counting;
	uint64_t requested = atomic_load_explicit(&buffers_requested, memory_order_relaxed);
	uint64_t buffers = requested + actbuf_completions();
	uint64_t silent = launches > known_launches ? launches - known_launches : 0;

	/* launches are told after their buffers: those until the look after a buffer may be in it */
	if (buffers != known_buffers || !counting) {
		counting = buffers == known_buffers;
		known_buffers = buffers;
		known_launches = launches;
		return;
	}
	if (tracer_state() != TRACER_ON || !requested || *reason ||
	    silent < (at_end ? SILENT_LAUNCHES_AT_END : SILENT_LAUNCHES))
		return;
	snprintf(reason, sizeof(reason),
		 "no record came of the last %llu launches: another profiler registered for them",
		 (unsigned long long)silent);
	log_line("CUPTI was taken: %s", reason);
	set_state(TRACER_TAKEN);
}

void tracer_forget(bool parent_used_cuda)
{
	bool untried = tracer_state() == TRACER_UNTRIED;

	actbuf_forget();
	share_forget();
	sampler_forget();
	atomic_store(&stopped, 0);
	atomic_store(&reading, 1);
	atomic_store(&buffers_requested, 0);
	atomic_store_explicit(&callbacks_ready, 0, memory_order_relaxed);
	memset(driver_class, 0, sizeof(driver_class));
	set_state(TRACER_UNTRIED);
	if (!untried || parent_used_cuda)
		tracer_refuse("forked from a process that used CUDA");
}
