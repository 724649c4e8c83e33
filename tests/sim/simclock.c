/* libsimclock.so: virtual time for application threads, with the C library's clocks following it.
 *
 * An application thread has its own time, moved only by work, waits and barriers. It becomes one by
 * its first CUDA call or sim_* call, unless its code is that of a preloaded library. Every other thread (a tracer's) reads the latest time that any
 * application thread has reached, and really sleeps: deadlines that such a thread computed from the
 * virtual clock are translated to the machine's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"
#include "simclock.h"

/* Where virtual time begins, so that a timeline is the same in every run. */
#define EPOCH_REAL_NS 1700000000000000000u
#define EPOCH_MONO_NS 1000000000000u
#define NS 1000000000u
#define BARRIERS 64
#define ENDED 256

struct timeline {
	bool outside; /* a tracer's: it never becomes the application's */
	bool entered;
	bool hinted;
	uint64_t now_ns;
	uint64_t cpu_ns;
	long waits, preemptions;
};

static __thread struct timeline self;
static bool on;
static _Atomic uint64_t latest_ns;
static _Atomic uint64_t process_cpu_ns;
static _Atomic uint64_t step_at_ns = UINT64_MAX;
static _Atomic int64_t step_ns;

/* When threads ended, for those who join them. */
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_t thread;
	uint64_t at_ns;
} ended[ENDED];
static unsigned int ended_count;
static pthread_key_t ended_key;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned int arrived;
	unsigned int round;
	uint64_t latest_ns;
	uint64_t leave_ns;
} barriers[BARRIERS];

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
				  const struct timespec *);
static int (*real_sem_timedwait)(sem_t *, const struct timespec *);
static int (*real_sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*real_join)(pthread_t, void **);
static int (*real_getrusage)(__rusage_who_t, struct rusage *);

static uint64_t to_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS), (long)(ns % NS)};
}

static void remember_end(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&ended_lock);
	ended[ended_count % ENDED].thread = pthread_self();
	ended[ended_count++ % ENDED].at_ns = self.now_ns;
	pthread_mutex_unlock(&ended_lock);
}

__attribute__((constructor)) static void simclock_init(void)
{
	const char *mode = getenv("SIM_CLOCK");

	real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	real_clock_nanosleep = dlsym(RTLD_NEXT, "clock_nanosleep");
	/* dlsym alone would find the condition variables of 2002 (GLIBC_2.2.5). */
	real_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
	real_cond_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
	real_sem_timedwait = dlsym(RTLD_NEXT, "sem_timedwait");
	real_sem_clockwait = dlsym(RTLD_NEXT, "sem_clockwait");
	real_create = dlsym(RTLD_NEXT, "pthread_create");
	real_join = dlsym(RTLD_NEXT, "pthread_join");
	real_getrusage = dlsym(RTLD_NEXT, "getrusage");
	pthread_key_create(&ended_key, remember_end);
	for (unsigned int i = 0; i < BARRIERS; i++) {
		pthread_mutex_init(&barriers[i].lock, NULL);
		pthread_cond_init(&barriers[i].turn, NULL);
	}
	on = mode && !strcmp(mode, "virtual");
}

static void move_to(uint64_t ns)
{
	uint64_t seen = atomic_load_explicit(&latest_ns, memory_order_relaxed);

	if (ns > self.now_ns)
		self.now_ns = ns;
	while (seen < ns && !atomic_compare_exchange_weak(&latest_ns, &seen, ns))
		;
}

static void enter(void)
{
	if (self.entered || self.outside)
		return;
	self.entered = true;
	if (!self.hinted)
		self.now_ns = atomic_load(&latest_ns);
	pthread_setspecific(ended_key, &self);
}

static uint64_t elapsed(void)
{
	return self.entered ? self.now_ns : atomic_load_explicit(&latest_ns, memory_order_relaxed);
}

static uint64_t realtime(uint64_t ns)
{
	return ns + (ns >= atomic_load(&step_at_ns) ? (uint64_t)atomic_load(&step_ns) : 0);
}

static uint64_t virtual_now(void)
{
	return EPOCH_REAL_NS + elapsed();
}

static void virtual_work(uint64_t ns)
{
	enter();
	if (self.outside)
		return;
	self.cpu_ns += ns;
	atomic_fetch_add_explicit(&process_cpu_ns, ns, memory_order_relaxed);
	move_to(self.now_ns + ns);
}

