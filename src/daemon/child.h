/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/child.h — one process that the supervisor keeps alive. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/identity.h"

#define CHILD_FDS_MAX 8

struct child {
	const char *name;
	int program_fd; /* executed by descriptor: the user may have no way to its path */
	const char **args, **env;
	int fds[CHILD_FDS_MAX]; /* that it inherits */
	unsigned fd_count;
	const struct identity *identity; /* NULL = as we are */
	int folder_fd;                   /* that it starts in; -1 = ours */
	int nice;                        /* where the machine lets us; 0 = as we are */

	pid_t pid;                      /* 0 = not running */
	int64_t started_ms, restart_ms; /* monotonic; restart_ms 0 = not due */
	unsigned failures;              /* since it last lived for a while */
};
MUST_CHECK int child_start(struct child *c, struct error *err);
/* It ended: says when to start it again, later after each time that it ended at once. */
void child_ended(struct child *c, int64_t now_ms);
void child_signal(const struct child *c, int signo);
