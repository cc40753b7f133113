/* SPDX-License-Identifier: Apache-2.0 */
/* store/volumes.h — volumes: storage that outlives sandboxes, and where sandboxes mount it.
 *
 * A mount holds its volume while its sandbox exists, even stopped, and is neither deleted nor
 * failed. A volume may be mounted writable by a single sandbox, or read-only by any number; that of
 * a workspace may be mounted by any number in either way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct store;

enum volume_state {
	VOLUME_MAKING,   /* recorded; its storage may be incomplete */
	VOLUME_READY,    /* may be attached */
	VOLUME_DELETING, /* its storage is being removed or is gone */
	VOLUME_STATE_COUNT,
};
const char *volume_state_name(enum volume_state state);

struct volume_record {
	const char *id, *project_id, *name; /* name: unique in the project */
	const char *provider, *node;        /* provider and server that have it */
	int64_t size_mb;
	bool size_is_advisory; /* the size is not enforced */
	enum volume_state state;
	int64_t created_at, updated_at, version;
	const char *workspace; /* "": none, as is NULL when inserted */
};
struct volume_list {
	struct volume_record *items;
	size_t count;
};

/* In a running sandbox, attaching and detaching take several steps; any server finishes an
 * interrupted one. */
enum mount_state {
	MOUNT_ATTACHED,
	MOUNT_ATTACHING, /* the mount may not exist yet */
	MOUNT_DETACHING, /* the mount may still exist */
	MOUNT_STATE_COUNT,
};
const char *mount_state_name(enum mount_state state);

/* The names and sandbox_state are read-only. */
struct mount_record {
	const char *sandbox_id, *volume_id, *path;
	const char *subpath; /* "" = the whole volume; NULL when inserted = "" */
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

/* ERROR_CONFLICT when the name is taken; ERROR_LIMIT when the project has volumes_max volumes. */
MUST_CHECK int store_volume_insert(struct store *s, const struct volume_record *r,
                                   unsigned volumes_max, struct error *err);
/* Finds by id or name in the project; project NULL = any, by id. */
MUST_CHECK int store_volume_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *id_or_name, struct volume_record *ret,
                                 struct error *err);
/* Sorted by name; project NULL = all, oldest first. */
MUST_CHECK int store_volume_list(struct store *s, struct arena *a, const char *project_id,
                                 struct volume_list *ret, struct error *err);
struct volume_move {
	const char *id;
	enum volume_state from, to;
	bool size_is_advisory; /* with READY */
	int64_t size_mb;       /* larger than before, or 0 = unchanged */
	int64_t now;
};
/* Compare and set; READY to READY changes only the size. To DELETING: ERROR_CONFLICT names a
 * sandbox that has it attached. */
MUST_CHECK int store_volume_move(struct store *s, struct arena *a, const struct volume_move *move,
                                 struct volume_record *ret, struct error *err);
/* Removes a DELETING volume with its remaining mounts. */
MUST_CHECK int store_volume_remove(struct store *s, const char *id, struct error *err);

/* Attaches all volumes or none. ERROR_CONFLICT names the sandbox that holds a volume, or the mount
 * at the same path. */
MUST_CHECK int store_mounts_insert(struct store *s, const struct mount_record *mounts, size_t count,
                                   struct error *err);
struct mount_move {
	const char *sandbox_id, *volume_id;
	enum mount_state from, to;
};
/* Compare and set: ERROR_CONFLICT when the state is not `from`. */
MUST_CHECK int store_mount_move(struct store *s, const struct mount_move *move, struct error *err);
/* ERROR_NOT_FOUND when the volume is not attached. */
MUST_CHECK int store_mount_remove(struct store *s, const char *sandbox_id, const char *volume_id,
                                  struct error *err);
MUST_CHECK int store_mounts_of_sandbox(struct store *s, struct arena *a, const char *sandbox_id,
                                       struct mount_list *ret, struct error *err);
/* Mounts that are not ATTACHED. */
MUST_CHECK int store_mounts_unfinished(struct store *s, struct arena *a, struct mount_list *ret,
                                       struct error *err);
/* Mounts that hold the volume. */
MUST_CHECK int store_mounts_of_volume(struct store *s, struct arena *a, const char *volume_id,
                                      struct mount_list *ret, struct error *err);
MUST_CHECK int store_mounts_of_project(struct store *s, struct arena *a, const char *project_id,
                                       struct mount_list *ret, struct error *err);
/* Drops the mounts of deleted sandboxes and adds events. */
MUST_CHECK int store_mounts_tidy(struct store *s, struct error *err);
