/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/fleet.h — the sandboxes of this server: store, provider and rules brought together.
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

#include "sandbox/sandbox.h"

struct blob_store;
struct config;
struct config_provider;
struct fleet;
struct provider_end;
struct provider;
struct provider_set;
struct store;
struct worker_pool;

struct fleet_options {
	const struct config *config;
	struct store *store;
	struct provider_set *providers; /* outlives the fleet; its first member is open */
	struct provider *provider;      /* instead of them, if it is the only one */
	/* Adds a provider of the store to `providers`, or changes it there. NULL: none can be added
	 * at run time. */
	int (*add_provider)(void *context, const struct config_provider *p, int64_t version,
	                    struct error *err);
	void *add_context;
	struct worker_pool *workers; /* for creates that do not wait, builds, expiry */
	const char *node;            /* name of this server in the store; NULL: it is alone */
	struct blob_store *blobs;    /* of backups; NULL: none */
};
MUST_CHECK int fleet_open(const struct fleet_options *options, struct fleet **ret,
                          struct error *err);
/* Call it after the workers have stopped and the provider is closed. */
void fleet_close(struct fleet *fleet);
/* At boot, before any other call: adds missing templates and adopts the sandboxes that the provider
 * runs. Finishes interrupted stops and deletes, fails interrupted creates, moves orphans to the
 * trash. A sandbox that should run but is missing (HOST_LOST) becomes STOPPED if its files exist;
 * it is not restarted automatically. Without files a persistent sandbox becomes FAILED and an
 * ephemeral one DELETED. */
MUST_CHECK int fleet_recover(struct fleet *fleet, struct error *err);
/* After the recovery: a thread ends timeouts to the millisecond, else fleet_tick does. */
void fleet_end_timeouts_promptly(struct fleet *fleet);
/* Call both on a worker. fleet_tick, every few seconds: expiry, reconciliation, purges.
 * fleet_lease_tick, every second: claims of leases that were abandoned, see lease.h. */
void fleet_tick(struct fleet *fleet);
void fleet_lease_tick(struct fleet *fleet);
/* The server stops soon. When all of its providers are shared, others learn within a second that it
 * has ended, and take its sandboxes over; calls that run here go on. Never blocks. */
void fleet_hand_over(struct fleet *fleet);
/* Before the workers stop: background work ends soon. */
void fleet_end(struct fleet *fleet);
/* Before the provider closes: ends builds, lanes and browsers of this process. */
void fleet_leave(struct fleet *fleet);
/* The provider's callbacks on_ended and on_again. Any thread. */
void fleet_on_ended(struct fleet *fleet, const char *id, const struct provider_end *end);
void fleet_on_reconnected(struct fleet *fleet);

struct fleet_counts {
	uint64_t by_state[SANDBOX_STATE_COUNT];
	uint64_t created, create_failed, deleted, execs, held, create_us_total;
	uint64_t ephemeral, ephemeral_ending;
};
struct fleet_counts fleet_counts_get(struct fleet *fleet);
