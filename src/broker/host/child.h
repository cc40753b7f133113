/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/child.h — a process that does something slow for the broker: its own child, or a
 * program that atoll-launch has started.
 *
 * It dies with the broker. Its record is embedded in the object that it is about. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "broker/host/event.h"

struct host;

struct broker_child {
	struct fd_watch watch;
	pid_t pid; /* 0: not running */
	int pidfd;
	struct events *events;
	/* Set before the start: the child may call atoll-launch (host/launcher.h); NULL: not. */
	const struct host *host;
	bool is_program; /* a child of atoll-launch */
	/* `status` is 0 when the child has exited with 0, else -1. */
	void (*on_end)(struct broker_child *child, int status);
};

/* Forks. `run` is the child's whole life; its result becomes the exit status. */
MUST_CHECK int child_start(struct events *events, struct broker_child *child,
                           int (*run)(void *context), void *context, struct error *err);
struct program;
/* The same for a program (host/launcher.h); child->host is set. */
MUST_CHECK int child_start_program(struct events *events, struct broker_child *child,
                                   const struct program *program, struct error *err);
/* Kills and reaps the child; on_end is not called. Does nothing when it is not running. */
void child_cancel(struct broker_child *child);
