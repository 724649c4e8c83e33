/* What the application asked of CUPTI, and the functions through which it asks. */
#define _GNU_SOURCE
#include "cupti_share.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "actbuf.h"
#include "cupti_api.h"
#include "loss.h"
#include "session.h"
#include "tracer.h"
#include "tracer_cupti.h"

#define EXPORT __attribute__((visibility("default")))

#define KINDS 128u  /* 13.0 has 57 */
#define IDS 2048u   /* of callbacks in a domain; 13.0 has 790 */
#define DOMAINS 16u /* 7 */

/* An application in the middle of its callback holds up a flush of its own no longer than this. */
#define DELIVERY_WAIT_NS 1000000000u

struct bits {
	_Atomic uint64_t word[IDS / 64];
};

static bool has(const struct bits *b, unsigned at)
{
	return atomic_load_explicit(&b->word[at / 64], memory_order_relaxed) >> at % 64 & 1;
}

static void put(struct bits *b, unsigned at, bool on)
{
	uint64_t bit = UINT64_C(1) << at % 64;

	if (on)
		atomic_fetch_or_explicit(&b->word[at / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&b->word[at / 64], ~bit, memory_order_relaxed);
}

static void put_all(struct bits *b, unsigned count, bool on)
{
	for (unsigned i = 0; i < count; i++)
		put(b, i, on);
}

static bool any(const struct bits *b)
{
	for (unsigned i = 0; i < IDS / 64; i++)
		if (atomic_load_explicit(&b->word[i], memory_order_relaxed))
			return true;
	return false;
}

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* around what it asks; never held while it is called */
static struct bits kinds;          /* enabled now */
static struct bits session_kinds;  /* or since the last flush that found none enabled */
static struct bits ever_kinds;
static struct bits callbacks[DOMAINS];
static _Atomic(CUpti_CallbackFunc) callback; /* NULL: not subscribed */
static void *_Atomic callback_user;
static _Atomic(CUpti_BuffersCallbackRequestFunc) request; /* NULL: not registered */
static _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
static _Atomic size_t dropped;
/* Its handle: an address that nothing else has. */
static char subscriber_token;

/* Whoever hands over holds this: its own thread in a flush, or the writer. */
static _Atomic int delivering;
/* The buffer of the application's that is being filled. */
static struct {
	uint8_t *data;
	size_t size, used, records, most_records;
	CUcontext context;
	uint32_t stream;
} filling;

static CUpti_SubscriberHandle token(void)
{
	return (CUpti_SubscriberHandle)(void *)&subscriber_token;
}

bool share_wants_kind(CUpti_ActivityKind kind)
{
	return (unsigned)kind < KINDS && has(&kinds, (unsigned)kind);
}

bool share_asked_for(CUpti_ActivityKind kind)
{
	return (unsigned)kind < KINDS && has(&ever_kinds, (unsigned)kind);
}

/* Are records of this kind that come now on their way to it? */
static bool gets_kind(CUpti_ActivityKind kind)
{
	return (unsigned)kind < KINDS && has(&session_kinds, (unsigned)kind);
}

bool share_wants_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	return (unsigned)domain < DOMAINS && id < IDS && has(&callbacks[domain], id);
}

bool share_wants_buffers(void)
{
	return atomic_load_explicit(&request, memory_order_relaxed) && any(&session_kinds);
}

void share_called_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	CUpti_CallbackFunc call = atomic_load_explicit(&callback, memory_order_acquire);
	void *user = atomic_load_explicit(&callback_user, memory_order_relaxed);
	bool is_api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	CUpti_CallbackData copy;
	uint64_t nothing = 0;

	if (!call || !share_wants_callback(domain, id))
		return;
	if (!is_api || !tracer_wants_callback(domain, id)) {
		call(user, domain, id, data);
		return;
	}
	copy = *(const CUpti_CallbackData *)data;
	copy.correlationData = &nothing;
	call(user, domain, id, &copy);
}

void share_dropped(size_t records)
{
	if (share_wants_buffers())
		atomic_fetch_add_explicit(&dropped, records, memory_order_relaxed);
}

/* --- records --------------------------------------------------------------------------------- */

static void ask_for_buffer(void)
{
	CUpti_BuffersCallbackRequestFunc ask = atomic_load(&request);

	memset(&filling, 0, sizeof(filling));
	if (!ask)
		return;
	ask(&filling.data, &filling.size, &filling.most_records);
	if (!filling.data)
		filling.size = 0;
}

static void give_buffer(void)
{
	CUpti_BuffersCallbackCompleteFunc give = atomic_load(&complete);

	if (filling.data && give)
		give(filling.context, filling.stream, filling.data, filling.size, filling.used);
	memset(&filling, 0, sizeof(filling));
}

