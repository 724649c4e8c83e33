/* Starting with the first CUDA activity, ending in time at exit, beginning anew in a forked child. */
#define _GNU_SOURCE
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "cudnn_graph.h"
#include "env.h"
#include "log.h"
#include "loss.h"
#include "names.h"
#include "output.h"
#include "process.h"
#include "real.h"
#include "sampler.h"
#include "shapes.h"
#include "spawn.h"
#include "thread.h"
#include "tracer.h"
#include "writer.h"

/* A launcher kills two to five seconds after it asked a process to end. */
#define EXIT_LIMIT_NS 2000000000u

_Atomic int session_state_now = SESSION_IDLE;
_Atomic int session_pending_now;

static pthread_mutex_t start_lock =
	PTHREAD_MUTEX_INITIALIZER; /* around starting; leaf but for what start calls */
static _Atomic int
	starter; /* the thread that holds it: a hook called from inside starting passes through */
static pid_t owner;
static _Atomic int injected;
static struct env settings;
static struct output *output;

static void set_state(enum session_state state)
{
	atomic_store_explicit(&session_state_now, state, memory_order_release);
}

/*
 * Registered twice: when tracing starts, and again after the first call that succeeded. Handlers run in reverse order, and the driver
 * registers its own in cuInit: only one registered later still finds CUPTI alive. The first to run does the work.
 */
static void at_exit(void)
{
	if (!session_recording() || getpid() != owner)
		return;
	set_state(SESSION_OFF);
	if (!writer_finish("exit", EXIT_LIMIT_NS))
		log_line(
			"%s: not finished within 2 s of exit; what was written until then is intact",
			output_path(output));
}

void session_stop(void)
{
	set_state(SESSION_OFF);
}

static int open_output(void)
{
	int64_t start_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	char host[256];
	struct output_options to = {
		.out = settings.out,
		.max_bytes = settings.max_bytes,
		.keep_newest = settings.keep_newest,
		.host = host,
		.rank = process_rank(),
		.start_ms = start_ns / 1000000,
	};
	struct writer_options writer = {
		.duration_ns = settings.duration_ns,
		.start_ns = start_ns,
		.env = &settings,
	};

	process_host(host, sizeof(host));
	loss_reset();
	if (names_init() != 0 || shapes_init() != 0) {
		log_line("no memory for the trace; nothing is recorded");
		return -1;
	}
	output = output_open(&to);
	if (!output)
		return -1;
	writer.output = output;
	if (writer_start(&writer) != 0) {
		log_line("cannot start the writer thread; nothing is recorded");
		output_abandon(output);
		return -1;
	}
	return 0;
}

static void go(void)
{
	if (open_output() != 0) {
		set_state(SESSION_OFF);
		return;
	}
	if (settings.mode == MODE_HOOKS)
		tracer_refuse("BOUNDSHIM_MODE=hooks");
	else if (settings.cupti_yield)
		tracer_refuse("BOUNDSHIM_CUPTI_YIELD=1");
	else if (tracer_state() == TRACER_UNTRIED)
		atomic_store(&session_pending_now, SESSION_WANTS_CUPTI);
	sampler_configure(settings.counters, settings.counter_interval_ns);
	if (tracer_state() == TRACER_OFF)
		sampler_refused(tracer_reason());
	atomic_fetch_or(&session_pending_now, SESSION_WANTS_EXIT);
	atexit(at_exit);
	set_state(SESSION_ON);
}

static void start_cupti(void)
{
	if (atomic_fetch_and(&session_pending_now, ~SESSION_WANTS_CUPTI) & SESSION_WANTS_CUPTI)
		tracer_start(settings.cupti);
}

static void *wait_and_go(void *unused)
{
	struct timespec ts = {.tv_sec = (time_t)(settings.delay_ns / 1000000000u),
			      .tv_nsec = (long)(settings.delay_ns % 1000000000u)};

	(void)unused;
	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
	pthread_mutex_lock(&start_lock);
	if (atomic_load(&session_state_now) == SESSION_WAITING && getpid() == owner)
		go();
	pthread_mutex_unlock(&start_lock);
	if (session_recording() && atomic_load(&injected))
		start_cupti();
	return NULL;
}

static void start(void)
{
	owner = getpid();
	if (getauxval(AT_SECURE)) {
		set_state(SESSION_OFF); /* a setuid program's environment is not to be trusted */
		return;
	}
	env_read(&settings);
	if (settings.mode == MODE_OFF) {
		set_state(SESSION_OFF);
		return;
	}
	if (!settings.delay_ns) {
		go();
		return;
	}
	set_state(SESSION_WAITING);
	if (spawn(wait_and_go) != 0)
		go();
}

bool session_begin(void)
{
	int me = (int)syscall(SYS_gettid), saved = errno;

	if (atomic_load_explicit(&starter, memory_order_relaxed) == me)
		return false;
	pthread_mutex_lock(&start_lock);
	atomic_store_explicit(&starter, me, memory_order_relaxed);
	if (atomic_load(&session_state_now) == SESSION_IDLE)
		start();
	atomic_store_explicit(&starter, 0, memory_order_relaxed);
	pthread_mutex_unlock(&start_lock);
	errno = saved;
	return session_recording();
}

void session_settle(void)
{
	int saved = errno;

	start_cupti();
	if (atomic_fetch_and(&session_pending_now, ~SESSION_WANTS_EXIT) & SESSION_WANTS_EXIT)
		atexit(at_exit);
	errno = saved;
}

void session_cupti_used(void)
{
	if (session_on())
		start_cupti();
}

void session_injected(void)
{
	int saved = errno;

	atomic_store(&injected, 1);
	if (session_on())
		start_cupti();
	errno = saved;
}

/* The child is inert until its own first CUDA call: no thread of ours runs in it, nothing of the parent's file is touched. */
static void in_child(void)
{
	bool used_cuda = atomic_load(&session_state_now) != SESSION_IDLE || atomic_load(&injected);

	pthread_mutex_init(&start_lock, NULL);
	atomic_store(&starter, 0);
	atomic_store(&session_pending_now, 0);
	atomic_store(&injected, 0);
	if (output)
		output_abandon(output);
	output = NULL;
	writer_forget();
	real_after_fork();
	names_after_fork();
	shapes_after_fork();
	cudnn_graph_after_fork();
	thread_forget_all();
	tracer_forget(used_cuda);
	set_state(SESSION_IDLE);
}

void session_exit_first(void)
{
	atexit(at_exit);
}

/*
 * The profiler part of CUPTI has static objects, made at their first use and destroyed at exit in the
 * reverse order: before any handler of ours that is older, and sampling in another thread then frees
 * twice (CUDA 13.0). exit() runs the calling thread's own destructors before all handlers, so what was
 * registered for the main thread comes first. It runs at pthread_exit of that thread too.
 */
static void main_thread_ends(void *unused)
{
	int saved = errno;

	(void)unused;
	if (session_recording() && getpid() == owner) {
		sampler_end();
		sampler_await();
	}
	errno = saved;
}

int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

void session_prepare(void)
{
	pthread_atfork(NULL, NULL, in_child);
	__cxa_thread_atexit_impl(main_thread_ends, NULL, &__dso_handle);
}
