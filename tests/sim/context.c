/* Devices and contexts, and the stack of contexts of each thread. */
#include <cupti.h>
#include <stdlib.h>

#include "gpu.h"

static struct CUctx_st *contexts;
static struct CUctx_st *primaries[SCRIPT_DEVICES];
static uint64_t engines[SCRIPT_DEVICES][ENGINE_COUNT];
static uint32_t next_context_id = 1;

/* CUDA_VISIBLE_DEVICES hides; only its length matters to a machine of equal devices. */
unsigned int device_count(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	unsigned int count = 0;

	if (!visible)
		return script.device_count;
	for (const char *c = visible; *c && *c != '-';) {
		count++;
		while (*c && *c != ',')
			c++;
		if (*c)
			c++;
	}
	return count < script.device_count ? count : script.device_count;
}

const struct script_device *device_at(int device)
{
	return device >= 0 && (unsigned int)device < device_count() ? &script.devices[device]
								    : NULL;
}

uint64_t *engine_free(int device, enum engine engine)
{
	return &engines[device][engine];
}

bool context_ok(const struct CUctx_st *context)
{
	return context && context->magic == MAGIC_CONTEXT && context->active;
}

struct CUctx_st *context_current(void)
{
	struct thread *t = thread_self();

	return t->depth ? t->contexts[t->depth - 1] : NULL;
}

int context_push(struct CUctx_st *context)
{
	struct thread *t = thread_self();

	if (t->depth == sizeof(t->contexts) / sizeof(t->contexts[0]))
		return CUDA_ERROR_INVALID_VALUE;
	t->contexts[t->depth++] = context;
	return 0;
}

int context_pop(struct CUctx_st **context)
{
	struct thread *t = thread_self();

	if (!t->depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->depth--;
	if (context)
		*context = t->contexts[t->depth];
	return 0;
}

int context_set(struct CUctx_st *context)
{
	struct thread *t = thread_self();

	if (context && !context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context) {
		if (t->depth)
			t->depth--;
		return 0;
	}
	if (!t->depth)
		t->depth = 1;
	t->contexts[t->depth - 1] = context;
	return 0;
}

static void tell(uint32_t cbid, struct CUctx_st *context)
{
	CUpti_ResourceData data = {.context = context};

	tell_resource(cbid, &data);
}

struct CUctx_st *context_create(int device, unsigned int flags, bool primary)
{
	struct CUctx_st *context = primary ? primaries[device] : NULL;

	if (!context)
		context = calloc(1, sizeof(*context));
	if (!context)
		abort();
	context->magic = MAGIC_CONTEXT;
	context->device = device;
	context->flags = flags;
	context->primary = primary;
	gpu_lock();
	if (!context->id) {
		context->next = contexts;
		contexts = context;
	}
	context->id = next_context_id++;
	context->next_stream_id = 7; /* what CUPTI calls the first context's default stream */
	context->streams = NULL;
	context->active = true;
	if (primary)
		primaries[device] = context;
	gpu_unlock();
	context->legacy = stream_create(context, 0, 0, true);
	tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
	return context;
}

struct CUctx_st *context_primary(int device)
{
	struct CUctx_st *context = primaries[device];

	return context && context->active ? context : NULL;
}

/* When everything given to the context will be done. */
uint64_t context_tail(struct CUctx_st *context)
{
	uint64_t tail = 0;

	gpu_lock();
	for (struct CUstream_st *s = context->streams; s; s = s->next)
		if (s->tail_end_ns > tail)
			tail = s->tail_end_ns;
	gpu_unlock();
	return tail;
}

/* Primary contexts keep their handle over a reset, and get a new id, as the real ones do. */
void context_destroy(struct CUctx_st *context)
{
	wait_until(context_tail(context));
	tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
	gpu_lock();
	context->active = false;
	for (struct CUstream_st *s = context->streams; s; s = s->next)
		s->dead = true;
	gpu_unlock();
	if (context->primary)
		memory_reset(context->device);
}
