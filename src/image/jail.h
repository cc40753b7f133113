/* SPDX-License-Identifier: Apache-2.0 */
/* image/jail.h — where the programs run that read strangers' archives, and those that build.
 *
 * A jailed process has its own mount, pid and ipc namespaces, so it and all it started ends with
 * its first process and leaves no mount behind. A strict one sees the whole machine read-only but
 * for one folder, has no capability beyond those for owners and modes of files, gains none by
 * set-uid programs, and has a network only when it must fetch. It needs root. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct jail {
	int folder_fd; /* becomes JAIL_FOLDER and the working folder; -1 = none */
	bool strict;
	bool read_only; /* the folder, too */
	bool network;
	int network_fd; /* in place of that: the network namespace to be in; 0 = none */
	int source_fd;  /* becomes descriptor JAIL_SOURCE_FD; -1 = none */
	int output_fd;  /* becomes standard output and error */
	/* A folder to read: JAIL_READ_FD leads to a read-only mount of it; 0 = none. */
	int read_fd;
	/* What runs inside; returns the exit status. No other descriptor than these is open. */
	int (*run)(void *context);
	void *context;
};

#define JAIL_SOURCE_FD 3
#define JAIL_READ_FD 4
/* A fixed name, for the folder's own path leads through folders that others may rename meanwhile;
 * it exists on every system (FHS), and what lies there is hidden in the jail only. */
#define JAIL_FOLDER "/mnt"

/* The process dies with its parent. Its exit status is that of `run`. */
MUST_CHECK int jail_start(const struct jail *jail, pid_t *ret_pid, struct error *err);
