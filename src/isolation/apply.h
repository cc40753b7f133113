/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/apply.h — applies a plan, in the agent. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct setup_plan;

/* Mounts that the first plan hands to the second, or a step to a later one. */
#define ISOLATION_PREPARED_MAX 15
struct isolation_prepared {
	int fds[ISOLATION_PREPARED_MAX]; /* -1: none */
};
#define ISOLATION_PREPARED_NONE                                                                    \
	((struct isolation_prepared){{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}})

/* Called once for each of the agent's two plans. `fds` are in the plan's order; the callee closes
 * them. */
MUST_CHECK int isolation_apply(const struct setup_plan *plan, const int *fds, unsigned fd_count,
                               struct isolation_prepared *prepared, struct error *err);
void isolation_prepared_close(struct isolation_prepared *prepared);

/* The set of capabilities that root inside may have; none of them reaches outside. */
uint64_t isolation_capabilities(void);
/* Loads the filter into the calling thread; needs CAP_SYS_ADMIN or no_new_privs. */
MUST_CHECK int seccomp_load(struct error *err);
