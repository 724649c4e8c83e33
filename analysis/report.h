/* What the analysis found, as plain data: filled by analyze.c, printed by report_text.c and report_json.c. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ceilings.h"
#include "classes.h"
#include "collectives.h"
#include "leaf.h"
#include "measure.h"
#include "roofline.h"
#include "silence.h"

enum confidence {
	CONFIDENCE_NONE,
	CONFIDENCE_LOW,
	CONFIDENCE_MEDIUM,
	CONFIDENCE_HIGH,
};

/* What a kernel's label rests on, weakest first. */
enum evidence {
	EVIDENCE_NONE,
	EVIDENCE_PRIOR,    /* the kind of kernel that its name says */
	EVIDENCE_GEOMETRY, /* grid, block, registers, duration */
	EVIDENCE_LIBRARY,  /* exact arithmetic of an intercepted library call */
	EVIDENCE_COUNTERS, /* sampled hardware counters */
};

/* One answer: over a kernel, a device or everything. */
struct verdict {
	enum regime regime;
	enum leaf leaf;    /* the largest of the regime's leaves */
	double share;      /* of the window, 0..1, own cost taken out */
	double confidence; /* 0..1 */
	char *sentence;    /* one line, owned; NULL for kernels */
};

/* Time of one window, split exactly: the leaves sum to window_ns. */
struct window {
	bool known;
	uint64_t
		begin_ns; /* device clock domain of the report: ns since the first event of the process */
	uint64_t window_ns;
	uint64_t leaf_ns[LEAF_COUNT];
	uint64_t
		launch_queue_gap_ns; /* part of launch: the device's own gap between queued kernels */
	uint64_t
		tracing_device_ns; /* part of tracing: the device's own gaps, longer by it; the rest
				       is the CPU's */
	struct host_parts host;    /* sums to the host leaf */
	uint64_t busy_ns;   /* any kernel or copy active: what nvidia-smi counts in GPU-Util */
	uint64_t kernel_ns; /* any kernel active */
};

/* Why outliers take longer: a kernel or copy, or the device being idle before it. */
struct outlier_cause {
	char *what;     /* short name of the kernel, or "copy host to device"; owned */
	bool idle;      /* before it, rather than busy with it */
	double more_ns; /* in an outlier than in a step: means */
};

#define OUTLIER_CAUSES 5
#define STEP_BATCHES 20

struct steps {
	bool known;
	uint64_t count;                             /* inside the steady window */
	uint64_t warmup_count;                      /* before it */
	uint64_t outlier_count;                     /* set apart inside it */
	uint64_t outlier_ns[LEAF_COUNT];            /* where the time of all outliers went */
	struct outlier_cause cause[OUTLIER_CAUSES]; /* most time first */
	unsigned cause_count;
	uint64_t period_ns;      /* median */
	uint64_t untraced_ns;    /* the same without tracing: less its mean share of a step */
	uint64_t low_ns;         /* 10th percentile */
	uint64_t high_ns;        /* 90th percentile */
	uint64_t kernels;        /* launches in a step */
	unsigned layers;         /* equal ones, told apart by more than kernels; 0 = not known */
	const char *detected_by; /* "kernel sequence", "graph launch" ..., static words */
	/* Medians of so many stretches of steps, equally many steps each, in order of time: how
	 * much the steps of this run differ from one stretch to the next. */
	unsigned batch_count;
	uint64_t batch_ns[STEP_BATCHES];
};

/* A shape of library calls that a kernel served; over the whole run. */
struct shape_report {
	char *words;
	uint64_t launches;
	uint64_t total_ns;
	double mean_ns;
	enum regime regime;
	enum leaf leaf;
	double confidence;
	enum evidence evidence;
	double samples; /* as of kernel_report */
	struct measure tensor_pct, fma_pct, dram_pct, l2_pct, l1_pct;
};

