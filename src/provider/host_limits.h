/* SPDX-License-Identifier: Apache-2.0 */
/* provider/host_limits.h — limits that an operator or service manager has set on the server's own
 * processes: address space (RLIMIT_AS) and tasks (pids.max of a control group). The api process and
 * the broker have the same limits, so the api process reads its own. Any thread. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

/* The control group with the fewest free tasks among the own group and its ancestors. */
struct task_room {
	uint64_t used, max; /* max 0: no group limits tasks */
	char group[160];    /* the folder below /sys/fs/cgroup; its end when it is longer */
};

/* Private to the folder and its tests: `root` is /sys/fs/cgroup, `own` is /proc/self/cgroup. */
void task_room_find(const char *root, struct span own, struct task_room *ret);

/* ERROR_UNAVAILABLE with a hint when the address space is smaller than language runtimes reserve.
 * The limit also applies inside sandboxes. */
MUST_CHECK int host_limits_check_address_space(struct error *err);
/* ERROR_UNAVAILABLE with a hint when the group is close to its limit of tasks. */
MUST_CHECK int host_limits_check_tasks(struct error *err);
/* Adds a hint to an error of EAGAIN or ENOMEM without one: the limit that is the likely reason. */
void host_limits_explain(struct error *err);
