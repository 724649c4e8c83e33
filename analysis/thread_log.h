/* What a CPU thread did lately: its waits, its blocking calls, and when it launched. */
#ifndef THREAD_LOG_H
#define THREAD_LOG_H

#include "timeline.h"

enum span_kind {
	SPAN_ALLOC, /* in an allocation, a free, a module load or another blocking call */
	SPAN_SYNC,  /* waiting for the device */
	SPAN_COPY,  /* in an asynchronous copy: a wait if the copy was over before it returned */
};

/* A stretch of the thread's time inside one call. Spans of a thread do not overlap. */
struct thread_span {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t next_launch_ns; /* the first launch after it; UINT64_MAX = none yet */
	enum span_kind kind;
};

#define RECENT_CALLS 64

struct thread_log {
	struct thread_span
		*ring; /* of `capacity` rows, a power of two; row of span n is n & (capacity - 1) */
	uint64_t capacity;
	uint64_t first, last;  /* spans kept: first to last - 1 */
	uint64_t unlaunched;   /* spans from here on have no next launch yet */
	uint64_t forgotten_ns; /* what the thread did before is not known any more */
	uint64_t covered_ns;   /* end of the last span: a nested call adds nothing */
	uint64_t outer_begin_ns, outer_end_ns; /* the last call that is not nested */
	uint8_t outer_class;
	struct recent_call {
		uint64_t begin_ns;
		bool launches;
	} recent[RECENT_CALLS]; /* the last calls, nested ones apart */
	uint64_t call_count;
	uint64_t sync_ns; /* in waits, all its life */
	struct silences silences;
};

/* A piece of a thread's time, as `leaf` sees it: host, sync or alloc (unknown where the log does
 * not reach). */
struct thread_piece {
	uint64_t begin_ns;
	uint64_t end_ns;
	unsigned leaf;
};

/* Device time busy between two moments; what a wait destroyed is measured with it. */
typedef uint64_t (*busy_between)(const void *device, uint64_t from_ns, uint64_t to_ns);

void thread_log_init(struct thread_log *log);
void thread_log_fini(struct thread_log *log);

/* Parts of thread_log_add: a launch ends what followed the spans before it; the span of a call. */
void thread_log_launched(struct thread_log *log, uint64_t begin_ns);
uint64_t thread_log_span(struct thread_log *log, const struct call *call, bool blocking);

/*
 * Takes a call of the thread, in the order of begin. Returns the number of the span that it became,
 * UINT64_MAX if none: by it thread_log_waited turns an asynchronous copy into a wait. `launches`:
 * the call issues device work.
 */
static inline uint64_t thread_log_add(struct thread_log *log, const struct call *call,
				      bool blocking, bool launches)
{
	if (!(call->flags & BST_ENUM_CALL_FLAG_NESTED)) {
		log->outer_begin_ns = call->begin_ns;
		log->outer_end_ns = call->end_ns;
		log->outer_class = call->klass;
		log->recent[log->call_count++ % RECENT_CALLS] =
			(struct recent_call){call->begin_ns, launches};
	}
	if (launches && log->unlaunched < log->last)
		thread_log_launched(log, call->begin_ns);
	/* Most calls: launches that only launch. */
	if (call->klass == BST_ENUM_CLASS_LAUNCH &&
	    !(call->flags & BST_ENUM_CALL_FLAG_MODULE_LOADED))
		return UINT64_MAX;
	return thread_log_span(log, call, blocking);
}
void thread_log_waited(struct thread_log *log, uint64_t span);

/* Of a nested call: puts begin and end of the outer call that it is a part of in place of its own, if
 * that one issues device work itself. */
void thread_log_nested(const struct thread_log *log, uint64_t *begin_ns, uint64_t *end_ns);

/*
 * Splits [from, to) of the thread's time: alloc-like calls are alloc, waits are sync, and so is
 * what follows a wait, up to the next launch and for no longer than the device was busy during it
 * (the lead that the wait destroyed: without it the thread would have been that much earlier). The
 * rest is host. Pieces are handed to `emit` in order; together they are [from, to).
 */
void thread_log_split(const struct thread_log *log, uint64_t from_ns, uint64_t to_ns,
		      busy_between busy, const void *device,
		      void (*emit)(void *context, const struct thread_piece *piece), void *context);

/* The end of the thread's last wait that was over by `until_ns`; 0 if that was before `from_ns`. */
uint64_t thread_log_waited_until(const struct thread_log *log, uint64_t until_ns, uint64_t from_ns);

struct thread_calls {
	double calls;
	double launches; /* of them, those that issue device work */
};

/* Calls that began in [from, to), nested ones apart: exact for up to RECENT_CALLS, beyond by their
 * rate. */
struct thread_calls thread_log_calls(const struct thread_log *log, uint64_t from_ns,
				     uint64_t to_ns);

#endif
