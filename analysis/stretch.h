/* A stretch of recorded steps as a graph of what waits for what, and playing it again. */
#ifndef STRETCH_H
#define STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRETCH_NONE UINT32_MAX
#define STRETCH_DEPS 3 /* operations of other streams that one can wait for */

/* A call of the host. Times are ns since the stretch began. */
struct stretch_call {
	uint64_t begin_ns, end_ns; /* as recorded */
	double host_ns;            /* of its thread, from the call before to this one */
	double own_ns;             /* inside, not waiting */
	double wake_ns;            /* from the end of what it waits for to its return */
	double cost_ns;            /* our own part of host_ns and own_ns */
	uint32_t before;           /* the call before; NONE = host_ns counts from the beginning */
	uint32_t room;             /* operation whose start makes room in a full queue */
	uint32_t wait, wait_count; /* operations that it waits for: rows of `waits` */
	uint32_t op, op_count;     /* that it issues: the first, and how many */
	uint32_t thread;           /* as struct call */
	uint16_t api;
	uint8_t klass;
	uint8_t flags;
	bool blocking; /* by its name: it returns when its copy is done */
};

/* A kernel or copy. It starts when the latest of call, predecessor and dependencies allows. */
struct stretch_op {
	uint64_t begin_ns, end_ns; /* as recorded */
	double duration_ns;
	double launch_ns; /* from the return of the call to the start; from its begin if `inside` */
	double pred_ns;   /* from the end of the predecessor */
	double dep_ns;    /* from the end of each dependency */
	double cost_ns;   /* our own part of pred_ns or launch_ns */
	uint32_t next;    /* the next that its call issues; NONE = it is the last */
	uint32_t call;    /* NONE: not known; then launch_ns counts from the beginning */
	uint32_t pred;    /* the one before it in its stream or graph */
	uint32_t dep[STRETCH_DEPS];
	uint32_t signature;
	uint32_t stream; /* 0, 1, 2 ... */
	uint32_t graph;
	uint64_t bytes;
	bool inside, is_copy, node;
	uint8_t copy_kind, source_kind, target_kind;
};

struct stretch {
	struct stretch_call *call; /* by begin */
	size_t call_count;
	struct stretch_op *op; /* by begin */
	size_t op_count;
	uint32_t *waits;
	size_t wait_count;
	uint32_t *order; /* see stretch_sort */
	size_t order_count;
	uint32_t *mark; /* operations that begin steps: one more than there are steps */
	size_t mark_count;
	unsigned streams;
	double latency_ns, gap_ns; /* typical: from launch to start, between queued operations */
	unsigned depth;            /* launches that a stream's queue takes */
};

/* Times of a played stretch, by call and by operation. */
struct stretch_times {
	double *begin_ns, *end_ns; /* of calls */
	double *start_ns;          /* of operations; they end duration_ns later */
};

void stretch_fini(struct stretch *stretch);

/*
 * Puts calls and operations into an order in which each comes behind all that it waits for; waits
 * that go round in a circle, which damage can make, are dropped. -1 without memory.
 */
int stretch_sort(struct stretch *stretch);

/* A deep copy, but for `waits`, `order` and `mark`, which it shares. -1 without memory. */
int stretch_copy(const struct stretch *from, struct stretch *to);
/* Frees a copy, not what it shares. */
void stretch_drop(struct stretch *copy);

/* -1 without memory. */
int stretch_times_init(const struct stretch *stretch, struct stretch_times *times);
void stretch_times_fini(struct stretch_times *times);

/*
 * Plays it: the longest path through the graph (the critical path method; for GPU programs:
 * Daydream, Zhu et al., USENIX ATC 2020). Launches into a stream whose queue holds `depth` wait.
 */
void stretch_play(const struct stretch *stretch, struct stretch_times *times);

/* Mean time of a step, from the start of the first step that counts to that of the last mark: the
 * first quarter of the steps settles how far the host is ahead. 0 with fewer than two steps. */
double stretch_step_ns(const struct stretch *stretch, const struct stretch_times *times);
/* The same as recorded. */
double stretch_recorded_ns(const struct stretch *stretch);

#endif
