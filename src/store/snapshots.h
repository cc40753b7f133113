/* SPDX-License-Identifier: Apache-2.0 */
/* store/snapshots.h — snapshots, and which sandboxes were made from which. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct sandbox_list;
struct sandbox_record;
struct store;

/* Recovery finishes a MAKING or REMOVING row whose maker is gone. LOST: its files disappeared
 * without a request. */
enum snapshot_state { SNAPSHOT_MAKING, SNAPSHOT_READY, SNAPSHOT_REMOVING, SNAPSHOT_LOST };
const char *snapshot_state_name(enum snapshot_state state);
/* TAKEN: requested by a user. LAYER: the result of a build step, see builds.h; kept while the cache
 * or a template uses it. */
enum snapshot_kind { SNAPSHOT_TAKEN, SNAPSHOT_LAYER, SNAPSHOT_KIND_COUNT };
const char *snapshot_kind_name(enum snapshot_kind kind);

struct snapshot_record {
	const char *id, *project_id;
	const char *name; /* unique in the project */
	const char *sandbox_id, *sandbox_name;
	const char *parent_id; /* snapshot below the sandbox when it was taken; "" = its template */
	const char *template_id, *template_name, *provider;
	const char *node; /* the server that has it, as in sandbox_record */
	enum snapshot_state state;
	const char *method, *because; /* see docs/use/snapshots.md */
	int64_t depth, frozen_us, created_at;
	enum snapshot_kind kind;
};
struct snapshot_list {
	struct snapshot_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

/* ERROR_CONFLICT when the name is taken, ERROR_LIMIT when the project has project_max snapshots
 * already, without layers. */
MUST_CHECK int store_snapshot_insert(struct store *s, const struct snapshot_record *r,
                                     unsigned project_max, struct error *err);
/* Finds by id or name. project_id NULL = any project, by id. */
MUST_CHECK int store_snapshot_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *id_or_name, struct snapshot_record *ret,
                                   struct error *err);
struct snapshot_filter {
	const char *project_id, *sandbox_id, *node; /* NULL = all */
	const char *page;                           /* next_page of the previous page, or NULL */
	unsigned limit;                             /* 1..1000 */
	bool with_layers;                           /* false: only TAKEN snapshots */
};
/* Newest first. */
MUST_CHECK int store_snapshot_list(struct store *s, struct arena *a,
                                   const struct snapshot_filter *filter, struct snapshot_list *ret,
                                   struct error *err);
/* Writes state, method, because, depth and frozen_us. When it becomes READY, its sandbox, if it
 * exists, lies on it. */
MUST_CHECK int store_snapshot_update(struct store *s, const struct snapshot_record *r, bool is_lazy,
                                     struct error *err);
/* No error without a row. */
MUST_CHECK int store_snapshot_remove(struct store *s, const char *id, struct error *err);

struct snapshot_base {
	const char *sandbox_id;
	const char *snapshot_id; /* below the files of the sandbox; "" = none */
	const char *origin_id;   /* as sandbox_insertion.origin; "" = none: its template */
};
MUST_CHECK int store_snapshot_base(struct store *s, struct arena *a, const char *sandbox_id,
                                   struct snapshot_base *ret, struct error *err);
MUST_CHECK int store_snapshot_set_base(struct store *s, const char *sandbox_id,
                                       const char *snapshot_id, struct error *err);
/* A fork is a sandbox made of a snapshot whose name is its id, as fleet_fork takes it. The relation
 * is lost with that snapshot. */
#define STORE_FORKS_MAX 1000
struct fork_search {
	const char *project_id, *sandbox_id;
	int64_t with_deleted; /* 1 = include deleted sandboxes while lists show them */
	int64_t limit;        /* at most STORE_FORKS_MAX */
};
/* The forks of a sandbox, oldest first. */
MUST_CHECK int store_sandbox_forks(struct store *s, struct arena *a,
                                   const struct fork_search *search, struct sandbox_list *ret,
                                   struct error *err);
/* The sandboxes made from the snapshot `id`, oldest first, at most STORE_FORKS_MAX. */
MUST_CHECK int store_sandboxes_made_from(struct store *s, struct arena *a, const char *project_id,
                                         const char *id, struct sandbox_list *ret,
                                         struct error *err);
/* Finds by id only, including deleted sandboxes while lists show them. */
MUST_CHECK int store_sandbox_find_ended(struct store *s, struct arena *a, const char *project_id,
                                        const char *id, struct sandbox_record *ret,
                                        struct error *err);
struct sandbox_owner {
	const char *id, *name, *project_id;
};
struct sandbox_owner_list {
	struct sandbox_owner *items;
	size_t count;
};
/* The owners of the sandboxes whose ids are the keys of this JSON object, including deleted ones;
 * project NULL = any. */
MUST_CHECK int store_sandbox_owners(struct store *s, struct arena *a, const char *project_id,
                                    const char *ids_json, struct sandbox_owner_list *ret,
                                    struct error *err);
/* The id of the sandbox that this sandbox is a fork of, which may be deleted; "" = not a fork. */
MUST_CHECK int store_sandbox_parent(struct store *s, struct arena *a, const char *sandbox_id,
                                    const char **ret, struct error *err);