/* Its buffer has room for so many bytes after this, or there is none. */
static bool make_room(size_t bytes)
{
	bool full = filling.used + bytes > filling.size ||
		    (filling.most_records && filling.records == filling.most_records);

	if (filling.data && !full)
		return true;
	if (filling.used)
		give_buffer();
	if (!filling.data)
		ask_for_buffer();
	return filling.data && bytes <= filling.size;
}

static void copy_record(const struct actbuf *from, const uint8_t *record, size_t bytes)
{
	if (filling.used && (filling.context != from->context || filling.stream != from->stream))
		give_buffer();
	if (!make_room(bytes)) {
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
		return;
	}
	memcpy(filling.data + filling.used, record, bytes);
	filling.context = from->context;
	filling.stream = from->stream;
	filling.used += bytes;
	filling.records++;
}

/* Records lie one behind the other: each ends where the next begins. */
static void copy_records(const struct actbuf *from)
{
	const struct cupti_api *cupti = tracer_cupti();
	CUpti_Activity *record = NULL, *next;
	CUptiResult result;

	if (!from->valid_bytes || cupti->cuptiActivityGetNextRecord(from->data, from->valid_bytes,
								    &record) != CUPTI_SUCCESS)
		return;
	do {
		const uint8_t *begin = (const uint8_t *)record,
			      *end = from->data + from->valid_bytes;

		next = record;
		result = cupti->cuptiActivityGetNextRecord(from->data, from->valid_bytes, &next);
		if (result == CUPTI_SUCCESS)
			end = (const uint8_t *)next;
		if (gets_kind(record->kind) && end > begin)
			copy_record(from, begin, (size_t)(end - begin));
		record = next;
	} while (result == CUPTI_SUCCESS);
}

static bool begin_delivery(void)
{
	int expected = 0;

	return atomic_compare_exchange_strong(&delivering, &expected, 1);
}

static void end_delivery(void)
{
	atomic_store(&delivering, 0);
}

static void deliver(void)
{
	struct actbuf buffer;

	while (actbuf_take(ACTBUF_APPLICATION, &buffer)) {
		copy_records(&buffer);
		actbuf_release(ACTBUF_APPLICATION, buffer.data);
	}
}

void share_deliver(void)
{
	if (!atomic_load_explicit(&request, memory_order_relaxed) || !begin_delivery())
		return;
	deliver();
	end_delivery();
}

/* Until nobody else delivers; not for ever, as that one may wait for a lock of our caller's. */
static bool await_delivery(void)
{
	struct timespec pause = {.tv_nsec = 100000};

	for (uint64_t waited = 0; waited < DELIVERY_WAIT_NS; waited += 100000) {
		if (begin_delivery())
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* --- what it asks ------------------------------------------------------------------------------ */

/* Is CUPTI ours, so that it must be shared? The application may come to it before the first call into CUDA. */
static bool is_shared(void)
{
	int saved = errno;

	session_cupti_used();
	errno = saved;
	return tracer_cupti() != NULL;
}

static void *real_of(const char *name)
{
	const struct cupti_api *cupti = tracer_cupti();
	void *handle = cupti ? cupti->handle : cupti_loaded();

	return handle ? dlsym(handle, name) : NULL;
}

/* What CUPTI would do if we were not here. */
#define PASS(name, ...)                                                                            \
	do {                                                                                       \
		__typeof__(&name) real_ = (__typeof__(&name))real_of(#name);                       \
                                                                                                   \
		return real_ ? real_(__VA_ARGS__) : CUPTI_ERROR_NOT_INITIALIZED;                   \
	} while (0)

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
			     void *user)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!handle || !function)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	if (atomic_load(&callback)) {
		result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	} else {
		atomic_store_explicit(&callback_user, user, memory_order_relaxed);
		/* release: pairs with share_called_back */
		atomic_store_explicit(&callback, function, memory_order_release);
		*handle = token();
	}
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
				  void *user)
{
	if (!is_shared())
		PASS(cuptiSubscribe, handle, function, user);
	return subscribe(handle, function, user);
}

#if CUPTI_API_VERSION >= 130000
EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
				     void *user, CUpti_SubscriberParams *params)
{
	if (!is_shared() || !real_of("cuptiSubscribe_v2"))
		PASS(cuptiSubscribe_v2, handle, function, user, params);
	return subscribe(handle, function, user);
}
#else
/* Later headers give the last parameter a type. */
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
			      void *user, void *params);
EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
				     void *user, void *params)
{
	if (!is_shared() || !real_of("cuptiSubscribe_v2"))
		PASS(cuptiSubscribe_v2, handle, function, user, params);
	return subscribe(handle, function, user);
}
#endif

