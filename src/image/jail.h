/* SPDX-License-Identifier: Apache-2.0 */
/* image/jail.h — the jail in which programs read untrusted archives and build templates. A jailed
 * process has its own mount, pid and ipc namespaces. So it ends with all that it started when its
 * first process ends, and leaves no mount behind. A strict jail sees the whole machine read-only
 * except for one folder. It has only the capabilities for owners and modes of files, gains none by
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
	int network_fd; /* the network namespace to enter, instead of `network`; 0: none */
	int source_fd;  /* becomes descriptor JAIL_SOURCE_FD; -1 = none */
	int output_fd;  /* becomes standard output and error */
	/* A folder to read: JAIL_READ_FD is a read-only mount of it; 0: none. */
	int read_fd;
	/* Runs inside and returns the exit status. No other descriptor is open. */
	int (*run)(void *context);
	void *context;
};

#define JAIL_SOURCE_FD 3
#define JAIL_READ_FD 4
/* A fixed name, because other users may rename parts of the folder's own path. The folder exists on
 * every system (FHS), and what lies there is hidden in the jail only. */
#define JAIL_FOLDER "/mnt"

/* The process dies with its parent. Its exit status is the result of `run`. */
MUST_CHECK int jail_start(const struct jail *jail, pid_t *ret_pid, struct error *err);
