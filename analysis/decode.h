/* Chunks of events to rows of the timeline: checked, converted to the host's clock, sorted. */
#ifndef DECODE_H
#define DECODE_H

#include "timeline.h"

/*
 * Host time of the chunk's first row. Taken from the chunk's header, unless that spans so much that
 * rows of impossible time must be among them: then the rows themselves are asked.
 */
uint64_t decode_begin(struct bst_rows *rows, const struct trace *trace, const struct clock *clock,
		      const struct trace_chunk *chunk);

/*
 * Decodes into `out`, which has room for chunk->rows. Rows without a usable time are counted and
 * left out; *count rows remain, sorted by begin. The status is that of the chunk.
 */
enum bst_status decode_ops(struct bst_rows *rows, const struct trace *trace,
			   const struct clock *clock, const struct trace_chunk *chunk,
			   struct op *out, uint32_t *count, struct timeline_counts *counts,
			   struct clock_cursor *cursor);

/* The same for calls; of two that begin together the longer, outer one comes first. */
enum bst_status decode_calls(struct bst_rows *rows, const struct trace *trace,
			     const struct clock *clock, const struct trace_chunk *chunk,
			     struct call *out, uint32_t *count, struct timeline_counts *counts);

/* The same for what threads had used. */
enum bst_status decode_wakes(struct bst_rows *rows, const struct trace *trace,
			     const struct clock *clock, const struct trace_chunk *chunk,
			     struct wake *out, uint32_t *count, struct timeline_counts *counts);

/* The same for NVTX ranges; rows of threads that the trace does not tell are left out. */
enum bst_status decode_ranges(struct bst_rows *rows, const struct trace *trace,
			      const struct clock *clock, const struct trace_chunk *chunk,
			      struct range_event *out, uint32_t *count,
			      struct timeline_counts *counts);

#endif
