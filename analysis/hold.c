/* Following streams and events through the calls of the host. */
#include "hold.h"

#include <stdlib.h>
#include <string.h>

#define HANDLE_LIMIT (1u << 20)

void holds_init(struct holds *holds)
{
	memset(holds, 0, sizeof(*holds));
}

void holds_fini(struct holds *holds)
{
	free(holds->stream);
	free(holds->own_stream);
	free(holds->event);
	holds_init(holds);
}

static void *grow(void **block, size_t *capacity, uint32_t id, size_t bytes)
{
	size_t grown = *capacity ? *capacity : 64;
	char *p;

	if (id >= HANDLE_LIMIT)
		return NULL;
	while (grown <= id)
		grown *= 2;
	p = reallocarray(*block, grown, bytes);
	if (!p)
		return NULL;
	memset(p + *capacity * bytes, 0, (grown - *capacity) * bytes);
	*block = p;
	*capacity = grown;
	return p + id * bytes;
}

/* Row `id` of an array that grows with zeros; NULL beyond the limit or without memory. */
static inline void *row(void **block, size_t *capacity, uint32_t id, size_t bytes)
{
	return id < *capacity ? (char *)*block + id * bytes : grow(block, capacity, id, bytes);
}

static struct stream_state *own_stream(struct holds *holds, uint32_t thread)
{
	return row((void **)&holds->own_stream, &holds->own_capacity, thread,
		   sizeof(*holds->own_stream));
}

static bool names_no_stream(const struct call *call)
{
	return call->stream == 0 && call->flags & BST_ENUM_CALL_FLAG_DRIVER;
}

/*
 * The default stream is handle 0: one for all threads, or each thread its own. Rows of driver
 * callbacks do not know their stream: of what they make wait, the thread's next launch is taken to
 * be held, if it is late (account.c).
 */
static struct stream_state *stream_of(struct holds *holds, const struct call *call)
{
	if (names_no_stream(call))
		return NULL;
	if (call->stream == 0 && call->flags & BST_ENUM_CALL_FLAG_PER_THREAD_STREAM)
		return own_stream(holds, call->thread);
	return row((void **)&holds->stream, &holds->stream_capacity, call->stream,
		   sizeof(*holds->stream));
}

static struct event_state *event_of(struct holds *holds, uint32_t object)
{
	return object ? row((void **)&holds->event, &holds->event_capacity, object,
			    sizeof(*holds->event))
		      : NULL;
}

static void wait_for(struct stream_state *stream, const struct event_state *event)
{
	struct hold *hold = &stream->hold;

	if (!event || !event->recorded) {
		hold->unknown = true;
		return;
	}
	if (!event->correlation)
		return;
	memmove(&hold->event_correlation[1], &hold->event_correlation[0],
		sizeof(hold->event_correlation) - sizeof(hold->event_correlation[0]));
	hold->event_correlation[0] = event->correlation;
}

static void note_unseen(struct holds *holds, const struct call *call)
{
	struct stream_state *own = call->thread ? own_stream(holds, call->thread) : NULL;

	if (!own || own->unseen)
		return;
	own->unseen = true;
	holds->unseen++;
}

void holds_note(struct holds *holds, const struct call *call)
{
	struct stream_state *stream;
	struct event_state *event;

	stream = stream_of(holds, call);
	event = event_of(holds, call->object);
	if (call->klass == BST_ENUM_CLASS_EVENT_RECORD && event) {
		event->recorded = true;
		event->correlation = stream ? stream->last_correlation : 0;
	}
	if (call->klass == BST_ENUM_CLASS_EVENT_RECORD)
		return;
	if (!stream) {
		note_unseen(holds, call);
		return;
	}
	stream->holding = true;
	if (call->klass == BST_ENUM_CLASS_EVENT_WAIT)
		wait_for(stream, event);
	else
		stream->hold.host = true;
}

void holds_launch_any(struct holds *holds, const struct call *call, struct hold *hold)
{
	struct stream_state *stream = stream_of(holds, call);
	struct stream_state *own =
		call->thread < holds->own_capacity ? &holds->own_stream[call->thread] : NULL;

	if (stream) {
		stream->last_correlation = call->correlation;
		if (stream->holding) {
			*hold = stream->hold;
			memset(&stream->hold, 0, sizeof(stream->hold));
			stream->holding = false;
		}
	}
	if (own && own->unseen) {
		hold->unseen = true;
		own->unseen = false;
		holds->unseen--;
	}
}
