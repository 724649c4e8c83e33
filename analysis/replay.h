/* The second walk: operations and the calls behind them, joined and accounted for. */
#ifndef REPLAY_H
#define REPLAY_H

#include "account.h"
#include "hold.h"
#include "ranges.h"
#include "survey.h"

/* Operations of a device that begin in [begin, end], and when the calls behind them were made. */
struct replay_span {
	uint64_t begin_ns, end_ns;
	uint64_t first_call_ns, last_call_ns; /* found; 0 without any */
};

struct replay {
	/* given; accounts NULL for devices that did nothing, their `rules` set by replay_run */
	struct trace *trace;
	const struct clock *clock;
	struct account *account[SURVEY_DEVICES];
	const struct blind *blind;
	uint64_t calls; /* rows in the trace */
	bool plain;     /* calls are counted and joined, what threads did is not followed */
	struct replay_span span[SURVEY_DEVICES];
	/* state */
	struct join join;
	struct holds holds;
	struct thread_log *log; /* by thread as in struct call; row 0 is not used */
	uint64_t *log_end_ns;   /* end of each thread's last call */
	size_t log_count;
	bool alone;              /* there are no operations, only calls */
	const struct call *call; /* the first, and the next row of its timeline */
	const struct wake *wake;
	struct ranges *ranges; /* NULL where the trace has none */
	const struct range_event *range;
	/* of the last call to end so far, and of the last one of any other thread */
	struct last_call {
		uint64_t end_ns;
		uint32_t thread;
	} last, other;
	/* found */
	struct timeline_counts call_counts;
	uint64_t first_call_ns, last_call_ns; /* begin of the first, latest end; 0 without any */
	uint64_t end_ns;                      /* of the whole window */
	uint64_t launches_hooked, launches_seen, launches_captured, graph_launches;
	uint64_t kernels_explained;
	struct gap_stat pauses; /* of threads, between two CUDA calls, where there are no
				   operations: all there is to tell */
};

/* `origin_ns` is the begin of the first operation, `last_ns` the latest end of one; both 0 without
 * operations. -1 without memory. */
int replay_run(struct replay *replay, uint64_t origin_ns, uint64_t last_ns);
void replay_fini(struct replay *replay);

#endif
