/*
 * Every 100 ms, or when a ring is half full: rings to batches. Every 250 ms: CUPTI's completed buffers too, and all batches to the
 * file. So a killed process has lost at most the last 350 ms of host records.
 */
#define _GNU_SOURCE
#include "writer.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "activity.h"
#include "api.h"
#include "clock.h"
#include "encode.h"
#include "library_state.h"
#include "log.h"
#include "loss.h"
#include "process.h"
#include "sampler.h"
#include "session.h"
#include "spawn.h"
#include "thread.h"
#include "tracer.h"

#define LOOK_NS 100000000u
#define FLUSH_NS 250000000u
#define CLOCK_NS 1000000000u

static struct writer_options options;
static struct output *out;
static _Atomic uint32_t woken;              /* futex: 1 = look now */
static _Atomic uint32_t finished;           /* futex: 1 = the file is closed */
static _Atomic(const char *) finish_reason; /* set = finish */
static bool devices_known;
static uint64_t launches;    /* whose kernels CUPTI must tell of */
static unsigned tracer_told; /* how much of the tracer's news is in the file */

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, (uint32_t *)word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL,
		       0);
}

/* The kernel's own clock: the program may have replaced clock_gettime. */
static uint64_t kernel_now(void)
{
	struct timespec ts = {0, 0};

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Sleeps until *word is no longer `value` or the time is over: relative, by the kernel's own clock. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u)};

	futex(word, FUTEX_WAIT, value, &ts);
}

void writer_wake(void)
{
	int saved = errno;

	if (atomic_exchange_explicit(&woken, 1, memory_order_release) == 0)
		futex(&woken, FUTEX_WAKE, 1, NULL);
	errno = saved;
}

/* Which CUPTI saw, and which ran something: its record must come. */
static bool is_launch(const struct record *r)
{
	return r->kind == RECORD_CALL && r->correlation &&
	       !(r->flags & (BST_ENUM_CALL_FLAG_FAILED | BST_ENUM_CALL_FLAG_CAPTURED)) &&
	       api_info(r->api).class == BST_ENUM_CLASS_LAUNCH;
}

static void drain_ring(struct thread *t)
{
	const struct record *first;
	uint32_t n;

	while ((n = ring_peek(&t->ring, &first)) != 0) {
		for (uint32_t i = 0; i < n; i++) {
			launches += is_launch(&first[i]);
			encode_record(t, &first[i]);
		}
		ring_take(&t->ring, n);
	}
}

/* What did not fit into the ring last, and no later record of the thread tells. */
static void tell_lost(const struct thread *t)
{
	if (t->lost_count)
		output_add_numbers(out, BST_TABLE_LOSS,
				   (uint64_t[]){BST_ENUM_LOSS_RING_FULL, t->lost_count, t->id,
						t->lost_begin_ns, host_now()});
}

static void drain_rings(void)
{
	for (struct thread *t = thread_first(); t; t = t->next) {
		int state = atomic_load_explicit(&t->state, memory_order_acquire);

		if (state == THREAD_FREE)
			continue;
		drain_ring(t);
		if (state != THREAD_EXITED)
			continue;
		tell_lost(t);
		t->lost_count = 0;
		thread_recycle(t);
	}
}

static void read_clocks(enum bst_enum reason)
{
	uint64_t row[5];

	tracer_read_clocks(row, reason);
	output_add_numbers(out, BST_TABLE_CLOCK, row);
}

static void add_cost(enum bst_enum kind, uint64_t count, uint64_t total_ns)
{
	if (count)
		output_add_numbers(out, BST_TABLE_COST,
				   (uint64_t[]){kind, host_now(), count, total_ns});
}

/* Own time of hooks: the mean of the sampled ones, times all. */
static void sum_self_time(const struct self_time *s, uint64_t *count, double *total_ns)
{
	uint64_t n = atomic_load_explicit(&s->count, memory_order_relaxed);
	uint64_t samples = atomic_load_explicit(&s->samples, memory_order_relaxed);
	uint64_t ns = atomic_load_explicit(&s->sampled_ns, memory_order_relaxed);

	*count += n;
	if (samples)
		*total_ns += (double)ns / (double)samples * (double)n;
}