struct kernel_report {
	uint32_t signature; /* of the trace's vocabulary */
	char *name;         /* demangled, as long as it is */
	char *short_name;   /* readable, at most 60 columns */
	const char *
		category; /* "gemm", "elementwise" ..., static; "unknown" if the name says nothing */
	enum kernel_class class;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t registers;
	uint64_t shared_bytes;
	uint64_t launches; /* in the steady window, or in whole where there is no steady one */
	uint64_t total_ns;
	uint64_t busy_ns;
	double mean_ns;
	struct measure deviation_ns; /* standard deviation of its durations */
	double share;                /* busy_ns over the window */
	struct verdict verdict;
	enum leaf leans; /* for latency: the unit that it leans to; LEAF_UNKNOWN if none */
	enum evidence evidence;
	double samples; /* of the counters: its time in samples over their length; 0 = not sampled */
	struct measure tensor_pct, fma_pct, dram_pct, l2_pct, l1_pct;
	struct measure waves;
	struct measure flops; /* per launch */
	struct measure bytes;
	enum evidence flops_source, bytes_source; /* library or counters; none = unknown */
	enum ceiling pipe; /* that does the arithmetic; CEILING_COUNT = not known */
	struct roofline roofline;
	struct measure queue_ns;     /* median: from the end of its launch call to its start */
	struct measure gap_ns;       /* median idle time of the device before it */
	uint64_t graph_launches;     /* of `launches`, those that were nodes of a graph */
	struct shape_report *shapes; /* longest total first; none where it served a single one */
	size_t shape_count;
};

struct copy_report {
	const char *direction; /* "host to device" ..., static */
	const char *source;    /* memory kinds, static */
	const char *target;
	uint64_t count;
	uint64_t bytes;
	uint64_t total_ns;
	uint64_t exposed_ns; /* of it, while no kernel ran */
};

struct gap {
	uint64_t begin_ns; /* as window.begin_ns */
	uint64_t duration_ns;
	char *before; /* short name of the operation that came late, owned */
	uint32_t tid;
};

#define WORST_GAPS 5

struct gap_report {
	uint64_t count;
	uint64_t total_ns;
	unsigned worst_count;
	struct gap worst[WORST_GAPS]; /* longest first */
};

#define ADVICE_TARGETS 5

/* What could be changed about a program, as far as it is simulated. */
enum change_kind {
#define CHANGE(NAME, name, words) CHANGE_##NAME,
#include "changes.def"
#undef CHANGE
	CHANGE_COUNT
};

#define CHANGE_CALLS 3

/* What a change would do to a step. */
struct change_report {
	bool known;          /* there is something to change, and it was simulated */
	struct measure step; /* ns of the new step; of a larger batch: for as many items as now */
	uint64_t touched;    /* calls or operations that it is about, per step */
	double touched_ns;   /* their time, per step */
	size_t targets[ADVICE_TARGETS]; /* kernels, as in struct advice */
	unsigned target_count;
	char *calls[CHANGE_CALLS]; /* APIs whose calls are concerned, most time first; owned */
};

/* A stretch of steps, simulated (whatif.h). */
struct whatif {
	bool known;
	const char *reason; /* why it is not known; static words, NULL otherwise */
	uint64_t steps, operations;
	double recorded_ns; /* mean step of the stretch */
	double replayed_ns; /* the same, simulated unchanged */
	double error;       /* of that, a share */
	double base_ns;     /* a step without the cost of tracing */
	struct change_report change[CHANGE_COUNT];
	struct measure together; /* a step with all that are worth it, but for a larger batch */
};

struct advice {
	const char *id;    /* static, stable: "cuda-graphs" */
	const char *title; /* static */
	char *why;         /* owned */
	char *how;         /* owned: the exact thing to try */
	size_t targets
		[ADVICE_TARGETS]; /* the kernels that it is about: indices into the device's kernels */
	unsigned target_count;
	const char *calls[CHANGE_CALLS]; /* and the APIs: those of struct change_report */
	struct measure saves_ns;         /* per step, or per window where there are no steps */
	struct measure speedup;
};