/* One callback on or off for the application; CUPTI is told where we do not want it ourselves. */
static CUptiResult set_callback(uint32_t enable, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!tracer_wants_callback(domain, id))
		result = tracer_cupti()->cuptiEnableCallback(enable, tracer_subscriber(), domain,
							     id);
	if (result == CUPTI_SUCCESS)
		put(&callbacks[domain], id, enable);
	return result;
}

static CUptiResult set_domain(uint32_t enable, CUpti_CallbackDomain domain)
{
	const struct cupti_api *cupti = tracer_cupti();
	CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;

	if (cupti->cuptiEnableDomain)
		result = cupti->cuptiEnableDomain(enable, tracer_subscriber(), domain);
	if (result != CUPTI_SUCCESS)
		return result;
	put_all(&callbacks[domain], IDS, enable);
	/* what was switched off with them */
	for (CUpti_CallbackId id = 0; !enable && id < IDS; id++)
		if (tracer_wants_callback(domain, id))
			cupti->cuptiEnableCallback(1, tracer_subscriber(), domain, id);
	return result;
}

static bool is_callback(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
			CUpti_CallbackId id)
{
	return handle == token() && atomic_load(&callback) && domain > 0 &&
	       domain < CUPTI_CB_DOMAIN_SIZE && (unsigned)domain < DOMAINS && id < IDS;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle handle)
{
	if (handle != token() || !atomic_load(&callback))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (unsigned d = 1; d < DOMAINS && d < CUPTI_CB_DOMAIN_SIZE; d++)
		for (unsigned id = 0; id < IDS; id++)
			if (has(&callbacks[d], id))
				set_callback(0, (CUpti_CallbackDomain)d, id);
	atomic_store(&callback, NULL);
	return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	CUptiResult result;

	/* one that it got before we were here */
	if (!is_shared() || handle != token())
		PASS(cuptiUnsubscribe, handle);
	pthread_mutex_lock(&lock);
	result = unsubscribe(handle);
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				       CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

	if (!is_shared() || handle != token())
		PASS(cuptiEnableCallback, enable, handle, domain, id);
	pthread_mutex_lock(&lock);
	if (is_callback(handle, domain, id))
		result = set_callback(enable != 0, domain, id);
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
				     CUpti_CallbackDomain domain)
{
	CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

	if (!is_shared() || handle != token())
		PASS(cuptiEnableDomain, enable, handle, domain);
	pthread_mutex_lock(&lock);
	if (is_callback(handle, domain, 0))
		result = set_domain(enable != 0, domain);
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
	CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

	if (!is_shared() || handle != token())
		PASS(cuptiEnableAllDomains, enable, handle);
	pthread_mutex_lock(&lock);
	for (unsigned d = 1; d < CUPTI_CB_DOMAIN_SIZE && d < DOMAINS; d++)
		if (is_callback(handle, (CUpti_CallbackDomain)d, 0)) {
			CUptiResult one = set_domain(enable != 0, (CUpti_CallbackDomain)d);

			result = d == 1 || result == CUPTI_SUCCESS ? one : result;
		}
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
					 CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	if (!is_shared() || handle != token())
		PASS(cuptiGetCallbackState, enable, handle, domain, id);
	if (!enable || !is_callback(handle, domain, id))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = share_wants_callback(domain, id);
	return CUPTI_SUCCESS;
}

/* Kineto flushes only while it has a buffer out, so it is asked for one at once. */
EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						  CUpti_BuffersCallbackCompleteFunc completed)
{
	if (!is_shared())
		PASS(cuptiActivityRegisterCallbacks, requested, completed);
	if (!requested || !completed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!await_delivery())
		return CUPTI_ERROR_UNKNOWN;
	if (atomic_load(&complete) != completed && filling.data)
		give_buffer(); /* to those whose it is */
	atomic_store(&complete, completed);
	atomic_store(&request, requested);
	if (!filling.data)
		ask_for_buffer();
	end_delivery();
	return CUPTI_SUCCESS;
}

/*
 * Kinds that we record are on already. What was recorded before goes its way first: it is none of the application's. `switch_on` is the
 * function by which it asked.
 */
static CUptiResult enable(CUpti_ActivityKind kind, __typeof__(&cuptiActivityEnable) switch_on)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!any(&session_kinds))
		tracer_cupti()->cuptiActivityFlushAll(0);
	pthread_mutex_lock(&lock);
	if (!tracer_wants_kind(kind))
		result = switch_on(kind);
	if (result == CUPTI_SUCCESS) {
		put(&kinds, (unsigned)kind, true);
		put(&session_kinds, (unsigned)kind, true);
		put(&ever_kinds, (unsigned)kind, true);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (!is_shared() || (unsigned)kind >= KINDS)
		PASS(cuptiActivityEnable, kind);
	return enable(kind, tracer_cupti()->cuptiActivityEnable);
}

