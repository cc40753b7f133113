/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/parts.h — what the files of this folder share.
 *
 * request.c: from what a caller asks to a row. create.c: from a row to a started sandbox.
 * pending.c: rows that wait for their template. life.c: start, stop, delete. pause.c: pause,
 * resume, keep. hook.c, entrypoint.c: what is run inside then. life.h: what these say of
 * themselves. recover.c: what to do about a row when the provider tells another story. tick.c: what
 * time does. templates.c, defaults.c, cache.h: what those need. act.c: one thread's work on one
 * sandbox. storage.h: volumes. builds.h: templates built by steps. */
#pragma once

#include "fleet/access.h"
#include "fleet/cache.h"
#include "fleet/lease_desk.h"
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
struct ended {
	struct ended *next;
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
	struct lease_desk leases;
	struct browsers browsers;
	struct waiting waiting;
	struct gate gate;
	struct build_desk *builds;
	struct ready *ready;
	pthread_mutex_t ended_mutex;
	struct ended *ended;                 /* newest first */
	atomic_bool is_ticking, wants_rules; /* has the provider to be told rules again? */
	int64_t swept_at, peer_beat_at;      /* of the two ticking threads */
	struct meters meters;
	struct samples samples;
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

/* ---- act.c ---- */

/* Whether it is this server and its provider that have it. */
bool is_ours(const struct fleet *f, const struct sandbox_record *r);
MUST_CHECK int provider_check(const struct fleet *f, const struct sandbox_record *r,
                              struct error *err);

/* This thread's work on one sandbox: nobody else of this process acts on it meanwhile. */
struct act {
	struct fleet *fleet;
	struct slot *slot;
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
	struct volume_acts volumes; /* that this thread acts on too */
};
/* Waits its turn, then reads the row: ERROR_NOT_FOUND when it is deleted; ERROR_TIMEOUT. */
MUST_CHECK int act_begin(struct fleet *f, struct arena *a, const char *id, int64_t deadline,
                         struct act *ret, struct error *err);
/* For a row that is not in the store yet. */
void act_begin_new(struct fleet *f, struct arena *a, const char *id, struct act *ret);
void act_end(struct act *a); /* zeroed is fine */

struct act_move {
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
MUST_CHECK int act_move(struct act *a, const struct act_move *move, struct error *err);
/* Removes what the provider has of it; a failure is only logged. */
void act_clear(struct act *a);

/* ---- request.c ---- */

MUST_CHECK int request_check(const struct fleet_create *request, struct error *err);
MUST_CHECK int request_check_env(const struct json_map *env, struct error *err);
/* {"KEY":"value"}, and back */
const char *request_map_to_json(struct arena *a, const struct json_map *map);
/* What becomes of a request. */
struct draft {
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
MUST_CHECK int request_resolve(struct fleet *f, struct arena *a, struct draft *draft,
                               struct error *err);

/* ---- create.c ---- */

/* Creates or starts it, from CREATING on. When it fails, the row says why and rests. `begun_ns`:
 * on the monotonic clock, when the caller began to wait. */
MUST_CHECK int act_make(struct act *a, const struct template_record *t, int64_t begun_ns,
                        struct error *err);
/* What the first command needs is known before it comes: it need not look into the store. */
void warm_up(struct fleet *f, struct arena *a, const struct sandbox_record *r);
/* Moves to FAILED with the error's text and leaves nothing with the provider. */
void act_fail(struct act *a, const struct error *why);

/* ---- defaults.c ---- */

/* What template and row give its commands. */
MUST_CHECK int defaults_of(const struct fleet *f, struct arena *a, const struct sandbox_record *r,
                           const struct template_record *t, struct fleet_defaults *ret,
                           struct error *err);

/* ---- entrypoint.c ---- */

/* Starts what the template has for that; returns when the program has been executed. One that
 * cannot be started fails: what then becomes of the sandbox is the caller's. */
MUST_CHECK int entrypoint_start(struct act *a, const struct template_record *t, struct error *err);

/* ---- recover.c ---- */

enum presence { PRESENCE_NONE, PRESENCE_FILES, PRESENCE_RUNNING, PRESENCE_PAUSED };
/* Of one, as it is now: for a row that this thread acts on. */
MUST_CHECK int presence_find(struct fleet *f, const char *id, enum presence *ret,
                             struct error *err);
/* Makes row and provider agree. `reason`: why it is gone, should it be. */
MUST_CHECK int act_settle(struct act *a, enum presence presence, enum sandbox_reason reason,
                          struct error *err);
/* Looks for orphans, and for what is gone without a word. */
MUST_CHECK int fleet_sweep(struct fleet *f, struct error *err);
typedef void fleet_visit(struct fleet *f, const struct sandbox_record *r, void *context);
/* Each row that is not deleted and is ours. */
MUST_CHECK int each_sandbox(struct fleet *f, fleet_visit *visit, void *context, struct error *err);

/* ---- tick.c ---- */

/* Looks into the ends that the provider has told of. */
void ended_settle(struct fleet *f);

/* ---- templates.c ---- */

/* By name or id, from the cache when it is ready. */
MUST_CHECK int template_find(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                             struct template_record *ret, struct error *err);
/* To be called after every change: empties the cache and wakes those who wait. */
void templates_changed(struct fleet *f);
MUST_CHECK int templates_recover(struct fleet *f, struct error *err); /* what was being built */

/* ---- pools.c ---- */

/* Makes the provider hold what the templates say. */
MUST_CHECK int pools_settle(struct fleet *f, struct error *err);
void pools_changed(struct fleet *f); /* the same, after a change; logs a failure */

void projects_finish(struct fleet *f); /* goes on with those that were left half deleted */
/* ---- recipe.c: what is given of a checked one replaces what the record has, borrowed ---- */
void recipe_apply(struct arena *a, const struct fleet_recipe *recipe, struct template_record *t);
