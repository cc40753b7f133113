/* SPDX-License-Identifier: Apache-2.0 */
/* store/templates.h — templates that sandboxes are made from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct store;

enum template_state {
	TEMPLATE_PENDING,
	TEMPLATE_BUILDING,
	TEMPLATE_READY,
	TEMPLATE_FAILED,
};

struct arena;

struct template_record {
	const char *id;
	const char *project_id; /* "" = shared by all projects */
	const char *name;       /* unique in the project */
	const char *folder;     /* below DATA/templates; "host" = the machine's own root */
	const char *base_image;
	const char *runtime;
	const char *isolation; /* the least of its sandboxes; "" = the server's default */
	const char *provider;  /* of its sandboxes; "" = the server chooses */
	const char *description;
	struct sandbox_resources resources; /* zeros = not set */
	const char *env_json;               /* {"A":"b"} */
	const char *entrypoint_json;        /* ["cmd","arg"] or [] */
	const char *ports_json;             /* [3000] */
	const char *user;                   /* default user of commands */
	const char *workdir;                /* default working directory of commands */
	enum template_state state;
	const char *state_text; /* progress, or why it failed */
	int64_t size_bytes;
	int64_t created_at;
	int64_t updated_at;
	const char *node; /* the server that builds it */
	int64_t pool_min; /* ready sandboxes in its pool */
	int64_t pool_target;
	int64_t pool_max;        /* 0 = no pool */
	const char *warm_json;   /* [{"language":"python","imports":["numpy"]}] */
	const char *snapshot_id; /* layer on top of the folder, below its sandboxes; "" = none */
	const char *ready;       /* command by which the build saw the entrypoint ready; or "" */
	struct sandbox_timeouts timeouts; /* of its sandboxes; only inherited ones */
	bool is_public;                   /* other projects find it by its id */
	bool is_pulled;                   /* an image that the server pulled by itself: a cache */
	int64_t used_at;                  /* of a pulled one, to within TEMPLATE_USED_WITHIN_MS */
	const char *failure;              /* of a pulled one that failed: code and hint; or "" */
};
/* Copies the texts into the arena; NULL becomes "". */
void template_record_own(struct arena *a, struct template_record *r);

struct template_list {
	struct template_record *items;
	size_t count;
};

MUST_CHECK int store_template_insert(struct store *s, const struct template_record *r,
                                     struct error *err);

/* Finds by name or id; the project's templates precede shared ones. Those of other projects are
 * found by id alone: public ones, and those that the project's sandboxes and snapshots were made
 * from. */
MUST_CHECK int store_template_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *name_or_id, struct template_record *ret,
                                   struct error *err);
MUST_CHECK int store_template_list(struct store *s, struct arena *a, const char *project_id,
                                   struct template_list *ret, struct error *err);

struct template_move {
	const char *id;
	enum template_state from;
	enum template_state to; /* equal to `from` to record progress */
	const char *state_text;
	int64_t size_bytes; /* 0 = unchanged */
	int64_t now;
	const char *node;    /* NULL = unchanged */
	const char *failure; /* NULL = "" */
};

/* Compare and set: ERROR_CONFLICT when the state is not `from`. */
MUST_CHECK int store_template_move(struct store *s, const struct template_move *move,
                                   struct error *err);

/* A newer image takes the name of the template that has it, whose name becomes its id. */
struct template_succession {
	const char *project_id, *id, *name;
	int64_t now;
};
MUST_CHECK int store_template_succeed(struct store *s, const struct template_succession *succession,
                                      struct error *err);

/* Sets used_at to `now` where it is older than TEMPLATE_USED_WITHIN_MS. */
#define TEMPLATE_USED_WITHIN_MS (INT64_C(5) * 60 * 1000)
MUST_CHECK int store_template_touch(struct store *s, const char *id, int64_t now,
                                    struct error *err);
/* store_template_touch of all pulled templates that have sandboxes. */
MUST_CHECK int store_template_touch_pulled(struct store *s, int64_t now, struct error *err);

struct pulled_filter {
	const char *node;
	int64_t limit;
};
/* Pulled templates of a server that nothing uses, the least recently used first. */
MUST_CHECK int store_template_pulled_list(struct store *s, struct arena *a,
                                          const struct pulled_filter *filter,
                                          struct template_list *ret, struct error *err);

/* Writes all members except id, project, name, folder, state, created_at, used_at and failure. */
MUST_CHECK int store_template_update(struct store *s, const struct template_record *r,
                                     struct error *err);

/* *ret is true when a template has its root filesystem in the folder. */
MUST_CHECK int store_template_shares(struct store *s, const char *folder, bool *ret,
                                     struct error *err);

/* ERROR_CONFLICT while a snapshot, or a sandbox that is not deleted, was made from it. */
MUST_CHECK int store_template_remove(struct store *s, const char *project_id, const char *id,
                                     struct error *err);
