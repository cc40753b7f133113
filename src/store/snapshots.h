/* SPDX-License-Identifier: Apache-2.0 */
/* store/snapshots.h — which snapshots there are, and what came from what. Part of the store: the
 * rules of store.h hold. */
#pragma once

#include "store/store.h"

/* A row in MAKING or REMOVING whose maker is gone is finished by recovery. LOST: its files are gone
 * without our doing. */
enum snapshot_state { SNAPSHOT_MAKING, SNAPSHOT_READY, SNAPSHOT_REMOVING, SNAPSHOT_LOST };
const char *snapshot_state_name(enum snapshot_state state);
/* TAKEN: somebody asked for it. LAYER: the result of a step of a build, see builds.h: it lives as
 * long as the cache or a template needs it. */
enum snapshot_kind { SNAPSHOT_TAKEN, SNAPSHOT_LAYER, SNAPSHOT_KIND_COUNT };
const char *snapshot_kind_name(enum snapshot_kind kind);

struct snapshot_record {
	const char *id, *project_id;
	const char *name; /* unique in the project */
	const char *sandbox_id, *sandbox_name;
	const char *parent_id; /* what the sandbox lay on when it was taken; "" = its template */
	const char *template_id, *template_name, *provider;
	const char *node; /* the server that has it, as of sandboxes */
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

/* ERROR_CONFLICT when the name is taken, ERROR_LIMIT when the project has project_max already,
 * layers not counted. */
MUST_CHECK int store_snapshot_insert(struct store *s, const struct snapshot_record *r,
                                     unsigned project_max, struct error *err);
/* By id or name. project_id NULL = any (by id). */
MUST_CHECK int store_snapshot_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *id_or_name, struct snapshot_record *ret,
                                   struct error *err);
struct snapshot_filter {
	const char *project_id, *sandbox_id, *node; /* NULL = all */
	const char *page;                           /* next_page of the page before, or NULL */
	unsigned limit;                             /* 1..1000 */
	bool with_layers;                           /* else only what was TAKEN */
};
/* Newest first. */
MUST_CHECK int store_snapshot_list(struct store *s, struct arena *a,
                                   const struct snapshot_filter *filter, struct snapshot_list *ret,
                                   struct error *err);
/* State, method, because, depth and frozen_us; when it is READY its sandbox, if that is there, lies
 * on it from now on. Lazy: as of moves. */
MUST_CHECK int store_snapshot_update(struct store *s, const struct snapshot_record *r, bool is_lazy,
                                     struct error *err);
/* Fine when there is none. */
MUST_CHECK int store_snapshot_remove(struct store *s, const char *id, struct error *err);

/* The snapshot that a sandbox lies on. "" = none. */
MUST_CHECK int store_snapshot_base(struct store *s, struct arena *a, const char *sandbox_id,
                                   const char **ret, struct error *err);
MUST_CHECK int store_snapshot_set_base(struct store *s, const char *sandbox_id,
                                       const char *snapshot_id, struct error *err);
/* The snapshot that it was made of, as struct sandbox_insertion said. "" = none: its template. */
MUST_CHECK int store_snapshot_origin(struct store *s, struct arena *a, const char *sandbox_id,
                                     const char **ret, struct error *err);
/* A fork is a sandbox that was made of a snapshot without a name of its own (its id is one), as
 * fleet_fork takes it. What is told ends with that snapshot. */
#define STORE_FORKS_MAX 1000
struct fork_search {
	const char *project_id, *sandbox_id;
	int64_t with_deleted; /* 1 = for as long as lists show them */
	int64_t limit;        /* at most STORE_FORKS_MAX */
};
/* Of a sandbox; the oldest first. */
MUST_CHECK int store_sandbox_forks(struct store *s, struct arena *a,
                                   const struct fork_search *search, struct sandbox_list *ret,
                                   struct error *err);
/* By id alone, and deleted ones too, for as long as lists show them. */
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
/* Of those, deleted ones too, whose ids are the names in this JSON object; project NULL = any. */
MUST_CHECK int store_sandbox_owners(struct store *s, struct arena *a, const char *project_id,
                                    const char *ids_json, struct sandbox_owner_list *ret,
                                    struct error *err);
/* The id of the sandbox that this one is a fork of; "" = it is none. That one may be deleted. */
MUST_CHECK int store_sandbox_parent(struct store *s, struct arena *a, const char *sandbox_id,
                                    const char **ret, struct error *err);

/* ---- for the store itself ---- */

struct snapshot_base {
	const char *sandbox_id, *snapshot_id, *origin_id;
};
struct snapshot_page {
	const char *project_id, *sandbox_id, *node, *kind;
	int64_t page_at;
	const char *page_id;
	int64_t limit;
};
