/* When the recorder saw nothing: stretches of time in which events were lost. */
#ifndef BLIND_H
#define BLIND_H

#include <stdbool.h>

#include "clock.h"
#include "trace.h"

struct blind_stretch {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t reach_ns; /* the latest end of this and all earlier ones */
	uint32_t thread;   /* as struct call; 0 = concerns all */
};

struct blind {
	struct blind_stretch *stretch; /* by begin */
	size_t count, capacity;
};

/* From the losses that the recorder noted and the holes that damage left. -1 without memory. */
int blind_init(struct blind *blind, const struct trace *trace, const struct clock *clock);
void blind_fini(struct blind *blind);

/* What blind_between asks where anything was lost at all. */
bool blind_between_any(const struct blind *blind, uint64_t begin_ns, uint64_t end_ns,
		       uint32_t thread);

/* Was anything lost in [begin, end) that concerns the devices, or this thread? */
static inline bool blind_between(const struct blind *blind, uint64_t begin_ns, uint64_t end_ns,
				 uint32_t thread)
{
	return blind->count && blind_between_any(blind, begin_ns, end_ns, thread);
}

/* Time in [begin, end) in which nothing was lost. */
uint64_t blind_intact(const struct blind *blind, uint64_t begin_ns, uint64_t end_ns);

#endif