/* The same, and records of what is there already. Of the kinds that we record there is nothing to tell. */
EXPORT CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	__typeof__(&cuptiActivityEnable) real =
		(__typeof__(&cuptiActivityEnable))real_of("cuptiActivityEnableAndDump");

	if (!is_shared() || !real || (unsigned)kind >= KINDS)
		PASS(cuptiActivityEnableAndDump, kind);
	return enable(kind, real);
}

static CUptiResult disable(CUpti_ActivityKind kind)
{
	CUptiResult result = CUPTI_SUCCESS;

	if (!tracer_wants_kind(kind))
		result = tracer_cupti()->cuptiActivityDisable(kind);
	if (result == CUPTI_SUCCESS)
		put(&kinds, (unsigned)kind, false);
	return result;
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	CUptiResult result;

	if (!is_shared() || (unsigned)kind >= KINDS)
		PASS(cuptiActivityDisable, kind);
	pthread_mutex_lock(&lock);
	result = disable(kind);
	pthread_mutex_unlock(&lock);
	return result;
}

/*
 * One context only: kinds that we record stay on in all, and the application gets them of all. Of the others the context's setting is
 * its own affair.
 */
EXPORT CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	if (is_shared() && tracer_wants_kind(kind))
		return cuptiActivityEnable(kind);
	if (is_shared() && (unsigned)kind < KINDS) {
		put(&session_kinds, (unsigned)kind, true);
		put(&ever_kinds, (unsigned)kind, true);
	}
	PASS(cuptiActivityEnableContext, context, kind);
}

EXPORT CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	if (is_shared() && tracer_wants_kind(kind))
		return cuptiActivityDisable(kind);
	PASS(cuptiActivityDisableContext, context, kind);
}

/* All that was recorded until now is with the application when this returns. */
static CUptiResult flush(uint32_t flag)
{
	CUptiResult result;

	result = tracer_cupti()->cuptiActivityFlushAll(flag);
	if (!atomic_load(&request) || !await_delivery())
		return result;
	deliver();
	if (filling.used) {
		give_buffer();
		ask_for_buffer();
	}
	if (!any(&kinds))
		put_all(&session_kinds, KINDS, false);
	end_delivery();
	return result;
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	if (!is_shared())
		PASS(cuptiActivityFlushAll, flag);
	return flush(flag);
}

/* Context and stream are ignored by CUPTI too. */
EXPORT CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	if (!is_shared())
		PASS(cuptiActivityFlush, context, stream, flag);
	return flush(flag);
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
						     size_t *records)
{
	CUptiResult result;

	if (!is_shared() || !records)
		PASS(cuptiActivityGetNumDroppedRecords, context, stream, records);
	result = tracer_cupti()->cuptiActivityGetNumDroppedRecords(context, stream, records);
	if (result != CUPTI_SUCCESS)
		return result;
	if (*records)
		loss_add(BST_ENUM_LOSS_CUPTI_DROPPED, *records);
	*records += atomic_exchange(&dropped, 0);
	return result;
}

/* Our buffers are zeroed, its are copies: what it promises of its own is not for CUPTI to hear. */
EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
					     void *value)
{
	if (is_shared() && attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
	PASS(cuptiActivitySetAttribute, attribute, size, value);
}

/* The clock of all records changes: what was recorded by the old one goes first, and both are told. */
EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	const struct cupti_api *cupti;
	CUptiResult result;

	if (!is_shared())
		PASS(cuptiActivityRegisterTimestampCallback, function);
	cupti = tracer_cupti();
	if (!cupti->cuptiActivityRegisterTimestampCallback)
		return CUPTI_ERROR_NOT_SUPPORTED;
	cupti->cuptiActivityFlushAll(0);
	tracer_clock_changes(BST_ENUM_CLOCK_REASON_BEFORE_CHANGE);
	result = cupti->cuptiActivityRegisterTimestampCallback(function);
	tracer_clock_changes(BST_ENUM_CLOCK_REASON_AFTER_CHANGE);
	return result;
}

/* CUPTI stays: we are not done. For the application all is as after the real one. */
EXPORT CUptiResult cuptiFinalize(void)
{
	if (!is_shared())
		PASS(cuptiFinalize);
	pthread_mutex_lock(&lock);
	unsubscribe(token());
	for (unsigned kind = 0; kind < KINDS; kind++)
		if (has(&kinds, kind))
			disable((CUpti_ActivityKind)kind);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

void share_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	put_all(&kinds, KINDS, false);
	put_all(&session_kinds, KINDS, false);
	for (unsigned d = 0; d < DOMAINS; d++)
		put_all(&callbacks[d], IDS, false);
	atomic_store(&callback, NULL);
	atomic_store(&request, NULL);
	atomic_store(&complete, NULL);
	atomic_store(&delivering, 0);
	memset(&filling, 0, sizeof(filling));
}
