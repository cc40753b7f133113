/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

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
