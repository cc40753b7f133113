/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/plan_kernel.h — what the first plan of an agent hands to the second. Private to this
 * folder. */
#pragma once

#include "isolation/plan.h"

/* Numbers of prepared mounts. */
enum {
	PREPARED_PROC,
	PREPARED_VIEWS = ISOLATION_PREPARED_VIEWS,
	PREPARED_CPU,
	PREPARED_CGROUP,
	PREPARED_WHOLE_PROC, /* the next three: of a sandbox in gVisor */
	PREPARED_OUTER,
	PREPARED_INNER,
	PREPARED_VOLUMES, /* the first of PREPARED_VOLUMES_MAX; of a sandbox in gVisor, too */
};
#define PREPARED_VOLUMES_MAX 8
