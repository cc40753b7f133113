/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/fleet_state.h — struct fleet. Its parts are defined by the headers of their nouns;
 * fleet.c owns all of them. Each part says which thread or mutex guards it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"

struct background_work;
struct blob_store;
struct browsers;
struct builds_in_flight;
struct cache;
struct config;
struct egress_cuts;
struct ended_sandbox;
struct gate;
struct layer_pins;
struct leases_in_flight;
struct meters;
struct pairing;
struct pool_counts;
struct preparer_slot;
struct project_cache;
struct provider;
struct provider_ops;
struct provider_set;
struct ready;
struct routing_rules;
struct sandbox_samples;
struct store;
struct stored_providers;
struct takeover;
struct template_cache;
struct trash_counts;
struct worker_pool;

#define FLEET_ACCESS_KEY_SIZE 32 /* of the key that access.h derives tokens from */
#define CALL_TIMEOUT_MS 60000    /* of one call of the provider, except builds of templates */
#define TEMPLATE_TIMEOUT_MS (30 * 60 * 1000)

struct fleet {
	const struct config *config;
	struct store *store;
	struct provider_set *providers; /* the first is the primary */
	/* The primary: it keeps templates, snapshots, volumes and pools. A sandbox's own provider
	 * is the operation's or the hold's. */
	struct provider *provider;
	const struct provider_ops *ops; /* of the primary */
	const char *primary;            /* its name */
	struct routing_rules *rules;
	struct stored_providers *stored;
	bool owns_providers;
	struct worker_pool *workers;
	const char *node;
	struct blob_store *blobs; /* NULL: none */
	unsigned char access_key[FLEET_ACCESS_KEY_SIZE];
	unsigned char preview_key[FLEET_ACCESS_KEY_SIZE]; /* signs links to previews */
	struct cache *cache;
	struct template_cache *templates;
	struct project_cache *projects;
	struct leases_in_flight *leases;
	struct browsers *browsers;
	struct background_work *background;
	struct gate *gate;
	struct builds_in_flight *builds;
	struct layer_pins *pins;
	struct ready *ready;
	struct meters *meters;
	struct sandbox_samples *samples;
	struct figure_samples *figures;
	struct pairing *pairing;
	struct trash_counts *trash;
	struct pool_counts *pools;
	struct takeover *takeover;
	struct preparer_slot *preparer;
	/* lifecycle_wake_later, for operations that end with bytes waiting: lifecycle is above
	 * core. */
	void (*wake_later)(struct fleet *f, const char *sandbox_id);
	pthread_mutex_t ended_mutex;
	struct ended_sandbox *ended;        /* newest first; under ended_mutex */
	int64_t new_wait_ms;                /* of operation_begin_new; unit tests make it shorter */
	atomic_bool is_ticking, is_leaving; /* is_leaving: see fleet_hand_over */
	atomic_bool wants_rules;            /* the provider must be given all network rules again */
	atomic_bool wants_all_rules;        /* … also those of sandboxes without any */
	char *sources; /* of all projects, as they were last seen; of the thread of fleet_tick */
	struct egress_cuts *cuts; /* of the thread of fleet_tick; NULL before its first round */
	int64_t swept_at;         /* of the thread of fleet_tick */
	int64_t peer_beat_at;     /* of the thread of fleet_lease_tick */
	atomic_uint_fast64_t created, create_failed, deleted, execs, create_us_total;
	atomic_uint_fast64_t ephemeral; /* sandboxes made for one call */
	atomic_uint endings;            /* entries of background->endings */
};
