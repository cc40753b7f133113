/* SPDX-License-Identifier: Apache-2.0 */
/* task/filter.h — the system calls that a task may make. */
#pragma once

#include "base/error.h"

enum filter_kind {
	FILTER_NONE,
	/* Allows what work on files needs. Such a process starts no other one, makes no socket and
	 * no namespace, mounts nothing and loads nothing into the kernel. */
	FILTER_FILES,
	/* For tasks that start programs of the host: refuses calls that such a program never makes,
	 * as for mounts, namespaces, sockets, other processes' memory and the kernel's own parts.
	 */
	FILTER_PROGRAMS,
};
/* Filters the calls of this process and of all that it starts. */
MUST_CHECK int filter_load(enum filter_kind kind, struct error *err);
