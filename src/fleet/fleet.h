/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/fleet.h — the sandboxes of this server: store, provider and rules brought together.
 *
 * Every surface creates and finds sandboxes through these calls and adds only its own words. Any
 * worker may call; calls block. The compare-and-set of the store decides which caller acts; the
 * caller that loses gets ERROR_CONFLICT or the winner's result. Sandboxes of other servers on the
 * same database are found and listed; work on one fails with ERROR_CONFLICT and names its node.
 *
 * Further headers, one per noun: create.h, hold.h, lease.h, snapshots.h, templates.h, volume.h … */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct arena;
struct blob_store;
struct config;
struct fleet;
struct fleet_awaited;
struct fleet_use;
struct provider;
struct provider_stats;
struct worker_pool;

/* ---- the fleet's own life ---- */

struct fleet_options {
	const struct config *config;
	struct store *store;
	struct provider *provider;
	struct worker_pool *workers; /* for creates that do not wait, builds, expiry */
	const char *node;            /* name of this server in the store; NULL: it is alone */
	struct blob_store *blobs;    /* of backups; NULL: none */
};
MUST_CHECK int fleet_open(const struct fleet_options *options, struct fleet **ret,
                          struct error *err);
/* Call it after the workers have stopped and the provider is closed. */
void fleet_close(struct fleet *fleet);
/* At boot, before any other call: adds missing templates, adopts the sandboxes that the provider
 * runs, finishes interrupted stops and deletes, fails interrupted creates, and moves orphans to the
 * trash. A sandbox that should run but is missing (HOST_LOST) becomes STOPPED if its files exist;
 * it is not restarted automatically. Without files a persistent sandbox becomes FAILED and an
 * ephemeral one DELETED. */
MUST_CHECK int fleet_recover(struct fleet *fleet, struct error *err);
/* Call both on a worker. fleet_tick, every few seconds: expiry, reconciliation, purges.
 * fleet_lease_tick, every second: claims of leases that were abandoned, see lease.h. */
void fleet_tick(struct fleet *fleet);
void fleet_lease_tick(struct fleet *fleet);
/* Before the workers stop: background work ends soon. */
void fleet_end(struct fleet *fleet);
/* Before the provider closes: ends builds, lanes and browsers of this process. */
void fleet_leave(struct fleet *fleet);
/* The provider's callbacks on_ended and on_again. Any thread. */
void fleet_on_ended(struct fleet *fleet, const char *id, enum sandbox_reason reason);
void fleet_on_reconnected(struct fleet *fleet);

struct fleet_counts {
	uint64_t by_state[SANDBOX_STATE_COUNT];
	uint64_t created, create_failed, deleted, execs, held, create_us_total;
};
struct fleet_counts fleet_counts_get(struct fleet *fleet);

/* ---- one sandbox ---- */

struct fleet_ref {
	const char *project_id;
	const char *id_or_name;              /* of a sandbox, a template, a snapshot … */
	const struct fleet_use *use;         /* what fleet_hold meters; NULL: nothing */
	const struct fleet_awaited *awaited; /* NULL: the thread waits; else see waiting.h */
};
MUST_CHECK int fleet_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_start(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);
/* Stops a paused sandbox first, so that it starts from its files without its old processes. */
MUST_CHECK int fleet_start_anew(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                                struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_stop(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct sandbox_record *ret, struct error *err);
/* Returns when no process of the sandbox runs any more. Succeeds if a delete is under way. */
MUST_CHECK int fleet_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            enum sandbox_reason reason, struct error *err);
/* Freezes all processes; their memory stays. Any use of the sandbox, or fleet_resume, wakes it.
 * Both succeed if the sandbox is in that state already; fleet_resume refuses a stopped one. */
MUST_CHECK int fleet_pause(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_resume(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                            struct sandbox_record *ret, struct error *err);
MUST_CHECK int fleet_stats(struct fleet *fleet, const struct sandbox_record *r,
                           struct provider_stats *ret, struct error *err);
