/* Reading NCCL calls, and following groups: between ncclGroupStart and ncclGroupEnd calls only
 * wait. */
#include "nccl.h"

#include "api.h"
#include "data_type.h"
#include "library_missing.h"
#include "real.h"
#include "recorder.h"
#include "session.h"
#include "trace/format.h"

/* The ranks of a communicator: an int that it holds. Refused (0) while it is being made or has
 * failed. */
static uint64_t ranks_of(const void *caller, void *comm)
{
	int (*get)(const void *, int *) =
		(int (*)(const void *, int *))real_function(API_ncclCommCount, caller);
	int ranks = 0;

	return get && comm && get(comm, &ranks) == 0 && ranks > 0 ? (uint64_t)ranks : 0;
}

uint8_t nccl_collective(struct shape *shape, struct thread *thread, const void *caller, void *comm,
			uint8_t operation, uint64_t count, int type, int64_t peer)
{
	struct collective_group *group = &thread->group;

	shape_of_collective(shape, &(struct collective){.operation = operation,
							.type = data_type_of_nccl(type),
							.count = count,
							.ranks = ranks_of(caller, comm),
							.peer = peer});
	if (!group->depth)
		return 0;
	if (group->count++ == 0)
		group->shape = *shape;
	else
		shape_add_collective(&group->shape, shape);
	return BST_ENUM_LIBRARY_FLAG_DEFERRED;
}

int ncclGroupStart(void);
int ncclGroupEnd(void);

#pragma GCC visibility push(default)

/* Groups that began before recording did are not followed. */
int ncclGroupStart(void)
{
	int (*real)(void) =
		(int (*)(void))real_function(API_ncclGroupStart, __builtin_return_address(0));
	struct thread *t;
	int result;

	if (!real)
		return NCCL_MISSING;
	result = real();
	t = result == 0 && session_recording() ? thread_self() : NULL;
	if (t && t->group.depth++ == 0)
		t->group.count = 0;
	return result;
}

/* The end of the outermost group starts all that was gathered in it. */
int ncclGroupEnd(void)
{
	int (*real)(void) =
		(int (*)(void))real_function(API_ncclGroupEnd, __builtin_return_address(0));
	struct thread *t = thread_peek();
	struct library_call call;
	int result;

	if (!real)
		return NCCL_MISSING;
	if (!t || !t->group.depth)
		return real();
	if (--t->group.depth || !t->group.count || !recorder_library_begin(&call, API_ncclGroupEnd))
		return real();
	recorder_library_enter(&call, &t->group.shape, 0);
	result = real();
	recorder_library_end(&call, result);
	return result;
}

#pragma GCC visibility pop
