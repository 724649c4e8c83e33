/* What a thread did while it made no CUDA call: it ran, waited, or had lost its core. */
#ifndef SILENCE_H
#define SILENCE_H

#include <stdbool.h>
#include <stdint.h>

/* A row of the trace's wake table: what the thread had used at the first call after a silence. */
struct wake {
	uint64_t begin_ns;   /* of that call: the silence ends here */
	uint64_t silence_ns; /* its length */
	uint64_t cpu_ns;     /* of the thread, all its life */
	uint64_t voluntary;  /* context switches, likewise */
	uint64_t involuntary;
	uint32_t thread; /* as struct call */
};

/* A stretch of host time in parts that sum to it. Running: anything that uses the CPU, and all
 * pauses too short for the trace to measure. */
struct host_parts {
	uint64_t running_ns;
	uint64_t blocked_ns;    /* asleep: I/O, a lock, data that was not ready */
	uint64_t preempted_ns;  /* ready to run, and something else had its core */
	uint64_t unmeasured_ns; /* before the thread's first measurement, or forgotten */
};

struct silence {
	uint64_t begin_ns, end_ns;
	uint64_t blocked_ns, preempted_ns; /* of it */
};

/* The silences of one thread, in order. Zeroed is empty. */
struct silences {
	struct silence *ring; /* row of silence n is n & (capacity - 1) */
	uint64_t capacity, first, last;
	uint64_t measured_ns; /* from here on silences are known */
	struct wake wake;     /* the last one */
	uint64_t sync_ns;     /* as silences_add was told then */
	bool known;
	uint64_t spun_ns, slept_ns; /* waits that were told apart by their CPU time */
};

void silences_fini(struct silences *silences);

/*
 * Takes a row, in order of time. `sync_ns`: time of the thread in waits for the device up to now.
 * `others_ns`: when the last CUDA call of another thread ended; 0 = there was none.
 *
 * The row says how long the thread was off the CPU since the row before: wall time less CPU time.
 * That lies in the silence, or in waits for the device if those sleep (CUDA's default is to spin).
 * Which: where only one of the two is possible it is that, and where the two times are equal it is
 * the waits; else as this thread's other waits did, and spinning where nothing tells. What lies in the silence is divided between blocked and
 * preempted by the numbers of voluntary and involuntary switches. Where in the silence it lies is not
 * known: evenly, but first of all while another thread was at work with CUDA (PyTorch's main thread
 * sleeps while the autograd thread launches).
 */
void silences_add(struct silences *silences, const struct wake *wake, uint64_t sync_ns,
		  uint64_t others_ns);

/* Splits [from, to) of the thread's host time. */
struct host_parts silences_split(const struct silences *silences, uint64_t from_ns, uint64_t to_ns);

#endif