static void virtual_sleep_until(uint64_t when_ns)
{
	enter();
	if (!self.outside && when_ns > EPOCH_REAL_NS + self.now_ns) {
		self.waits++;
		move_to(when_ns - EPOCH_REAL_NS);
	}
}

static void virtual_step(uint64_t at_ns, int64_t delta_ns)
{
	atomic_store(&step_ns, delta_ns);
	atomic_store(&step_at_ns, at_ns);
}

static uint64_t virtual_origin(void)
{
	return EPOCH_REAL_NS;
}

SIM_ENTRY const struct sim_clock sim_clock_virtual = {
	.is_virtual = true,
	.now = virtual_now,
	.enter = enter,
	.work = virtual_work,
	.sleep_until = virtual_sleep_until,
	.realtime = realtime,
	.step = virtual_step,
	.origin = virtual_origin,
};

static uint64_t machine_ns(clockid_t id)
{
	struct timespec t;

	syscall(SYS_clock_gettime, id, &t);
	return to_ns(&t);
}

static void machine_sleep(uint64_t ns)
{
	struct timespec t = to_timespec(ns);

	real_clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

SIM_ENTRY void sim_cpu_work(uint64_t ns)
{
	if (on) {
		virtual_work(ns);
		return;
	}
	for (uint64_t end = machine_ns(CLOCK_MONOTONIC) + ns; machine_ns(CLOCK_MONOTONIC) < end;)
		__builtin_ia32_pause();
}

SIM_ENTRY void sim_cpu_wait(uint64_t ns)
{
	if (on)
		virtual_sleep_until(virtual_now() + ns);
	else
		machine_sleep(ns);
}

SIM_ENTRY void sim_cpu_preempt(uint64_t ns)
{
	if (!on) {
		machine_sleep(ns);
		return;
	}
	enter();
	self.preemptions++;
	move_to(self.now_ns + ns);
}

SIM_ENTRY void sim_barrier(unsigned int id, unsigned int count)
{
	unsigned int round;

	enter();
	id %= BARRIERS;
	pthread_mutex_lock(&barriers[id].lock);
	if (self.now_ns > barriers[id].latest_ns)
		barriers[id].latest_ns = self.now_ns;
	round = barriers[id].round;
	if (++barriers[id].arrived == count) {
		barriers[id].arrived = 0;
		barriers[id].round++;
		barriers[id].leave_ns = barriers[id].latest_ns;
		barriers[id].latest_ns = 0;
		pthread_cond_broadcast(&barriers[id].turn);
	} else {
		while (barriers[id].round == round)
			pthread_cond_wait(&barriers[id].turn, &barriers[id].lock);
	}
	move_to(barriers[id].leave_ns);
	pthread_mutex_unlock(&barriers[id].lock);
}

SIM_ENTRY uint64_t sim_elapsed(void)
{
	return elapsed();
}

/* Zero for a clock that stays the machine's. */
static uint64_t virtual_clock(clockid_t id)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return realtime(EPOCH_REAL_NS + elapsed());
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		return EPOCH_MONO_NS + elapsed();
	case CLOCK_THREAD_CPUTIME_ID:
		return self.entered ? self.cpu_ns + 1 : 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		return atomic_load(&process_cpu_ns) + 1;
	default:
		return 0;
	}
}

SIM_ENTRY int clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns = on ? virtual_clock(id) : 0;

	if (!ns) {
		if (!real_clock_gettime)
			return (int)syscall(SYS_clock_gettime, id, t);
		return real_clock_gettime(id, t);
	}
	*t = to_timespec(ns);
	return 0;
}

SIM_ENTRY int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec t;

	(void)tz;
	clock_gettime(CLOCK_REALTIME, &t);
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

SIM_ENTRY time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}

SIM_ENTRY int getrusage(__rusage_who_t who, struct rusage *usage)
{
	int ret = real_getrusage(who, usage);

	if (!ret && on && who == RUSAGE_THREAD && self.entered) {
		usage->ru_utime.tv_sec = (time_t)(self.cpu_ns / NS);
		usage->ru_utime.tv_usec = (suseconds_t)(self.cpu_ns % NS / 1000);
		usage->ru_stime = (struct timeval){0, 0};
		usage->ru_nvcsw = self.waits;
		usage->ru_nivcsw = self.preemptions;
	}
	return ret;
}

SIM_ENTRY int clock_nanosleep(clockid_t id, int flags, const struct timespec *want,
			      struct timespec *left)
{
	uint64_t now = on ? virtual_clock(id) : 0;
	uint64_t ns = to_ns(want);

