/* Making a thread that the program does not notice. */
#define _GNU_SOURCE
#include "spawn.h"

#include <pthread.h>
#include <signal.h>

int spawn(void *(*body)(void *))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	/* SIGXFSZ among them: a file size limit is an error of write, not the end of the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, body, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error ? -1 : 0;
}
