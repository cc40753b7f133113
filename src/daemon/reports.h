/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/reports.h — the ways by which network decisions come to the api process. The supervisor
 * owns them, so that reports wait while a process is restarted. */
#pragma once

#include "base/error.h"

struct report_ways {
	int gateway_fd; /* the gateway of host names writes here; -1 = none */
	int server_fd;  /* … and the api process reads here */
	int kernel_fd;  /* netlink: the kernel's log of packets; -1 = none */
	unsigned group; /* of that log, for the broker; 0 = none */
};
#define REPORT_WAYS_CLOSED ((struct report_ways){-1, -1, -1, 0})
/* Needs CAP_NET_ADMIN for the kernel's log. Without it, or on a kernel without such a log, group
 * stays 0 and `err` says why; it never fails otherwise. */
MUST_CHECK int report_ways_open(struct report_ways *ret, struct error *err);
void report_ways_close(struct report_ways *ways);
