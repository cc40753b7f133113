/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                 void *context)
{
	sigset_t all, before;
	int failed;

	/* The new thread inherits the signal mask. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(ret, attributes, run, context);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

pthread_mutex_t *thread_lock(pthread_mutex_t *mutex)
{
	(void)pthread_mutex_lock(mutex);
	return mutex;
}

void thread_unlock(pthread_mutex_t **mutex)
{
	(void)pthread_mutex_unlock(*mutex);
}

void thread_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(condition, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

void thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline)
{
	const struct timespec until = {.tv_sec = deadline / 1000,
	                               .tv_nsec = deadline % 1000 * 1000000};

	(void)pthread_cond_timedwait(condition, mutex, &until);
}
