/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/seccomp.h — the system-call filter of the api process. */
#pragma once

#include "base/error.h"

/* Makes running programs, forking, tracing, mounting and creating namespaces fail with EPERM, for
 * this thread and all threads that it starts. Needs no_new_privs. */
MUST_CHECK int seccomp_confine(struct error *err);
