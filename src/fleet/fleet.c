/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/access_parts.h"
#include "fleet/builds.h"
#include "fleet/elsewhere.h"
#include "fleet/fleet_parts.h"
#include "fleet/lifecycle.h"
#include "fleet/ready.h"
#include "fleet/rounds.h"
#include "provider/agent_reader.h"

static struct fleet *allocate_fleet(void)
{
	struct fleet_parts *parts = calloc(1, sizeof(*parts));

	if (!parts)
		abort();
	parts->fleet.cache = &parts->cache;
	parts->fleet.templates = &parts->templates;
	parts->fleet.projects = &parts->projects;
	parts->fleet.leases = &parts->leases;
	parts->fleet.browsers = &parts->browsers;
	parts->fleet.background = &parts->background;
	parts->fleet.gate = &parts->gate;
	parts->fleet.meters = &parts->meters;
	parts->fleet.samples = &parts->samples;
	parts->fleet.pairing = &parts->pairing;
	parts->fleet.trash = &parts->trash;
	parts->fleet.pools = &parts->pools;
	return &parts->fleet;
}

int fleet_open(const struct fleet_options *options, struct fleet **ret, struct error *err UNUSED)
{
	struct fleet *f = allocate_fleet();

	f->config = options->config;
	f->pairing->jump.offset_ms = clock_unix_ms() - clock_boot_ms();
	f->store = options->store;
	f->provider = options->provider;
	f->ops = provider_ops_of(options->provider);
	f->workers = options->workers;
	f->node = options->node ? options->node : "";
	f->blobs = options->blobs;
	if (f->config->agent_timeout_ms > 0)
		agent_set_answer_ms(f->config->agent_timeout_ms);
	f->ready = ready_new(f);
	access_open(f);
	cache_init(f->cache);
	template_cache_init(f->templates);
	project_cache_init(f->projects);
	/* Waiting calls run in the slow lane, which has half of the workers: they may take half of
	 * those. */
	leases_in_flight_init(f->leases, 1 + (unsigned)f->config->workers / 4);
	meters_init(f);
	samples_init(f->samples);
	browsers_init(f->browsers);
	awaited_init(f);
	f->builds = builds_in_flight_new();
	pthread_mutex_init(&f->ended_mutex, NULL);
	pthread_mutex_init(&f->pools->mutex, NULL);
	*ret = f;
	return 0;
}

void fleet_close(struct fleet *fleet)
{
	if (!fleet)
		return;
	while (fleet->ended) {
		struct ended_sandbox *ended = fleet->ended;

		fleet->ended = ended->next;
		free(ended);
	}
	pthread_mutex_destroy(&fleet->ended_mutex);
	free(fleet->pools->states);
	pthread_mutex_destroy(&fleet->pools->mutex);
	leases_in_flight_done(fleet->leases);
	meters_done(fleet);
	samples_done(fleet->samples);
	browsers_done(fleet->browsers);
	builds_in_flight_free(fleet->builds);
	ready_free(fleet->ready);
	work_lane_free(fleet->background->lane);
	work_lane_free(fleet->background->backup_lane);
	pending_end(fleet);
	awaited_done(fleet);
	template_cache_done(fleet->templates);
	project_cache_done(fleet->projects);
	cache_done(fleet->cache);
	map_done(&fleet->pairing->noted);
	free(CONTAINER_OF(fleet, struct fleet_parts, fleet));
}

void fleet_leave(struct fleet *fleet)
{
	if (!fleet)
		return;
	builds_leave(fleet);
	work_lane_free(TAKE(fleet->background->lane));
	work_lane_free(TAKE(fleet->background->backup_lane));
	pending_end(fleet);
	peer_leave(fleet);
	pairing_leave(fleet);
	jump_write(fleet);
	browsers_tidy(fleet, true);
}

int fleet_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct error *err)
{
	return store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, ret, err);
}

int fleet_stats(struct fleet *fleet, const struct sandbox_record *r, struct provider_stats *ret,
                struct error *err)
{
	if (sandbox_check_local(fleet, r, err) < 0 ||
	    provider_require(fleet->provider, PROVIDER_CAN_STATS, err) < 0)
		return -1;
	return fleet->ops->stats(fleet->provider, r->id, ret, err);
}

/* ---- holds ---- */

static const struct hold_refusal {
	enum error_code code;
	const char *what, *hint;
} refusals[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = {ERROR_UNAVAILABLE, "is not made yet", "try again in a moment"},
        [SANDBOX_CREATING] = {ERROR_UNAVAILABLE, "is being made", "try again in a moment"},
        [SANDBOX_STARTED] = {ERROR_UNAVAILABLE, "is being removed", "it was idle: make a new one"},
        [SANDBOX_PAUSED] = {ERROR_CONFLICT, "is paused", "resume it"},
        [SANDBOX_STOPPING] = {ERROR_CONFLICT, "is being stopped", "start it again"},
        [SANDBOX_STOPPED] = {ERROR_CONFLICT, "is stopped", "start it"},
        [SANDBOX_ARCHIVED] = {ERROR_CONFLICT, "is archived", "start it"},
        [SANDBOX_DELETING] = {ERROR_CONFLICT, "is being deleted", "make a new one"},
        [SANDBOX_DELETED] = {ERROR_NOT_FOUND, "is deleted", "make a new one"},
        [SANDBOX_FAILED] = {ERROR_CONFLICT, "has failed", "see its last event; make a new one"},
};

static int refuse_hold(const struct sandbox_record *r, struct error *err)
{
	const struct hold_refusal *refusal = &refusals[r->actual];

	error_set(err, refusal->code, 0, HERE, "sandbox '%s' %s", r->name, refusal->what);
	error_hint(err, "%s", refusal->hint);
	return -1;
}