/* The sampling of hardware counters on a device. */
struct counters_report {
	bool known; /* the trace says something of it */
	uint64_t bursts;
	uint64_t samples;
	uint64_t dropped; /* samples that were none: first ones, repeated, backwards */
	uint64_t cpu_ns;  /* of the sampling thread */
	uint64_t interval_ns;
	double foreign_pct; /* SM activity while nothing of ours ran */
	char *reason;       /* why it ended or never began, words; NULL if as planned */
};

/* Device time of a range in a window, and how many times there was work of it. */
struct range_window {
	uint64_t count;
	uint64_t self_ns[LEAF_COUNT];  /* without the ranges inside */
	uint64_t total_ns[LEAF_COUNT]; /* with them */
};

struct range_report {
	char *name;   /* owned; NULL where the range has none */
	char *domain; /* likewise; NULL = the default one */
	unsigned depth;
	uint64_t opened; /* by any thread, with work of the device or without */
	struct range_window whole, steady;
};

/* NVTX ranges as a tree, each before those inside it, the largest first. With `outside` the selves
 * of a leaf sum to the window's. */
struct ranges_report {
	bool known; /* the trace has any */
	struct range_report *range;
	size_t count;
	struct range_report outside;  /* of all ranges */
	struct range_report stranger; /* of it, by threads that never opened one */
	uint64_t crowded; /* ranges that found no room and count as the one around them */
};

struct device_report {
	unsigned index;
	char *name;
	char *uuid;
	struct device_attributes attributes;
	struct measure
		sm_clock_hz;      /* while SMs were active, sampled; attributes have the highest */
	struct ceilings peaks;    /* derived from the attributes: what labels and _pct are of */
	struct ceilings ceilings; /* what headroom is told by: calibrated ones over the same */
	bool shared;
	bool mps, mig; /* contexts go through MPS; it is an instance of a GPU */
	struct window whole, steady;
	struct steps steps;
	struct verdict verdict;
	struct kernel_report *kernels; /* largest share first */
	size_t kernel_count;
	struct copy_report *copies;
	size_t copy_count;
	struct counters_report counters;
	struct gap_report gaps[LEAF_COUNT];
	struct class_report classes[CLASS_COUNT];
	struct ranges_report ranges;
	struct whatif whatif;
	struct advice *advice; /* largest saving first */
	size_t advice_count;
	struct collective_list collectives; /* begins as window.begin_ns */
};

struct loss_report {
	const char *cause; /* static or from the file's own vocabulary */
	uint64_t count;
};

struct coverage {
	uint64_t kernels;           /* kernel records */
	uint64_t copies;            /* copy and set records */
	uint64_t launches_hooked;   /* launch calls that a preload hook saw */
	uint64_t launches_seen;     /* launch calls seen by any means, captured ones apart */
	uint64_t launches_captured; /* recorded into graphs: they ran nothing by themselves */
	uint64_t graph_launches;
	uint64_t
		kernels_explained; /* valid times, and joined to a launch call or to a graph launch and node */
	uint64_t lost;             /* sum of records lost */
	double kept_share; /* of the device's records or of calls, whichever is less; see process.c */
	struct loss_report *dropped;
	size_t dropped_count;
	uint64_t trace_bytes;
	uint64_t tracing_ns; /* own cost on the critical path, estimated */
	uint64_t hook_ns;    /* own CPU time in hooks and callbacks, measured by the run */
};

struct process_report {
	char *path; /* of the trace */
	char *command, *host, *rank, *start, *version, *mode;
	uint64_t pid;
	bool complete;
	char *incomplete_reason; /* words; NULL when complete */
	char *cupti;             /* version and state, words */
	unsigned driver_version;
	uint64_t traced_ns;  /* first to last event */
	uint64_t startup_ns; /* first event to the steady window */
	struct coverage coverage;
	struct device_report *devices;
	size_t device_count;
};

struct report {
	struct verdict verdict; /* over all processes and devices */
	struct process_report *processes;
	size_t process_count;
	unsigned failures;                     /* traces with damage inside: exit status 1 */
	struct collectives_report collectives; /* of the ranks, beside each other */
};

void report_init(struct report *report);
/* Frees all that the report owns. */
void report_fini(struct report *report);

#endif
