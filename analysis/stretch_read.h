/* From a trace to a stretch of its steps (stretch.h). */
#ifndef STRETCH_READ_H
#define STRETCH_READ_H

#include "idle.h"
#include "stretch.h"
#include "timeline.h"

/* Memory of a stretch: 32 MB. A step with more has no what-if. */
#define STRETCH_OPS (1u << 16)
#define STRETCH_CALLS (1u << 17)

struct stretch_input {
	struct trace *trace;
	const struct clock *clock;
	uint32_t device;
	const uint64_t *mark_ns; /* begins of steps, the last one only ends */
	size_t mark_count;
	uint64_t first_call_ns, last_call_ns; /* of the calls behind the operations */
	struct tracing_cost cost;
};

/*
 * Reads and sorts the stretch. 0; -1 without memory or where it does not fit, with static words in
 * *reason.
 *
 * What the recording does not say is inferred from its times, so that a stretch played unchanged
 * takes the recorded time only where the inference is right:
 *
 * - A thread that is silent while another works and the other way round (PyTorch's main thread and
 *   its backward thread) is one chain with it: they hand over.
 * - A wait (cudaStreamSynchronize, a copy that its caller waited for) ends with the last operation
 *   it can be for, and the time from there to its return.
 * - An operation started late that follows one of another stream at once waited for it: one copy
 *   engine, a full GPU, the legacy default stream.
 * - A launch that took long while a thousand others were queued waited for room.
 */
int stretch_read(const struct stretch_input *input, struct stretch *stretch, const char **reason);

#endif
