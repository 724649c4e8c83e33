/*
 * The life of tracing in this process: idle until the first CUDA activity, then on, then off for good. A forked child begins anew.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdatomic.h>
#include <stdbool.h>

enum session_state {
	SESSION_IDLE,    /* no CUDA activity yet */
	SESSION_WAITING, /* for the end of BOUNDSHIM_DELAY_S; hooks pass through */
	SESSION_ON,
	SESSION_OFF, /* by request, by failure, or at the end: hooks pass through */
};

extern _Atomic int session_state_now;

/* Slow path of session_on. */
bool session_begin(void);

/* Is this call to be recorded? The first one of the process starts the session. Any thread. */
static inline bool session_on(void)
{
	/* acquire: pairs with the release in session_begin; whoever sees ON sees the session */
	int state = atomic_load_explicit(&session_state_now, memory_order_acquire);

	if (__builtin_expect(state == SESSION_ON, 1))
		return true;
	return state == SESSION_IDLE ? session_begin() : false;
}

/* On already? Never starts anything. */
static inline bool session_recording(void)
{
	return atomic_load_explicit(&session_state_now, memory_order_acquire) == SESSION_ON;
}

/* What is left to do at the next successful call. */
enum session_pending {
	SESSION_WANTS_CUPTI = 1, /* CUPTI has not been started inside cuInit */
	SESSION_WANTS_EXIT = 2,  /* the exit handler goes in front of the driver's */
};

extern _Atomic int session_pending_now;

/* Slow path of session_called. */
void session_settle(void);

/*
 * A call into CUDA returned. CUPTI is normally started inside cuInit (InitializeInjection); where that variable belongs to
 * another tool, the first successful call starts it.
 */
static inline void session_called(bool succeeded)
{
	if (__builtin_expect(atomic_load_explicit(&session_pending_now, memory_order_relaxed), 0) &&
	    succeeded)
		session_settle();
}

/* Recording ends, hooks pass through from now on. Any thread. */
void session_stop(void);

/*
 * The program calls CUPTI, perhaps before CUDA: ours starts first, if it is to start at all, so that it can be shared. Any thread.
 */
void session_cupti_used(void);

/* The driver loaded us during cuInit: start CUPTI now. */
void session_injected(void);

/*
 * Something that registers exit handlers of its own was used for the first time: ours goes in front
 * of them. Any thread, a few times in a process.
 */
void session_exit_first(void);

/* Registers for fork and for the end of the main thread; the constructor's only call into here. */
void session_prepare(void);

#endif
