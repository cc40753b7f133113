/* SPDX-License-Identifier: Apache-2.0 */
/* store/volumes.h — storage that outlives sandboxes, and which sandbox has it where. Any thread;
 * see store.h.
 *
 * A mount holds its volume as long as its sandbox is there, stopped ones included, and neither
 * deleted nor failed. One sandbox may have a volume to write, or any number to read. */
#pragma once

#include "store/store.h"

enum volume_state {
	VOLUME_MAKING,   /* recorded; what stores it may be half made */
	VOLUME_READY,    /* may be attached */
	VOLUME_DELETING, /* what stores it is going or gone */
	VOLUME_STATE_COUNT,
};
const char *volume_state_name(enum volume_state state);

struct volume_record {
	const char *id, *project_id, *name; /* the name is unique in its project */
	const char *provider, *node;        /* which has it, and on which server */
	int64_t size_mb;
	bool size_is_advisory; /* nothing enforces it */
	enum volume_state state;
	int64_t created_at, updated_at, version;
};
struct volume_list {
	struct volume_record *items;
	size_t count;
};

/* With a sandbox that runs it is done step by step: whoever finds what nobody finished does. */
enum mount_state {
	MOUNT_ATTACHED,
	MOUNT_ATTACHING, /* it may or may not be there yet */
	MOUNT_DETACHING, /* it may or may not be there still */
	MOUNT_STATE_COUNT,
};
const char *mount_state_name(enum mount_state state);

/* The names and the sandbox's state are only read. */
struct mount_record {
	const char *sandbox_id, *volume_id, *path;
	const char *subpath; /* "" = all of the volume; NULL = so, too, when it is inserted */
	bool is_read_only;
	enum mount_state state;
	int64_t created_at;
	const char *volume_name, *sandbox_name;
	enum sandbox_state sandbox_state;
};
struct mount_list {
	struct mount_record *items;
	size_t count;
};

/* ERROR_CONFLICT when the name is taken; ERROR_LIMIT when the project has volumes_max. */
MUST_CHECK int store_volume_insert(struct store *s, const struct volume_record *r,
                                   unsigned volumes_max, struct error *err);
/* By id or name in the project; project NULL = any, by id. */
MUST_CHECK int store_volume_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *id_or_name, struct volume_record *ret,
                                 struct error *err);
/* By name; project NULL = all, oldest first. */
MUST_CHECK int store_volume_list(struct store *s, struct arena *a, const char *project_id,
                                 struct volume_list *ret, struct error *err);
struct volume_move {
	const char *id;
	enum volume_state from, to;
	bool size_is_advisory; /* with READY */
	int64_t size_mb;       /* more than it had, or 0 = as it is */
	int64_t now;
};
/* Compare and set; from READY to READY changes the size alone. To DELETING: ERROR_CONFLICT, naming
 * one that has it, while it is attached. */
MUST_CHECK int store_volume_move(struct store *s, struct arena *a, const struct volume_move *move,
                                 struct volume_record *ret, struct error *err);
/* One that is DELETING, with what is left of its mounts. */
MUST_CHECK int store_volume_remove(struct store *s, const char *id, struct error *err);

/* Attaches: all of them or none. ERROR_CONFLICT names who has a volume, or what else is at a path.
 */
MUST_CHECK int store_mounts_insert(struct store *s, const struct mount_record *mounts, size_t count,
                                   struct error *err);
struct mount_move {
	const char *sandbox_id, *volume_id;
	enum mount_state from, to;
};
/* Compare and set: ERROR_CONFLICT when it is otherwise. */
MUST_CHECK int store_mount_move(struct store *s, const struct mount_move *move, struct error *err);
/* ERROR_NOT_FOUND when it was not attached. */
MUST_CHECK int store_mount_remove(struct store *s, const char *sandbox_id, const char *volume_id,
                                  struct error *err);
MUST_CHECK int store_mounts_of_sandbox(struct store *s, struct arena *a, const char *sandbox_id,
                                       struct mount_list *ret, struct error *err);
/* Those that are not ATTACHED. */
MUST_CHECK int store_mounts_unfinished(struct store *s, struct arena *a, struct mount_list *ret,
                                       struct error *err);
/* Those that hold it. */
MUST_CHECK int store_mounts_of_volume(struct store *s, struct arena *a, const char *volume_id,
                                      struct mount_list *ret, struct error *err);
MUST_CHECK int store_mounts_of_project(struct store *s, struct arena *a, const char *project_id,
                                       struct mount_list *ret, struct error *err);
/* Drops the mounts of deleted sandboxes, and tells that. */
MUST_CHECK int store_mounts_tidy(struct store *s, struct error *err);
