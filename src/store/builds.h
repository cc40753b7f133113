/* SPDX-License-Identifier: Apache-2.0 */
/* store/builds.h — template builds: their state, their logs, and the layers that their steps
 * produced.
 *
 * A layer is a snapshot of the kind SNAPSHOT_LAYER. The cache maps a step to its layer. A layer is
 * kept while the cache or a template uses it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

enum build_state {
	BUILD_WAITING,  /* waits in the queue */
	BUILD_BUILDING, /* a thread of its node executes it */
	BUILD_READY,    /* template_id is the new template; this and later states are final */
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
	const char *name, *source; /* names of the new template and of its base template */
	const char *template_id;   /* set when READY; else "" */
	enum build_state state;
	int64_t step, step_count; /* current or failed step, from 1; 0 = none yet */
	int64_t cached_count;     /* steps taken from the cache */
	int64_t exit_code;        /* exit code of the failed command; -1 = none */
	const char *message;
	const char *sandbox_id; /* sandbox in use; "" = none */
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
	const char *name; /* template name; NULL = all */
	const char *page; /* next_page of the previous page, or NULL */
	unsigned limit;   /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_build_list(struct store *s, struct arena *a, const struct build_filter *filter,
                                struct build_list *ret, struct error *err);
/* Builds of a node that have not ended, oldest first. */
MUST_CHECK int store_build_list_unfinished(struct store *s, struct arena *a, const char *node,
                                           struct build_list *ret, struct error *err);
/* Writes the members that change during the build. ERROR_CONFLICT when it has ended already.
 * Progress is lazy. */
MUST_CHECK int store_build_update(struct store *s, const struct build_record *r, struct error *err);
/* Removes a build with its log. ERROR_CONFLICT when it has not ended. */
MUST_CHECK int store_build_remove(struct store *s, const char *project_id, const char *id,
                                  struct error *err);
/* Removes builds that ended before `before`. */
MUST_CHECK int store_build_purge(struct store *s, int64_t before, struct error *err);

/* Log lines as NDJSON text. Lazy. */
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
/* Chunks in order, from the chunk with line `since`; at most `limit` (1..1000). */
struct build_log_page {
	const char *build_id;
	int64_t since, limit;
};
MUST_CHECK int store_build_log_list(struct store *s, struct arena *a,
                                    const struct build_log_page *page, struct build_chunks *ret,
                                    struct error *err);

struct cached_layer {
	const char *project_id, *node;
	const char *key; /* hash of the step and all steps before it */
	const char *snapshot_id;
	int64_t size_bytes, created_at, used_at;
};
struct cached_layers {
	struct cached_layer *items;
	size_t count;
};
/* Inserts or replaces the layer of the key. */
MUST_CHECK int store_build_cache_put(struct store *s, const struct cached_layer *layer,
                                     struct error *err);
/* Finds by project, node and key: returns 1 when found, else 0. */
MUST_CHECK int store_build_cache_find(struct store *s, struct arena *a,
                                      const struct cached_layer *key, struct cached_layer *ret,
                                      struct error *err);
MUST_CHECK int store_build_cache_touch(struct store *s, const struct cached_layer *layer,
                                       struct error *err);
/* Removes all keys of this snapshot. */
MUST_CHECK int store_build_cache_remove(struct store *s, const char *snapshot_id,
                                        struct error *err);
struct build_cache_filter {
	const char *node;
	const char *project_id;  /* NULL = all */
	const char *template_id; /* only layers of this template's sandboxes; NULL = all */
	int64_t limit;
};
/* Least recently used first. */
MUST_CHECK int store_build_cache_list(struct store *s, struct arena *a,
                                      const struct build_cache_filter *filter,
                                      struct cached_layers *ret, struct error *err);

/* Unused layers of a node that were made before `before`. */
struct layer_filter {
	const char *node;
	int64_t before, limit;
};
struct layer_ref {
	const char *id;
};
struct layer_list {
	struct layer_ref *items;
	size_t count;
};
MUST_CHECK int store_layers_unused(struct store *s, struct arena *a,
                                   const struct layer_filter *filter, struct layer_list *ret,
                                   struct error *err);
/* Moves an unused layer to REMOVING; *ret_is_free is false when it is in use. */
MUST_CHECK int store_layer_release(struct store *s, const char *snapshot_id, bool *ret_is_free,
                                   struct error *err);
