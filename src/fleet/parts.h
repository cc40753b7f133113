/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/parts.h — what the files of this folder share. */
#pragma once

#include "fleet/access.h"
#include "fleet/cache.h"
#include "fleet/leases_in_flight.h"
#include "fleet/life.h"
#include "fleet/meters.h"
#include "fleet/pairing_parts.h"
#include "fleet/pools.h"
#include "fleet/project_cache.h"
#include "fleet/samples.h"
#include "fleet/storage.h"
#include "fleet/template_cache.h"
#include "fleet/waiting_parts.h"

#define CALL_TIMEOUT_MS 60000 /* one call of the provider; building a template takes minutes */
#define TEMPLATE_TIMEOUT_MS (30 * 60 * 1000)
#define POOL_COUNTS_MAX 256 /* in the metrics */
#define STOP_GRACE_MS 5000  /* of the programs inside, before they are killed */

/* An end that the provider has told of, and that a worker has yet to look into. */
struct ended_sandbox {
	struct ended_sandbox *next;
	char id[ID_SIZE + 1];
	enum sandbox_reason reason;
};

struct fleet {
	const struct config *config;
	struct store *store;
	struct provider *provider;
	const struct provider_ops *ops; /* the provider's */
	struct worker_pool *workers;
	const char *node;
	struct blob_store *blobs; /* NULL: none */
	unsigned char access_key[FLEET_ACCESS_KEY_SIZE];
	struct cache cache;
	struct template_cache templates;
	struct project_cache projects;
	struct leases_in_flight leases;
	struct browsers browsers;
	struct background_work background;
	struct gate gate;
	struct builds_in_flight *builds;
	struct ready *ready;
	pthread_mutex_t ended_mutex;
	struct ended_sandbox *ended;         /* newest first */
	atomic_bool is_ticking, wants_rules; /* has the provider to be told rules again? */
	int64_t swept_at, peer_beat_at;      /* of the two ticking threads */
	struct meters meters;
	struct sandbox_samples samples;
	struct pairing pairing;
	struct trash_counts trash;
	struct pool_counts {
		pthread_mutex_t mutex; /* whoever makes store and provider agree has it */
		struct fleet_pool_count items[POOL_COUNTS_MAX];
		struct pool_state *states; /* see pool_states.h */
		size_t count, state_count;
	} pools;
	atomic_uint_fast64_t created, create_failed, deleted, execs, create_us_total;
};

/* ---- operation.c ---- */

/* Whether it is this server and its provider that have it. */
bool sandbox_is_local(const struct fleet *f, const struct sandbox_record *r);
MUST_CHECK int sandbox_check_local(const struct fleet *f, const struct sandbox_record *r,
                                   struct error *err);

/* This thread's work on one sandbox: nobody else of this process acts on it meanwhile. */
struct operation {
	struct fleet *fleet;
	struct cache_entry *entry;
	struct arena *arena;       /* of the row's texts */
	const char *snapshot;      /* to be made of; NULL: of its template's folder */
	bool is_bare;              /* its template's entrypoint is not started */
	struct lease_claim *claim; /* whose it becomes when it is started; NULL: nobody's */
	struct provider_creation *creation; /* under way already; NULL: not yet */
	struct sandbox_spec spec;           /* its */
	struct sandbox_record record;       /* as of the last move */
	/* In the arena; none until mounts_load or mounts_take. */
	const struct sandbox_mount *mounts;
	size_t mount_count;
	struct volume_operations volumes; /* that this thread acts on too */
};
/* Waits its turn, then reads the row: ERROR_NOT_FOUND when it is deleted; ERROR_TIMEOUT. */
MUST_CHECK int operation_begin(struct fleet *f, struct arena *a, const char *id, int64_t deadline,
                               struct operation *ret, struct error *err);
/* For a row that is not in the store yet. */
void operation_begin_new(struct fleet *f, struct arena *a, const char *id, struct operation *ret);
void operation_end(struct operation *op); /* zeroed is fine */

struct operation_move {
	enum sandbox_state to;
	int desired; /* -1 leaves it */
	enum sandbox_reason reason;
	const char *event;
	const struct provider_created *created; /* with STARTED */
	bool is_lazy;                           /* as of struct sandbox_move */
	unsigned traits_gained, traits_lost;    /* the same */
	const struct lease_record *lease;       /* and the next: the same */
	bool *ret_lease_lost;
};
MUST_CHECK int operation_move(struct operation *op, const struct operation_move *move,
                              struct error *err);
