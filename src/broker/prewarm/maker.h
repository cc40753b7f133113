/* SPDX-License-Identifier: Apache-2.0 */
/* broker/prewarm/maker.h — a child of the broker that makes some prewarmed sandboxes and ends. */
#pragma once

#include "broker/host/child.h"
#include "broker/prewarm/pool.h"

/* Seen from the broker; in the child: what it has to do. */
struct maker {
	struct list item;
	struct prewarm_pool *pool;
	struct broker_child child;
	struct fd_watch reports;
	int report_fd;
	enum prewarm_kind kind;
	struct prewarm *prewarms[MAKER_BATCH];
	unsigned count, done;
};

/* The child's report on a prewarmed sandbox, with the descriptors pidfd, ids_fd, stored_fd,
 * mounts_fd, net_fd and, if it could be made, root. */
struct maker_report {
	struct error err; /* ERROR_NONE: made */
	pid_t pid;
	uint64_t start_time;
	bool limited; /* the `limits` of the prewarmed sandbox are in force */
};

/* The child's whole life; `context` is the maker. */
int maker_run(void *context);
