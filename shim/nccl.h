/* What a call of NCCL moves. */
#ifndef NCCL_H
#define NCCL_H

#include "shape.h"
#include "thread.h"

/*
 * The shape of one collective, point-to-point call. Inside a group on this thread it is added to
 * what the group's end will start, and the flag for recorder_library_enter is
 * BST_ENUM_LIBRARY_FLAG_DEFERRED; else 0.
 */
uint8_t nccl_collective(struct shape *shape, struct thread *thread, const void *caller, void *comm,
			uint8_t operation, uint64_t count, int type, int64_t peer);

#endif
