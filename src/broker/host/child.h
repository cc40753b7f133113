/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/child.h — a child process of the broker that does something slow.
 *
 * The child dies with the broker. Its record is embedded in the object that it is about. */
#pragma once

#include <sys/types.h>

#include "broker/host/event.h"

struct broker_child {
	struct fd_watch watch;
	pid_t pid; /* 0: not running */
	int pidfd;
	struct events *events;
	/* `status` is 0 when the child has exited with 0, else -1. */
	void (*on_end)(struct broker_child *child, int status);
};

/* Forks. `run` is the child's whole life; its result becomes the exit status. */
MUST_CHECK int child_start(struct events *events, struct broker_child *child,
                           int (*run)(void *context), void *context, struct error *err);
/* Called in a child: gives it the lowest priority for processor and disk. */
void child_give_way(void);
/* Kills and reaps the child; on_end is not called. Does nothing when it is not running. */
void child_cancel(struct broker_child *child);
