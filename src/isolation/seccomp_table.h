/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/seccomp_table.h — which system calls a sandbox may make. Private to this folder.
 *
 * Default-deny: a call that is not in the table does not exist (ENOSYS), so that a new kernel's
 * calls are refused until they are reviewed. */
#pragma once

enum seccomp_action {
	SECCOMP_UNKNOWN, /* ENOSYS */
	SECCOMP_ALLOW,
	SECCOMP_REFUSE, /* EPERM */
	/* decided by arguments; see seccomp_compile.c */
	SECCOMP_CLONE,
	SECCOMP_UNSHARE,
	SECCOMP_PERSONALITY,
	SECCOMP_SOCKET,
	SECCOMP_SOCKETPAIR,
	SECCOMP_IOCTL,
	SECCOMP_SCHEDULER,
	SECCOMP_PRLIMIT,
	SECCOMP_PRIORITY,
	SECCOMP_IO_PRIORITY,
	SECCOMP_ACTION_COUNT,
};

struct seccomp_row {
	enum seccomp_action action;
	const char *names; /* separated by blanks */
};
extern const struct seccomp_row seccomp_table[]; /* ends with names NULL */
