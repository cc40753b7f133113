/* SPDX-License-Identifier: Apache-2.0 */
/* store/builds.h — builds of templates by steps: what became of each, its log, and the layers that
 * their steps have led to. Part of the store: the rules of store.h hold.
 *
 * A layer is a snapshot of the kind SNAPSHOT_LAYER. The cache knows which one a step leads to; it
 * and the templates that lie on one are what keeps a layer. */
#pragma once

#include "store/snapshots.h"
#include "store/store.h"

enum build_state {
	BUILD_WAITING,  /* for its turn */
	BUILD_BUILDING, /* a thread of its node is at it */
	BUILD_READY,    /* from here on it has ended: template_id is what it made */
	BUILD_ERROR,    /* `message` says why */
	BUILD_CANCELLED,
	BUILD_STATE_COUNT,
};
const char *build_state_name(enum build_state state);
static inline bool build_has_ended(enum build_state state)
{
	return state >= BUILD_READY;
}

struct build_record {
	const char *id, *project_id, *key_id;
	const char *name, *source; /* of the template to be, and of the one it begins with */
	const char *template_id;   /* once it is READY; else "" */
	enum build_state state;
	int64_t step, step_count; /* the step that it is at, or failed at, from 1; 0 = none yet */
	int64_t cached_count;     /* steps that were not executed */
	int64_t exit_code;        /* of the command that failed; -1 = none did */
	const char *message;
	const char *sandbox_id; /* the one that it is using; "" = none */
	const char *node;
	int64_t log_lines;
	int64_t created_at, started_at, ended_at;
};
struct build_list {
	struct build_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

MUST_CHECK int store_build_insert(struct store *s, const struct build_record *r, struct error *err);
/* project_id NULL = any. */
MUST_CHECK int store_build_find(struct store *s, struct arena *a, const char *project_id,
                                const char *id, struct build_record *ret, struct error *err);
struct build_filter {
	const char *project_id;
	const char *name; /* of the template; NULL = all */
	const char *page; /* next_page of the page before, or NULL */
	unsigned limit;   /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_build_list(struct store *s, struct arena *a, const struct build_filter *filter,
                                struct build_list *ret, struct error *err);
/* Those of a node that have not ended, oldest first. */
MUST_CHECK int store_build_list_unfinished(struct store *s, struct arena *a, const char *node,
                                           struct build_list *ret, struct error *err);
/* All but what it was made with. ERROR_CONFLICT when it has ended already. Progress is lazy: a
 * crash of the machine may lose it. */
MUST_CHECK int store_build_update(struct store *s, const struct build_record *r, struct error *err);
/* With its log. ERROR_CONFLICT when it has not ended. */
MUST_CHECK int store_build_remove(struct store *s, const char *project_id, const char *id,
                                  struct error *err);
/* Those that ended before. */
MUST_CHECK int store_build_purge(struct store *s, int64_t before, struct error *err);

/* Lines of a log: NDJSON text. Lazy. */
struct build_chunk {
	const char *build_id;
	int64_t first_line, line_count;
	const char *text;
};
struct build_chunks {
	struct build_chunk *items;
	size_t count;
};
MUST_CHECK int store_build_log_add(struct store *s, const struct build_chunk *chunk,
                                   struct error *err);
/* In order, from the one that has line `since`; at most `limit` (1..1000) chunks. */
struct build_log_page {
	const char *build_id;
	int64_t since, limit;
};
MUST_CHECK int store_build_log_list(struct store *s, struct arena *a,
                                    const struct build_log_page *page, struct build_chunks *ret,
                                    struct error *err);

/* ---- layers ---- */

struct cached_layer {
	const char *project_id, *node;
	const char *key; /* of the step, and of all before it */
	const char *snapshot_id;
	int64_t size_bytes, created_at, used_at;
};
struct cached_layers {
	struct cached_layer *items;
	size_t count;
};
/* In place of what the key led to. */
MUST_CHECK int store_build_cache_put(struct store *s, const struct cached_layer *layer,
                                     struct error *err);
/* By project, node and key: 1 when it is there, else 0. */
MUST_CHECK int store_build_cache_find(struct store *s, struct arena *a,
                                      const struct cached_layer *key, struct cached_layer *ret,
                                      struct error *err);
MUST_CHECK int store_build_cache_touch(struct store *s, const struct cached_layer *layer,
                                       struct error *err);
/* All keys that lead to this snapshot. */
MUST_CHECK int store_build_cache_remove(struct store *s, const char *snapshot_id,
                                        struct error *err);
struct build_cache_filter {
	const char *node;
	const char *project_id;  /* NULL = all */
	const char *template_id; /* only layers of sandboxes of it; NULL = all */
	unsigned limit;
};
/* The one that was not used for longest first. */
MUST_CHECK int store_build_cache_list(struct store *s, struct arena *a,
                                      const struct build_cache_filter *filter,
                                      struct cached_layers *ret, struct error *err);

/* Layers of a node, made before, that nothing needs. */
struct layer_filter {
	const char *node;
	int64_t before;
	unsigned limit; /* 1..1000 */
};
struct layer_ids {
	const char **items;
	size_t count;
};
MUST_CHECK int store_layers_unused(struct store *s, struct arena *a,
                                   const struct layer_filter *filter, struct layer_ids *ret,
                                   struct error *err);
/* To REMOVING, unless something needs it, which *ret_is_free tells. */
MUST_CHECK int store_layer_release(struct store *s, const char *snapshot_id, bool *ret_is_free,
                                   struct error *err);

/* ---- for the store itself ---- */

struct build_page {
	const char *project_id, *name;
	int64_t page_at;
	const char *page_id;
	int64_t limit;
};
struct build_cache_page {
	const char *node, *project_id, *template_id;
	int64_t before, limit;
};
struct snapshot_ref {
	const char *id;
};
