/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/seccomp.h — what the api process can never do. Private to this folder. */
#pragma once

#include "base/error.h"

/* Refuses, with EPERM, to run programs, to fork, to trace, to mount and to make namespaces; for
 * this thread and all that it starts. Needs no_new_privs. */
MUST_CHECK int seccomp_confine(struct error *err);
