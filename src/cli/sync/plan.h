/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/plan.h — from what is here, what is in the sandbox and what was there the last time to
 * what is to be done. Private to this folder. Pure: no files, no server. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"

/* One file as one side has it: whether it has changed is told by its text. */
struct sync_file {
	const char *path;
	int64_t size;
	bool is_program;
	const char *time; /* as that side tells it */
	bool was_seen;    /* by the plan */
};
struct sync_list {
	struct sync_file *items;
	size_t count, capacity;
	struct map by_path;
};
void sync_list_done(struct sync_list *l);
void sync_list_add(struct sync_list *l, const struct sync_file *file);
/* After the last one was added. */
void sync_list_index(struct sync_list *l);
struct sync_file *sync_list_find(const struct sync_list *l, const char *path);

/* Both sides as they were when they last were the same. */
struct sync_state {
	struct sync_list local, remote;
};

enum sync_step {
	SYNC_UP,
	SYNC_DOWN,
	SYNC_BOTH, /* both have it, and not as it was: the same bytes, or a conflict */
	SYNC_DELETE_HERE,
	SYNC_DELETE_THERE,
	SYNC_STEP_COUNT,
};
struct sync_action {
	enum sync_step step;
	const char *path;
	const struct sync_file *local, *remote; /* NULL: it has none */
};
struct sync_plan {
	struct sync_action *items;
	size_t count, capacity, counts[SYNC_STEP_COUNT];
};
void sync_plan_done(struct sync_plan *p);
/* The lists have to outlive the plan. */
void sync_plan_make(struct sync_plan *p, struct sync_list *local, struct sync_list *remote,
                    const struct sync_state *state);
/* By path, for qsort. */
int sync_file_compare(const void *a, const void *b);
bool sync_file_is_same(const struct sync_file *a, const struct sync_file *b);
/* A name that may be on both sides: valid UTF-8 without control characters, no part of it git's
 * own or ours, in whatever case. */
bool sync_path_is_fit(const char *path);
#define SYNC_PART_PREFIX ".atoll-sync-"
