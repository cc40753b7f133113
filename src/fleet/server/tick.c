/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fleet/lifecycle/service_send.h"
#include "fleet/server/all_rounds.h"
#include "fleet/core/alarms.h"
#include "fleet/core/background_work.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/sandboxes.h"
#include "fleet/recovery/retention.h"
#include "fleet/server/ended.h"
#include "fleet/server/fleet.h"
#include "fleet/server/rounds.h"
#include "fleet/template/pool_states.h"
#include "fleet/usage/samples.h"
#include "store/database.h"
#include "store/sandboxes.h"

#define SWEEP_EVERY_MS 60000
/* How long lists still show what is deleted. */
#define DELETED_KEPT_MS (24 * 3600 * INT64_C(1000))
/* After its time an entry of the trash is gone at the latest so much later. */
#define TRASH_TRIMMED_MS (3600 * INT64_C(1000))

static void tick_sandbox(struct fleet *f, const struct sandbox_record *r, UNUSED void *context)
{
	samples_add(f, r);
	if (r->timeout_at > clock_unix_ms())
		alarm_set(f->background->alarms, r);
	note_row(f, r);
	fleet_events_add_unresponsive(f, r);
	sandbox_take_step(f, r);
}

/* An undelete needs the row while the trash has the files. */
static int purge_deleted(struct fleet *f, struct error *err)
{
	int64_t keep_ms = f->config->deleted_keep_ms + TRASH_TRIMMED_MS;

	if (keep_ms < DELETED_KEPT_MS)
		keep_ms = DELETED_KEPT_MS;
	return store_sandbox_purge(f->store, fleet_retention_ms(f) - keep_ms, err);
}

static int run_tick(struct fleet *f, struct error *err)
{
	int64_t now = clock_monotonic_ms();

	jump_check_clock(f);
	ended_reconcile(f);
	egress_find_sources(f);
	egress_repeat_rules(f);
	fleet_events_add_ends(f);
	providers_tick(f);
	pairing_tick(f);
	notes_check_keys(f);
	template_waiters_wake(f, NULL);
	browsers_tidy(f, false);
	/* Usage that cannot be written now is written later: the meters keep it. */
	if (meters_write(f, f->config->usage_flush_ms, true, err) < 0) {
		log_warning("usage waits for the next round", FAILURE(err));
		error_clear(err);
	}
	if (egress_cuts_update(f, clock_unix_ms(), err) < 0) {
		log_warning("networks under quotas wait for the next round", FAILURE(err));
		error_clear(err);
	}
	samples_begin(f);
	if (fleet_each_sandbox(f, tick_sandbox, NULL, err) < 0 || leases_reconcile(f, err) < 0 ||
	    pools_reconcile(f, err) < 0 || services_reconcile(f, err) < 0)
		return -1;
	if (now - f->swept_at >= SWEEP_EVERY_MS) {
		f->swept_at = now;
		if (fleet_sweep(f, err) < 0 || volumes_reconcile(f, false, err) < 0 ||
		    mounts_reconcile(f, err) < 0 || snapshots_sweep(f, false, err) < 0 ||
		    purge_deleted(f, err) < 0 || meters_purge(f, fleet_retention_ms(f), err) < 0)
			return -1;
		if (artifacts_purge(f, false, err) < 0 || artifacts_meter(f, err) < 0)
			return -1;
		holdings_tick(f);
		layers_sweep(f, false);
		images_sweep(f);
		builds_tick(f);
		failed_tick(f);
		projects_finish(f);
		notes_of_owners(f);
		pairing_advance(f);
		jump_write(f);
		trash_tick(f);
	}
	if (fleet_events_purge(f, err) < 0)
		return -1;
	return store_tidy(f->store, err);
}

static void end_timeout(void *context, const char *sandbox_id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct fleet *f = context;
	struct sandbox_record r;
	struct error err = {0};

	if (store_sandbox_find(f->store, &arena, NULL, sandbox_id, &r, &err) < 0)
		log_debug("a timeout is left to the next round", TEXT("sandbox", sandbox_id),
		          FAILURE(&err));
	else if (sandbox_is_local(f, &r))
		sandbox_take_step(f, &r);
}

void fleet_end_timeouts_promptly(struct fleet *fleet)
{
	fleet->background->alarms = alarms_new(end_timeout, fleet);
}

void fleet_tick(struct fleet *fleet)
{
	struct error err = {0};

	/* A tick that takes longer than the time between two is not joined by a second. */
	if (atomic_exchange(&fleet->is_ticking, true))
		return;
	if (run_tick(fleet, &err) < 0)
		log_warning("a round of the fleet was cut short", FAILURE(&err));
	atomic_store(&fleet->is_ticking, false);
}

void fleet_hand_over(struct fleet *fleet)
{
	peer_hand_over(fleet);
}

void fleet_lease_tick(struct fleet *fleet)
{
	peer_tick(fleet);
	leases_repair_claims(fleet);
}
