/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/seccomp.h — the system-call filters of the processes that parse bytes of strangers. */
#pragma once

#include <seccomp.h>
#include <stddef.h>

#include "base/error.h"

/* Makes a filter, calls add_rules with it and context, and loads it for this thread and all threads
 * that it starts. add_rules returns 0 or a negative errno, as libseccomp does. Needs no_new_privs.
 */
MUST_CHECK int seccomp_apply(uint32_t default_action,
                             int (*add_rules)(scmp_filter_ctx filter, const void *context),
                             const void *context, struct error *err);

/* For add_rules: allows the system calls of the list, and abort(). */
MUST_CHECK int seccomp_allow(scmp_filter_ctx filter, const int *calls, size_t count);

/* The filter of the api process. Makes running programs, forking, tracing, mounting and creating
 * namespaces fail with EPERM, for this thread and all threads that it starts. Needs no_new_privs.
 */
MUST_CHECK int seccomp_confine(struct error *err);
