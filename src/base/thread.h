/* SPDX-License-Identifier: Apache-2.0 */
/* base/thread.h — threads that block all signals, because the starting thread handles them; locks
 * that end with a scope; conditions whose deadlines are on the monotonic clock. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/error.h"

/* Like pthread_create: returns 0 or an errno. */
MUST_CHECK int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                            void *context);
/* Locks, and returns the mutex for AUTO(thread_unlock), which unlocks it when the scope ends. */
pthread_mutex_t *thread_lock(pthread_mutex_t *mutex);
void thread_unlock(pthread_mutex_t **mutex);
void thread_condition_init(pthread_cond_t *condition);
/* Waits on such a condition, until `deadline` (base/clock.h) at most. */
void thread_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline);
