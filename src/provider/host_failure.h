/* SPDX-License-Identifier: Apache-2.0 */
/* provider/host_failure.h — why a host cannot run a sandbox: a code for machines and a cure, by the
 * errno or the code of an error. One table for /readyz and for creates. */
#pragma once

#include "base/error.h"

struct host_failure {
	int sys_errno;        /* 0 = any */
	enum error_code code; /* ERROR_NONE = any */
	const char *name;     /* "disk_full" */
	const char *cure;
};
/* NULL: the table has no such failure. */
const struct host_failure *host_failure_find(const struct error *err);
/* An error of making or starting a sandbox that is the host's, and not the client's, becomes
 * ERROR_UNAVAILABLE with its cure; all others stay as they are. */
void host_failure_explain(struct error *err);