static bool is_asleep(const struct sandbox_record *r)
{
	return sandbox_is_asleep(r->actual, r->reason, (unsigned)r->traits);
}

/* Waits for the operation under way, which may pause the sandbox; the state afterwards decides. */
static int hold_awake(struct fleet *f, struct arena *a, struct cache_entry *entry,
                      const struct fleet_awaited *awaited, struct sandbox_record *r,
                      struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (r->actual != SANDBOX_STARTED && !is_asleep(r))
		return refuse_hold(r, err);
	if (operation_await(f, a, r->id, awaited, &op, err) < 0)
		return -1;
	if (is_asleep(&op.record) && lifecycle_wake(&op, err) < 0)
		return -1;
	*r = op.record;
	return cache_hold_entry(f->cache, a, entry, r) ? 0 : refuse_hold(r, err);
}

/* The first use after a start of this server, or of a sandbox that is asleep. The row is read again
 * after its entry is pinned: from then on no move is missed. */
static int hold_from_store(struct fleet *f, struct arena *a, const struct fleet_awaited *awaited,
                           struct sandbox_record *r, struct error *err)
{
	struct cache_entry *entry;

	if (sandbox_check_local(f, r, err) < 0)
		return -1;
	entry = cache_pin(f->cache, r->id);
	if (store_sandbox_find(f->store, a, r->project_id, r->id, r, err) < 0) {
		cache_unpin(f->cache, entry);
		return -1;
	}
	cache_update(f->cache, entry, r);
	if (!cache_hold_entry(f->cache, a, entry, r) &&
	    hold_awake(f, a, entry, awaited, r, err) < 0) {
		cache_unpin(f->cache, entry);
		return -1;
	}
	return 0;
}

static void touch_sandbox(struct fleet *f, const char *id)
{
	int64_t now = clock_unix_ms();

	if (cache_touch(f->cache, id, now))
		store_sandbox_touch(f->store, id, now);
}

static void note_hold(struct fleet *f, const struct sandbox_record *r, const struct fleet_use *use,
                      struct fleet_hold *ret)
{
	atomic_fetch_add(&f->execs, 1);
	touch_sandbox(f, r->id);
	*ret = (struct fleet_hold){.fleet = f, .provider = f->provider};
	memcpy(ret->id, r->id, ID_SIZE);
	if (use)
		ret->use = cache_use(f->cache, r->id, use);
}

bool fleet_hold_warm(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct fleet_hold *ret_hold)
{
	if (!cache_hold_warm(fleet->cache, a, ref->project_id, ref->id_or_name, ret))
		return false;
	note_hold(fleet, ret, ref->use, ret_hold);
	return true;
}

int fleet_hold(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct fleet_hold *ret_hold, struct error *err)
{
	struct sandbox_record r;

	if (!cache_hold(fleet->cache, a, ref->project_id, ref->id_or_name, &r) &&
	    (store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	     hold_from_store(fleet, a, ref->awaited, &r, err) < 0))
		return -1;
	note_hold(fleet, &r, ref->use, ret_hold);
	*ret = r;
	return 0;
}

void fleet_unhold(struct fleet_hold *hold)
{
	if (!hold || !hold->fleet)
		return;
	touch_sandbox(hold->fleet, hold->id);
	if (hold->use)
		cache_unuse(hold->fleet->cache, hold->id, hold->use);
	cache_unhold(hold->fleet->cache, hold->id);
	hold->fleet = NULL;
}

struct fleet_counts fleet_counts_get(struct fleet *fleet)
{
	struct fleet_counts counts = {
	        .created = atomic_load(&fleet->created),
	        .create_failed = atomic_load(&fleet->create_failed),
	        .deleted = atomic_load(&fleet->deleted),
	        .execs = atomic_load(&fleet->execs),
	        .held = cache_held(fleet->cache),
	        .create_us_total = atomic_load(&fleet->create_us_total),
	};
	struct error err = {0};

	if (store_sandbox_count(fleet->store, counts.by_state, &err) < 0)
		log_warning("sandboxes are not counted", FAILURE(&err));
	return counts;
}

/* ---- what the provider tells of ---- */

struct report_task {
	struct worker_task task;
	struct fleet *fleet;
};

static void run_reports(struct worker_task *task)
{
	struct report_task *t = CONTAINER_OF(task, struct report_task, task);
	struct fleet *f = t->fleet;

	free(t);
	ended_reconcile(f);
	egress_repeat_rules(f);
}

/* The provider's thread must not call back into it: a worker handles the report or, if all are
 * busy, the next tick. */
static void queue_reports(struct fleet *fleet)
{
	struct report_task *t = calloc(1, sizeof(*t));
	struct error err = {0};

	if (!t)
		abort();
	*t = (struct report_task){{.lane = WORKER_SLOW, .run = run_reports}, fleet};
	if (worker_submit(fleet->workers, &t->task, &err) < 0)
		free(t);
}

void fleet_on_reconnected(struct fleet *fleet)
{
	atomic_store(&fleet->wants_rules, true);
	queue_reports(fleet);
}

void fleet_on_ended(struct fleet *fleet, const char *id, enum sandbox_reason reason)
{
	struct ended_sandbox *ended = calloc(1, sizeof(*ended));

	if (!ended)
		abort();
	browsers_on_ended(fleet, id);
	*ended = (struct ended_sandbox){.reason = reason};
	memcpy(ended->id, id, strnlen(id, ID_SIZE));
	pthread_mutex_lock(&fleet->ended_mutex);
	ended->next = fleet->ended;
	fleet->ended = ended;
	pthread_mutex_unlock(&fleet->ended_mutex);
	queue_reports(fleet);
}
