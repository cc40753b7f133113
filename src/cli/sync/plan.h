/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/plan.h — computes the actions of a sync from the local files, the sandbox's files and
 * the state after the last sync. Pure: no files, no server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/map.h"

/* A file on one side. Changes are detected by comparing the time as text. */
struct sync_file {
	const char *path;
	int64_t size;
	bool is_program;
	const char *time; /* as that side reports it */
	bool was_seen;    /* set by the plan */
};
struct sync_list {
	struct sync_file *items;
	size_t count, capacity;
	struct map by_path;
};
void sync_list_done(struct sync_list *l);
void sync_list_add(struct sync_list *l, const struct sync_file *file);
/* Call after the last sync_list_add. */
void sync_list_index(struct sync_list *l);
struct sync_file *sync_list_find(const struct sync_list *l, const char *path);

/* Both sides after the last sync. */
struct sync_state {
	struct sync_list local, remote;
};

enum sync_step {
	SYNC_UP,
	SYNC_DOWN,
	SYNC_BOTH, /* both sides changed: equal bytes or a conflict */
	SYNC_DELETE_HERE,
	SYNC_DELETE_THERE,
	SYNC_STEP_COUNT,
};
struct sync_action {
	enum sync_step step;
	const char *path;
	const struct sync_file *local, *remote; /* NULL = missing on that side */
};
struct sync_plan {
	struct sync_action *items;
	size_t count, capacity, counts[SYNC_STEP_COUNT];
};
void sync_plan_done(struct sync_plan *p);
/* The lists must outlive the plan. */
void sync_plan_make(struct sync_plan *p, struct sync_list *local, struct sync_list *remote,
                    const struct sync_state *state);
/* Compares paths, for qsort. */
int sync_file_compare(const void *a, const void *b);
bool sync_file_is_same(const struct sync_file *a, const struct sync_file *b);
/* Whether a name may exist on both sides: valid UTF-8 without control characters, and no part that
 * belongs to git or to sync, in any case. */
bool sync_path_is_fit(const char *path);
#define SYNC_PART_PREFIX ".atoll-sync-"
