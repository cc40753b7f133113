/* SPDX-License-Identifier: Apache-2.0 */
/* store/summary.h — how many objects of each kind a project has. Two queries, of counts alone. */
#pragma once

#include <stdint.h>

#include "sandbox/sandbox.h"

struct error;
struct store;

struct summary_counts {
	int64_t templates; /* also those of the server */
	int64_t builds_running, volumes, snapshots, jobs_running, approvals_pending;
};
struct project_summary {
	int64_t sandboxes[SANDBOX_STATE_COUNT]; /* without deleted ones and those of builds */
	struct summary_counts counts;
};
MUST_CHECK int store_summary(struct store *s, const char *project_id, struct project_summary *ret,
                             struct error *err);
