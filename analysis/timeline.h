/* The events of a trace in the order of time: device operations, calls of the host, what threads had used at some of them, or NVTX
 * ranges. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "clock.h"
#include "silence.h"
#include "trace.h"

/* A kernel, copy or set on a device. Times are the host clock's. */
struct op {
	uint64_t begin_ns;
	uint64_t end_ns;    /* >= begin_ns */
	uint64_t stream;    /* context and CUPTI stream id: equal for ops of one stream */
	uint64_t bytes;     /* of copies */
	uint64_t node;      /* of a graph, CUPTI's id; 0 = none or not known */
	uint32_t signature; /* of kernels: see struct signature */
	uint32_t correlation;
	uint32_t graph; /* 0 = not of a graph */
	uint16_t device;
	uint8_t is_copy;
	uint8_t has_node;    /* of a graph, and the node is known */
	uint8_t copy_kind;   /* enum copy_kind */
	uint8_t source_kind; /* enum memory_kind */
	uint8_t target_kind;
};

/* A call of the host into CUDA. */
struct call {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t thread; /* index of the vocabulary's threads plus 1; 0 = unknown */
	uint32_t correlation;
	uint32_t stream; /* ids of handles */
	uint32_t object;
	uint16_t api;  /* index of the vocabulary's APIs plus 1; 0 = unknown */
	uint8_t klass; /* enum class */
	uint8_t flags; /* enum call_flag */
};

/* A thread opens or closes an NVTX range. */
struct range_event {
	uint64_t begin_ns;
	uint64_t order;  /* 0: events of one moment keep the order of the file */
	uint64_t id;     /* of ranges that are started and ended */
	uint64_t domain; /* id of a handle; 0 = the default one */
	uint32_t name;   /* index of the vocabulary's strings plus 1; 0 = none */
	uint32_t thread; /* as struct call */
	uint8_t kind;    /* enum range_kind */
};

/* Rows that are counted and have no place in time. */
struct timeline_counts {
	uint64_t kernels; /* all that were read, whatever their times */
	uint64_t copies;
	uint64_t calls;
	uint64_t time_invalid; /* flagged, or zero, reversed or beyond sense */
	uint64_t late;    /* before what had been handed out: a chunk that lies about its times */
	uint64_t crowded; /* rows of chunks that did not fit into memory beside the others */
};

enum timeline_what {
	TIMELINE_OPS,
	TIMELINE_CALLS,
	TIMELINE_WAKES,
	TIMELINE_RANGES,
};

struct open_chunk;

/*
 * Chunks are decoded when their time comes and dropped when they are used up, so that memory
 * follows how much the chunks overlap, not how long the trace is. Rows within a chunk may be in any
 * order.
 */
struct timeline {
	struct trace *trace;
	const struct clock *clock;
	enum timeline_what what;
	size_t row_bytes;
	struct trace_chunk **pending; /* by begin */
	uint64_t *pending_begin;
	size_t pending_count, pending_at;
	struct open_chunk **heap; /* earliest head first */
	size_t heap_count, heap_capacity;
	struct open_chunk *spare; /* for reuse */
	uint64_t limit;           /* the first chunk of the heap may go on up to here */
	uint64_t last_ns;         /* handed out last */
	uint64_t open_rows;
	struct clock_cursor cursor;
	struct bst_rows rows;
	uint64_t from_ns, to_ns; /* chunks outside are passed over */
	struct timeline_counts counts;
};

/* -1 without memory. Keeps trace and clock by reference. */
int timeline_init(struct timeline *timeline, struct trace *trace, const struct clock *clock,
		  enum timeline_what what);
/* Only of chunks that reach into [from, to] of the host's time: rows outside may come too. */
int timeline_init_between(struct timeline *timeline, struct trace *trace, const struct clock *clock,
			  enum timeline_what what, uint64_t from_ns, uint64_t to_ns);
void timeline_fini(struct timeline *timeline);

/* The next one by begin; NULL at the end. Valid until the next call. */
const struct op *timeline_op(struct timeline *timeline);
const struct call *timeline_call(struct timeline *timeline);
const struct wake *timeline_wake(struct timeline *timeline);
const struct range_event *timeline_range(struct timeline *timeline);

#endif
