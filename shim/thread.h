/* What the shim keeps of each traced thread, and the list of them. */
#ifndef THREAD_H
#define THREAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "ring.h"
#include "shape.h"

#define THREAD_LIMIT 4096 /* live at once, 256 KiB of address space each, touched as used */
#define RANGE_DEPTH 64

enum thread_state {
	THREAD_FREE,   /* the writer's, to be used again */
	THREAD_LIVE,   /* a thread's */
	THREAD_EXITED, /* its thread is gone, records may wait */
};

/* A call in progress, on the stack of its hook. */
struct call {
	uint16_t api;
	uint64_t begin_ns;
	uint64_t entry_ns; /* 0, or the sampled time of entry, to measure the hook itself */
	struct thread *thread;
};

/* A call into a math library in progress, on the stack of its hook. */
struct library_call {
	uint16_t api;
	uint8_t flags;  /* BST_ENUM_LIBRARY_FLAG_* */
	bool known;     /* what it computes is: calls inside it are part of it */
	uint32_t shape; /* id of shapes.h */
	const void *operand[2];
	uint64_t begin_ns;
	uint64_t entry_ns; /* as in struct call */
	struct thread *thread;
	struct library_call *outer;
};

/* Collectives between ncclGroupStart and ncclGroupEnd: their kernels start in the latter. */
struct collective_group {
	uint32_t depth;
	uint32_t count;
	struct shape shape;
};

/* Own cost, counted by the thread, read by the writer without order: a torn total is off by one sample. */
struct self_time {
	_Atomic uint64_t count;
	_Atomic uint64_t samples;
	_Atomic uint64_t sampled_ns;
};

struct thread {
	struct ring ring;
	struct thread *next; /* all threads ever made; never unlinked */
	_Atomic int state;   /* enum thread_state */
	uint32_t id;
	uint32_t tid;
	uint64_t attached_ns;
	int announced; /* the writer wrote its dictionary row */

	/* the thread's own */
	const struct call *
		open; /* the hooked call in progress: never followed, since longjmp may have left it */
	uint16_t open_api; /* what it is, */
	uint32_t
		open_correlation; /* the first device operation inside, set by the driver callback, */
	uint64_t open_begin_ns;   /* and when it began */
	struct library_call *library; /* the innermost one in progress that is recorded */
	struct collective_group group;
	uint16_t driver_api;      /* else the driver call in progress that no hook saw, */
	uint64_t driver_begin_ns; /* and when it began */
	uint64_t last_end_ns;     /* of its last call */
	uint8_t pending_flags; /* call_flag bits that resource callbacks raised inside the call in progress */
	uint64_t lost_count; /* records that did not fit since lost_begin_ns */
	uint64_t lost_begin_ns;
	uint32_t range_depth;
	uint32_t range[RANGE_DEPTH]; /* names of the NVTX ranges in force */
	struct self_time hook;
	struct self_time callback;
};

/*
 * The calling thread's, or NULL where there is none: too many threads, or no memory. Attaches it at first. Whoever has a record for
 * it then counts that as lost.
 */
struct thread *thread_self(void);

/* The calling thread's if it has one already. */
struct thread *thread_peek(void);

/* All threads, for the writer; follow ->next. */
struct thread *thread_first(void);

/* The writer is done with an exited thread: its slot may serve another. */
void thread_recycle(struct thread *thread);

/* In a forked child: forget all threads of the parent. */
void thread_forget_all(void);

#endif
