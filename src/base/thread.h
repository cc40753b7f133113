/* SPDX-License-Identifier: Apache-2.0 */
/* base/thread.h — threads that take no signals: these belong to the thread that starts them. */
#pragma once

#include <pthread.h>

#include "base/attribute.h"

/* As pthread_create: 0, or the errno of what failed. */
MUST_CHECK int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
                            void *context);
