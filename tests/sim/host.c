/* The driver's thread that runs host functions, each at its place in time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "gpu.h"

struct job {
	struct job *next;
	CUhostFn function;
	void *data;
	uint64_t at_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static bool started;
static unsigned int running;
static pthread_t worker;

static void *host_worker(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct job *job = jobs;
		uint64_t now = sim_clock->now();

		if (!job) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		if (!sim_clock->is_virtual && job->at_ns > now) {
			struct timespec t = {(time_t)(job->at_ns / 1000000000u),
					     (long)(job->at_ns % 1000000000u)};

			pthread_cond_timedwait(&changed, &lock, &t);
			continue;
		}
		jobs = job->next;
		running++;
		pthread_mutex_unlock(&lock);
		job->function(job->data);
		free(job);
		pthread_mutex_lock(&lock);
		running--;
		pthread_cond_broadcast(&changed);
	}
	return arg;
}

void host_run(CUhostFn function, void *data, uint64_t at_ns)
{
	struct job *job = malloc(sizeof(*job));
	struct job **tail = &jobs;

	if (!job)
		abort();
	*job = (struct job){NULL, function, data, at_ns};
	pthread_mutex_lock(&lock);
	if (!started) {
		started = true;
		if (pthread_create(&worker, NULL, host_worker, NULL))
			abort();
		pthread_detach(worker);
	}
	while (*tail && (*tail)->at_ns <= at_ns)
		tail = &(*tail)->next;
	job->next = *tail;
	*tail = job;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Returns when all functions due by now have returned: what a synchronising call promises. */
void host_drain(void)
{
	pthread_mutex_lock(&lock);
	while (started && (running || (jobs && jobs->at_ns <= sim_clock->now())))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}
