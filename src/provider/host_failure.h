/* SPDX-License-Identifier: Apache-2.0 */
/* provider/host_failure.h — why a host cannot run a sandbox: finds a name and a cure by the errno
 * or code of an error. One table for /readyz and for creates. */
#pragma once

#include "base/error.h"

struct host_failure {
	int sys_errno;        /* 0 = any */
	enum error_code code; /* ERROR_NONE = any */
	const char *name;     /* "disk_full" */
	const char *cure;
};
/* NULL: not in the table. */
const struct host_failure *host_failure_find(const struct error *err);
/* Turns a create or start error that the host caused into ERROR_UNAVAILABLE with the cure; leaves
 * all other errors unchanged. */
void host_failure_explain(struct error *err);
