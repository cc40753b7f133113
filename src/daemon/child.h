/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/child.h — a process that the supervisor restarts when it dies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/identity.h"

#define CHILD_FDS_MAX 12

struct child {
	const char *name;
	int program_fd; /* executed by descriptor: the user may be unable to reach its path */
	const char **args, **env;
	int fds[CHILD_FDS_MAX]; /* that it inherits */
	unsigned fd_count;
	const struct identity *identity; /* NULL = the supervisor's */
	int folder_fd;                   /* its current folder; -1 = the supervisor's */
	int nice;                        /* applied if the machine allows it; 0 = unchanged */

	pid_t pid;                      /* 0 = not running */
	int64_t started_ms, restart_ms; /* monotonic; restart_ms 0 = no restart planned */
	unsigned failures;              /* since it last ran for a while */
};
MUST_CHECK int child_start(struct child *c, struct error *err);
/* Records its end and plans the restart; repeated quick ends delay it further. */
void child_ended(struct child *c, int64_t now_ms);
void child_signal(const struct child *c, int signo);