/* Removes what the provider has of it; a failure is only logged. */
void lifecycle_destroy(struct operation *op);

/* ---- request.c ---- */

MUST_CHECK int request_check(const struct fleet_create *request, struct error *err);
MUST_CHECK int request_check_env(const struct json_map *env, struct error *err);
/* {"KEY":"value"}, and back */
const char *request_map_to_json(struct arena *a, const struct json_map *map);
/* What becomes of a request. */
struct resolved_create {
	const struct fleet_create *request;
	const char *snapshot; /* its id, or NULL */
	const char *layer;    /* what its files begin with: this one, or the template's; or NULL */
	struct template_record template;
	struct sandbox_record record; /* in PENDING; texts in the arena or borrowed */
	unsigned sandboxes_max;
	int64_t project_version; /* with which all this was worked out */
	bool is_outdated;        /* there is another one: it has to be worked out again */
	struct mount_list mounts;
};
/* From request and template to the rest. */
MUST_CHECK int request_resolve(struct fleet *f, struct arena *a, struct resolved_create *resolved,
                               struct error *err);

/* ---- create.c ---- */

/* Creates or starts it, from CREATING on. When it fails, the row says why and rests. `begun_ns`:
 * on the monotonic clock, when the caller began to wait. */
MUST_CHECK int lifecycle_create(struct operation *op, const struct template_record *t,
                                int64_t begun_ns, struct error *err);
/* What the first command needs is known before it comes: it need not look into the store. */
void defaults_prefetch(struct fleet *f, struct arena *a, const struct sandbox_record *r);
/* Moves to FAILED with the error's text and leaves nothing with the provider. */
void lifecycle_fail(struct operation *op, const struct error *why);

/* ---- defaults.c ---- */

/* What template and row give its commands. */
MUST_CHECK int defaults_compute(const struct fleet *f, struct arena *a,
                                const struct sandbox_record *r, const struct template_record *t,
                                struct fleet_defaults *ret, struct error *err);

/* ---- entrypoint.c ---- */

/* Starts what the template has for that; returns when the program has been executed. One that
 * cannot be started fails: what then becomes of the sandbox is the caller's. */
MUST_CHECK int entrypoint_start(struct operation *op, const struct template_record *t,
                                struct error *err);

/* ---- recover.c ---- */

enum observed_state { OBSERVED_NONE, OBSERVED_FILES, OBSERVED_RUNNING, OBSERVED_PAUSED };
/* Of one, as it is now: for a row that this thread acts on. */
MUST_CHECK int observed_state_find(struct fleet *f, const char *id, enum observed_state *ret,
                                   struct error *err);
/* Makes row and provider agree. `reason`: why it is gone, should it be. */
MUST_CHECK int lifecycle_reconcile(struct operation *op, enum observed_state observed,
                                   enum sandbox_reason reason, struct error *err);
/* Looks for orphans, and for what is gone without a word. */
MUST_CHECK int fleet_sweep(struct fleet *f, struct error *err);
typedef void fleet_visit(struct fleet *f, const struct sandbox_record *r, void *context);
/* Each row that is not deleted and is ours. */
MUST_CHECK int fleet_each_sandbox(struct fleet *f, fleet_visit *visit, void *context,
                                  struct error *err);

/* ---- tick.c ---- */

/* Looks into the ends that the provider has told of. */
void ended_reconcile(struct fleet *f);

/* ---- templates.c ---- */

/* By name or id, from the cache when it is ready. */
MUST_CHECK int template_find(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                             struct template_record *ret, struct error *err);
/* To be called after every change: empties the cache and wakes those who wait. */
void templates_changed(struct fleet *f);
MUST_CHECK int templates_recover(struct fleet *f, struct error *err); /* what was being built */

/* ---- pools.c ---- */

/* Makes the provider hold what the templates say. */
MUST_CHECK int pools_reconcile(struct fleet *f, struct error *err);
void pools_changed(struct fleet *f); /* the same, after a change; logs a failure */

void projects_finish(struct fleet *f); /* goes on with those that were left half deleted */
/* ---- recipe.c: what is given of a checked one replaces what the record has, borrowed ---- */
void recipe_apply(struct arena *a, const struct fleet_recipe *recipe, struct template_record *t);
