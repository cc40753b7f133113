/* SPDX-License-Identifier: Apache-2.0 */
/* base/thread.h — threads that block all signals; the starting thread handles them. */
#pragma once

#include <pthread.h>

#include "base/attribute.h"

/* Like pthread_create: returns 0 or an errno. */
MUST_CHECK int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                            void *context);
