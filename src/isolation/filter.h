/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/filter.h — the system calls that tasks may make. */
#pragma once

#include "base/error.h"

enum filter_kind {
	FILTER_NONE,
	/* Allows what work on files needs. Such a process starts no other one, makes no socket and
	 * no namespace, mounts nothing and loads nothing into the kernel. */
	FILTER_FILES,
	/* For programs that make namespaces or sockets: refuses other processes' memory, files by
	 * number, keys, and calls that change the kernel or the whole host. */
	FILTER_TOOLS,
	/* For tasks that start programs of the host: refuses the same, and mounts, namespaces and
	 * sockets. */
	FILTER_PROGRAMS,
};
/* Filters the calls of this process and of all that it starts. Needs no_new_privs or
 * CAP_SYS_ADMIN. */
MUST_CHECK int filter_load(enum filter_kind kind, struct error *err);
