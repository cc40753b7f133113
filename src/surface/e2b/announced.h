/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/announced.h — announced builds: E2B's clients get a build's id before they send its
 * steps.
 *
 * The newest announcements are kept in memory, each for an hour. They need not survive a restart,
 * because a build belongs to the server that runs it. Functions may be called on any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "fleet/build/build.h"

#define E2B_BUILD_NAME_SIZE 64

struct e2b_announced_build {
	char id[ID_SIZE + 1];
	char project_id[ID_SIZE + 1];
	char name[E2B_BUILD_NAME_SIZE];                 /* the template's name in the store */
	char also[BUILD_ALSO_MAX][E2B_BUILD_NAME_SIZE]; /* further names of the template */
	unsigned also_count;
	int64_t cpu;       /* 0 = not given */
	int64_t memory_mb; /* 0 = not given */
	int64_t disk_mb;   /* 0 = not given */
	int64_t made_at;   /* monotonic ms */
	bool is_started;
	/* For each step of the build, the number of the client's step, from 1; 0 = no such step. */
	uint8_t step_of[BUILD_STEPS_MAX];
};

struct e2b_announced_builds;
struct e2b_announced_builds *e2b_announced_builds_new(void);
void e2b_announced_builds_free(struct e2b_announced_builds *builds); /* NULL is fine */

/* Replaces the entry with the same id; if there is none and the table is full, the oldest one. */
void e2b_announced_build_put(struct e2b_announced_builds *builds,
                             const struct e2b_announced_build *build);
/* Returns false if the project has announced no such build within the last hour. */
bool e2b_announced_build_find(struct e2b_announced_builds *builds, const char *project_id,
                              const char *id, struct e2b_announced_build *ret);
