/* What holds a queued operation: events, host functions and values that its stream was told to wait
 * for. */
#ifndef HOLD_H
#define HOLD_H

#include "join.h"
#include "timeline.h"

struct stream_state {
	uint32_t last_correlation; /* of the last operation issued into it */
	bool holding;              /* `hold` is not empty */
	struct hold hold;          /* gathered since then */
	bool unseen; /* of a thread's own: it told a stream to wait that the trace does not name */
};

struct event_state {
	bool recorded;
	uint32_t correlation; /* of the last operation before it; 0 = none */
};

/* By handle and, for per-thread default streams, by thread. Handles beyond the limit are not
 * followed. */
struct holds {
	struct stream_state *stream, *own_stream;
	struct event_state *event;
	uint32_t unseen; /* own streams of which `unseen` is set */
	size_t stream_capacity, own_capacity, event_capacity;
};

void holds_init(struct holds *holds);
void holds_fini(struct holds *holds);

/* Takes note of a call that records or waits, as holds_records says. Calls come in the order of
 * time. */
void holds_note(struct holds *holds, const struct call *call);

static inline bool holds_records(const struct call *call)
{
	return call->klass == BST_ENUM_CLASS_EVENT_RECORD ||
	       call->klass == BST_ENUM_CLASS_EVENT_WAIT ||
	       call->klass == BST_ENUM_CLASS_HOST_FUNCTION;
}

/* What holds_launch does where something may hold, or the stream is not one that it has seen. */
void holds_launch_any(struct holds *holds, const struct call *call, struct hold *hold);

/* An operation is issued into the call's stream: what holds it, if anything, goes to *hold. */
static inline void holds_launch(struct holds *holds, const struct call *call, struct hold *hold)
{
	uint8_t elsewhere = BST_ENUM_CALL_FLAG_DRIVER | BST_ENUM_CALL_FLAG_PER_THREAD_STREAM;

	if (call->stream < holds->stream_capacity && !holds->unseen &&
	    !holds->stream[call->stream].holding && (call->stream || !(call->flags & elsewhere)))
		holds->stream[call->stream].last_correlation = call->correlation;
	else
		holds_launch_any(holds, call, hold);
}

#endif
