/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/drafts.h — builds that were announced and may not have begun: E2B's clients are told
 * a build's id before they say what its steps are. Private to this folder and api.c.
 *
 * Kept in memory for an hour after the announcement, the newest of them: a build belongs to the
 * server that runs it anyway. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "fleet/build.h"

#define E2B_DRAFT_NAME_SIZE 64

struct e2b_draft {
	char id[ID_SIZE + 1], project_id[ID_SIZE + 1];
	char name[E2B_DRAFT_NAME_SIZE]; /* as it is called here */
	char also[BUILD_ALSO_MAX][E2B_DRAFT_NAME_SIZE];
	unsigned also_count;
	int64_t cpu, memory_mb, disk_mb; /* 0 = not given */
	int64_t made_at;                 /* monotonic ms */
	bool is_started;
	/* The client's step, from 1, of each of ours; 0 beyond. */
	uint8_t step_of[BUILD_STEPS_MAX];
};

struct e2b_drafts; /* made and freed as tables.h says */
/* In place of the one with its id, or of the oldest when there are too many. */
void e2b_draft_put(struct e2b_drafts *d, const struct e2b_draft *draft);
/* False when there is none, or not any more. */
bool e2b_draft_find(struct e2b_drafts *d, const char *project_id, const char *id,
                    struct e2b_draft *ret);