	if (!now)
		return real_clock_nanosleep(id, flags, want, left);
	if (flags & TIMER_ABSTIME)
		ns = ns > now ? ns - now : 0;
	if (self.entered)
		virtual_sleep_until(virtual_now() + ns);
	else
		machine_sleep(ns);
	return 0;
}

SIM_ENTRY int nanosleep(const struct timespec *want, struct timespec *left)
{
	int err = clock_nanosleep(CLOCK_MONOTONIC, 0, want, left);

	if (!err)
		return 0;
	errno = err;
	return -1;
}

SIM_ENTRY int usleep(useconds_t us)
{
	struct timespec t = to_timespec((uint64_t)us * 1000);

	return nanosleep(&t, NULL);
}

SIM_ENTRY unsigned int sleep(unsigned int s)
{
	struct timespec t = {(time_t)s, 0};

	nanosleep(&t, NULL);
	return 0;
}

/* A deadline on the virtual clock becomes the same distance on the machine's. */
static struct timespec machine_deadline(clockid_t id, const struct timespec *deadline)
{
	uint64_t now = virtual_clock(id);
	uint64_t ns = to_ns(deadline);

	return to_timespec(machine_ns(id) + (ns > now ? ns - now : 0));
}

SIM_ENTRY int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t id,
				     const struct timespec *deadline)
{
	struct timespec t = on ? machine_deadline(id, deadline) : *deadline;

	return real_cond_clockwait(cond, lock, id, &t);
}

SIM_ENTRY int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				     const struct timespec *deadline)
{
	struct timespec t = *deadline;

	/* The condition variable's clock is not readable: tell it by the distance of the epochs. */
	if (on)
		t = machine_deadline(to_ns(deadline) > EPOCH_REAL_NS / 2 ? CLOCK_REALTIME
									 : CLOCK_MONOTONIC,
				     deadline);
	return real_cond_timedwait(cond, lock, &t);
}

SIM_ENTRY int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict deadline)
{
	struct timespec t = on ? machine_deadline(CLOCK_REALTIME, deadline) : *deadline;

	return real_sem_timedwait(sem, &t);
}

SIM_ENTRY int sem_clockwait(sem_t *restrict sem, clockid_t id,
			    const struct timespec *restrict deadline)
{
	struct timespec t = on ? machine_deadline(id, deadline) : *deadline;

	return real_sem_clockwait(sem, id, &t);
}

struct beginning {
	void *(*run)(void *);
	void *arg;
	uint64_t at_ns;
};

/* Is this the code of a library in LD_PRELOAD? */
static bool is_preloaded(void *(*run)(void *))
{
	const char *preloaded = getenv("LD_PRELOAD");
	Dl_info info;

	return preloaded && dladdr(*(void **)&run, &info) && info.dli_fname &&
	       strstr(preloaded, info.dli_fname);
}

static void *begin_thread(void *arg)
{
	struct beginning begin = *(struct beginning *)arg;

	free(arg);
	self.outside = is_preloaded(begin.run);
	self.hinted = true;
	self.now_ns = begin.at_ns;
	return begin.run(begin.arg);
}

SIM_ENTRY int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
			     void *(*run)(void *), void *restrict arg)
{
	struct beginning *begin;
	int err;

	if (!real_create)
		real_create = dlsym(RTLD_NEXT, "pthread_create");
	begin = on ? malloc(sizeof(*begin)) : NULL;
	if (!begin)
		return real_create(thread, attr, run, arg);
	*begin = (struct beginning){run, arg, elapsed()};
	err = real_create(thread, attr, begin_thread, begin);
	if (err)
		free(begin);
	return err;
}

SIM_ENTRY int pthread_join(pthread_t thread, void **result)
{
	int err;

	if (!real_join)
		real_join = dlsym(RTLD_NEXT, "pthread_join");
	err = real_join(thread, result);
	if (err || !on || !self.entered)
		return err;
	pthread_mutex_lock(&ended_lock);
	for (unsigned int i = 0; i < ENDED && i < ended_count; i++) {
		unsigned int at = (ended_count - 1 - i) % ENDED;

		if (pthread_equal(ended[at].thread, thread)) {
			virtual_sleep_until(EPOCH_REAL_NS + ended[at].at_ns);
			break;
		}
	}
	pthread_mutex_unlock(&ended_lock);
	return err;
}
