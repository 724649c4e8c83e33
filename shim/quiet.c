/* Blocks two signals, and takes back what the write in between has raised. */
#define _GNU_SOURCE
#include "quiet.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int signals[] = {SIGPIPE, SIGXFSZ};
#define COUNT (sizeof(signals) / sizeof(signals[0]))

void quiet_begin(struct quiet *quiet)
{
	int saved = errno;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < COUNT; i++)
		sigaddset(&set, signals[i]);
	sigemptyset(&quiet->pending);
	sigpending(&quiet->pending);
	pthread_sigmask(SIG_BLOCK, &set, &quiet->before);
	errno = saved;
}

void quiet_end(const struct quiet *quiet)
{
	struct timespec at_once = {0, 0};
	int saved = errno;
	sigset_t set;

	for (size_t i = 0; i < COUNT; i++) {
		sigemptyset(&set);
		sigaddset(&set, signals[i]);
		if (!sigismember(&quiet->pending, signals[i]))
			sigtimedwait(&set, NULL, &at_once);
	}
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
	errno = saved;
}
