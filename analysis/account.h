/* The time of one device: every nanosecond of its windows goes to one leaf. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "arithmetic.h"
#include "counters.h"
#include "decide.h"
#include "gaps.h"
#include "idle.h"
#include "quantile.h"
#include "range_times.h"
#include "steps.h"

/* Operations that a device runs at one time at most; CUDA's own limit is 128 grids. More are damage
 * and are counted. */
#define ACTIVE_LIMIT 256

/* What a device knows of a kernel signature before the accounting: it is decided once, by the mean
 * of its launches. */
struct signature_label {
	struct decide_input input;
	struct decision decision;
	struct kernel_counters counters;     /* measures are unknown where nothing was sampled */
	struct kernel_arithmetic arithmetic; /* likewise where no library call tells */
	struct measure geometry_bytes;       /* that a launch touches, by its name and grid */
};

/* Time of a kernel or copy, and of the device being idle before it. */
struct op_time {
	uint64_t busy_ns, idle_ns;
};

/* What happened with a kernel signature in the steady window. */
struct kernel_stat {
	uint64_t launches, graph_launches;
	uint64_t total_ns, busy_ns;
	double square_ns;             /* sum of the squares of its durations */
	struct quantile *queue, *gap; /* ns; NULL until needed, or beyond QUANTILES_LIMIT */
	uint64_t idle_ns;             /* of the device, before it */
	struct op_time outlier;       /* the same in outliers */
};

struct copy_stat {
	uint32_t kind, source, target; /* enum copy_kind, memory_kind */
	uint64_t count, bytes, total_ns, exposed_ns;
	uint64_t idle_ns; /* of the device, before it */
	struct op_time outlier;
};

#define COPY_STATS 64

struct active_op {
	uint64_t end_ns;
	uint64_t from_ns; /* counts from here on: an earlier kernel of its stream goes before */
	uint64_t stream;
	uint32_t range; /* node */
	uint32_t index; /* signature, or row of the copy statistics */
	enum active_kind {
		ACTIVE_KERNEL,
		ACTIVE_COLLECTIVE,
		ACTIVE_COPY,
	} kind;
};

struct past_gap {
	uint64_t begin_ns, end_ns;
	uint64_t idle_ns; /* of the device before it */
};

struct account {
	/* given */
	uint64_t begin_ns; /* of the whole window */
	const struct interval *steady;
	size_t steady_count;
	const struct interval *outlier; /* steps set apart, likewise */
	size_t outlier_count;
	const struct signature_label *label;
	size_t label_count;
	bool plain;              /* gaps are not accounted for: idle time is unknown */
	bool shared;             /* others use the device: idle time is not split (rule 14) */
	struct idle_rules rules; /* `busy` and `device` are set by account_init */
	struct ranges *ranges;   /* NULL where the trace has none */
	unsigned device;
	/* state */
	uint64_t now_ns;
	size_t steady_at, outlier_at;
	/* Up to then, time is in the steady window, in an outlier, or in neither. */
	uint64_t same_until_ns;
	uint64_t now_steady, now_outlier; /* all bits set, or none */
	struct active_op active[ACTIVE_LIMIT];
	unsigned active_count;
	uint32_t last_thread; /* that issued the last operation */
	const struct thread_log *last_log;
	uint32_t charged_thread; /* our cost in its calls is charged to gaps up to then: */
	uint64_t charged_ns;
	struct past_gap *past; /* ring */
	uint64_t past_count;
	uint64_t idle_ns;
	struct idle_pieces pieces;
	size_t quantiles;
	/* found */
	struct window whole, steady_window;
	uint64_t outlier_ns[LEAF_COUNT];
	uint64_t outlier_sum_ns;    /* of these */
	struct kernel_stat *kernel; /* by signature */
	struct copy_stat copy[COPY_STATS];
	unsigned copy_count;
	struct range_times range;
	struct gap_stat gap[LEAF_COUNT];
	uint64_t crowded; /* operations beyond ACTIVE_LIMIT: not in the slices */
};

/* An operation and what is known of the call behind it; both pointers may be NULL. */
struct issued_op {
	const struct op *op;
	const struct launch *launch;
	const struct thread_log *log; /* of the calling thread */
	bool held; /* by a host function, a value in memory or an event that the trace does not see
		    */
	bool perhaps_held;   /* by a value or an event in a stream that the trace does not name */
	uint64_t release_ns; /* end of the last operation behind an event that it had to wait for; 0
				= none */
};

/*
 * Begins the accounting with the given fields set and all others zero: -1 without memory. `steady`
 * intervals are in order and apart.
 */
int account_init(struct account *account);
void account_fini(struct account *account);

/* An operation of the device, in the order of begin. */
void account_add(struct account *account, const struct issued_op *issued);

/*
 * Nothing comes any more: accounts for the rest of the window, which ends at `end_ns`, not before
 * the last operation does. From then on the leaves of both windows sum exactly to their length.
 */
void account_finish(struct account *account, uint64_t end_ns);

#endif
