/* The BOUNDSHIM_* settings of this process. */
#ifndef ENV_H
#define ENV_H

#include <stdint.h>

enum mode {
	MODE_TRACE,
	MODE_HOOKS,
	MODE_OFF,
};

struct env {
	const char *out; /* NULL = the default name in the current folder */
	enum mode mode;
	uint64_t delay_ns;
	uint64_t duration_ns; /* 0 = without end */
	uint64_t max_bytes;   /* 0 = no limit */
	int keep_newest;      /* beyond it */
	const char *cupti;    /* NULL = search */
	int cupti_yield;
	int command; /* enum command_kept */
	int log_level;
	int counters; /* enum counters_mode of sampler.h */
	uint64_t counter_interval_ns;
};

enum command_kept {
	COMMAND_REDACTED,
	COMMAND_FULL,
	COMMAND_ARGV0,
};

/* Reads and checks the environment, with one line on stderr for each value or name that is not understood. */
void env_read(struct env *env);

#endif