static void report_cost(void)
{
	uint64_t hooks = 0, callbacks = 0;
	double hook_ns = 0, callback_ns = 0;

	for (struct thread *t = thread_first(); t; t = t->next) {
		sum_self_time(&t->hook, &hooks, &hook_ns);
		sum_self_time(&t->callback, &callbacks, &callback_ns);
	}
	add_cost(BST_ENUM_COST_KIND_HOOK, hooks, (uint64_t)hook_ns);
	add_cost(BST_ENUM_COST_KIND_CALLBACK, callbacks, (uint64_t)callback_ns);
	add_cost(BST_ENUM_COST_KIND_WRITER, 1, clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

static void describe_tracer(void)
{
	static const char *const words[] = {[TRACER_UNTRIED] = "off",
					    [TRACER_ON] = "on",
					    [TRACER_OFF] = "off",
					    [TRACER_TAKEN] = "taken"};
	enum tracer_state state = tracer_state();
	unsigned news = tracer_news();

	if (state == TRACER_UNTRIED || news == tracer_told)
		return;
	output_meta(out, "cupti.state", words[state]);
	if (*tracer_reason())
		output_meta(out, "cupti.reason", tracer_reason());
	if (tracer_version()) {
		output_meta_number(out, "cupti.version", tracer_version());
		output_meta(out, "cupti.path", tracer_path());
	}
	if (tracer_told == 0)
		read_clocks(BST_ENUM_CLOCK_REASON_START);
	tracer_told = news;
}

static void learn(void)
{
	describe_tracer();
	library_state_describe(out);
	if (!devices_known)
		devices_known = devices_describe(out) != 0;
}

static void flush(bool forced)
{
	learn();
	tracer_flush(forced);
	tracer_drain(out);
	sampler_drain(out);
	tracer_watch(launches, false);
	drain_rings();
	encode_names();
	output_flush(out);
}

/* Copying takes long where the file is large: rings and buffers are emptied in between. */
static void trim(void)
{
	while (output_trim(out)) {
		drain_rings();
		tracer_drain(out);
	}
}

/* The trace says why it has no device times. */
static void explain_untried(void)
{
	if (tracer_state() != TRACER_UNTRIED)
		return;
	if (atomic_load(&session_pending_now) & SESSION_WANTS_CUPTI) {
		tracer_refuse("no CUDA call succeeded");
		log_line("no CUDA call succeeded: the trace has no device times");
		return;
	}
	output_meta(out, "cupti.state", "off");
	output_meta(out, "cupti.reason", "the program ended while CUPTI was being started");
}

/* Records that never came are not looked for here: the analyzer knows launches without a kernel. */
static void finish(const char *reason)
{
	sampler_end();
	explain_untried();
	flush(false);
	tracer_flush(true);
	tracer_drain(out);
	tracer_watch(launches, true);
	drain_rings();
	for (struct thread *t = thread_first(); t; t = t->next)
		tell_lost(t);
	/* CUPTI may not be called for counters once the driver's exit handlers run */
	if (!sampler_await())
		sampler_give_up(out);
	sampler_drain(out);
	encode_names();
	describe_tracer();
	library_state_describe(out);
	read_clocks(BST_ENUM_CLOCK_REASON_FINISH);
	report_cost();
	output_meta(out, "end.reason", reason);
	output_meta_number(out, "end.time_ns", host_now());
	output_close(out);
	tracer_end();
	/* release: pairs with writer_finish */
	atomic_store_explicit(&finished, 1, memory_order_release);
	futex(&finished, FUTEX_WAKE, INT_MAX, NULL);
}

/* The end of a time window that was asked for. */
static void end_window(void)
{
	session_stop();
	tracer_stop();
	finish("duration");
}

static void *writer_main(void *unused)
{
	uint64_t start = host_now(), flushed = start, clocked = 0;
	const char *reason;

	(void)unused;
	prctl(PR_SET_NAME, "boundshim");
	output_flush(out); /* who this is, should the program be killed at once */
	while (!(reason = atomic_load_explicit(&finish_reason, memory_order_acquire))) {
		uint64_t now;

		sleep_on(&woken, 0, LOOK_NS);
		atomic_store_explicit(&woken, 0, memory_order_relaxed);
		now = host_now();
		drain_rings();
		tracer_drain(out);
		tracer_notice_rival();
		sampler_tend();
		if (now - clocked >= CLOCK_NS) {
			clocked = now;
			learn();
			read_clocks(BST_ENUM_CLOCK_REASON_PERIODIC);
			report_cost();
		}
		if (now - flushed >= FLUSH_NS) {
			flushed = now;
			flush(false);
		}
		trim();
		if (options.duration_ns && now - start >= options.duration_ns) {
			end_window();
			return NULL;
		}
	}
	finish(reason);
	return NULL;
}

int writer_start(const struct writer_options *with)
{
	options = *with;
	out = with->output;
	devices_known = false;
	tracer_told = 0;
	launches = 0;
	library_state_reset();
	atomic_store(&finish_reason, NULL);
	atomic_store(&finished, 0);
	if (encode_init(out) != 0 || activity_init() != 0)
		return -1;
	/* here, not in the thread: it reads the environment, which the program may be about to change */
	process_describe(out, with->env, with->start_ns);
	return spawn(writer_main);
}

bool writer_finish(const char *reason, uint64_t timeout_ns)
{
	uint64_t start = kernel_now();

	atomic_store_explicit(&finish_reason, reason, memory_order_release);
	atomic_store_explicit(&woken, 1, memory_order_release);
	futex(&woken, FUTEX_WAKE, 1, NULL);
	/* short naps: signals end them early, and what wakes us may have come before */
	while (!atomic_load_explicit(&finished, memory_order_acquire) &&
	       kernel_now() - start < timeout_ns)
		sleep_on(&finished, 0, 20000000);
	return atomic_load_explicit(&finished, memory_order_acquire) != 0;
}

void writer_forget(void)
{
	out = NULL;
	atomic_store(&finish_reason, NULL);
	atomic_store(&finished, 1);
}
