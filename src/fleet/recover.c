/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/artifacts.h"
#include "fleet/builds.h"
#include "fleet/elsewhere.h"
#include "fleet/parts.h"
#include "fleet/archive.h"
#include "fleet/backup.h"
#include "fleet/snapshot.h"

#define PAGE_SIZE 500
#define ORPHANS_STOP_MS 10000 /* for all of a sweep; those after it are ended at once */

/* ---- what the provider has ---- */

static void *presence_to_value(enum presence presence)
{
	return (void *)(uintptr_t)presence;
}

static enum presence presence_of(const struct map *presences, const char *id)
{
	return (enum presence)(uintptr_t)map_find(presences, id);
}

static enum presence presence_of_entry(const struct provider_entry *entry)
{
	if (!entry->running)
		return PRESENCE_FILES;
	return entry->paused ? PRESENCE_PAUSED : PRESENCE_RUNNING;
}

static bool is_alive(enum presence presence)
{
	return presence == PRESENCE_RUNNING || presence == PRESENCE_PAUSED;
}

static int list_entries(struct fleet *f, struct arena *a, struct provider_list *ret,
                        struct error *err)
{
	if (f->ops->list(f->provider, a, ret, err) < 0)
		return FAIL_CONTEXT(err, "list what provider '%s' has", f->ops->name);
	return 0;
}

static void note_presences(const struct provider_list *list, struct map *ret)
{
	for (size_t i = 0; i < list->count; i++)
		map_put(ret, list->entries[i].id,
		        presence_to_value(presence_of_entry(&list->entries[i])));
}

static int list_presences(struct fleet *f, struct map *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (list_entries(f, &arena, &list, err) < 0)
		return -1;
	note_presences(&list, ret);
	return 0;
}

int presence_find(struct fleet *f, const char *id, enum presence *ret, struct error *err)
{
	AUTO(map_done) struct map presences = {0};

	if (list_presences(f, &presences, err) < 0)
		return -1;
	*ret = presence_of(&presences, id);
	return 0;
}

int each_sandbox(struct fleet *f, fleet_visit *visit, void *context, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_filter filter = {.state = -1, .limit = PAGE_SIZE, .node = f->node};
	struct sandbox_list list;

	do {
		if (store_sandbox_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			if (is_ours(f, &list.items[i]))
				visit(f, &list.items[i], context);
		filter.page = list.next_page;
	} while (filter.page);
	return 0;
}

/* ---- a row and the truth ---- */

static const char *const end_events[SANDBOX_REASON_COUNT] = {
        [SANDBOX_REASON_NONE] = "it ended by itself",
        [SANDBOX_REASON_USER] = "it was ended",
        [SANDBOX_REASON_IDLE] = "it was idle",
        [SANDBOX_REASON_LIFETIME] = "its time was over",
        [SANDBOX_REASON_OOM] = "it ran out of memory and was ended by the kernel",
        [SANDBOX_REASON_EXIT] = "its agent ended",
        [SANDBOX_REASON_HOST_LOST] = "it was gone when the server looked, as after a reboot",
        [SANDBOX_REASON_ERROR] = "it failed",
        [SANDBOX_REASON_BUDGET] = "what it may cost was spent",
        [SANDBOX_REASON_DISK] = "its disk was full",
};

/* Nothing runs and no file is left. What was to last has failed, and its owner is to see it. So has
 * what ended under its owner's eyes. But an ephemeral one that went down with the host is simply
 * gone: nobody waits for it. */
static int settle_lost(struct act *a, enum sandbox_reason reason, struct error *err)
{
	const struct act_move failed = {
	        .to = SANDBOX_FAILED,
	        .desired = -1,
	        .reason = reason,
	        .event = arena_format(a->arena, "%s; its files are gone", end_events[reason]),
	};

	if (!a->record.persistent && reason == SANDBOX_REASON_HOST_LOST)
		return act_delete(a, reason, err);
	return act_move(a, &failed, err);
}

/* Nothing runs, the files are there: its owner may start it again. It is not started for him: what
 * ran in it is lost, and he is to know that. */
static int settle_ended(struct act *a, enum sandbox_reason reason, struct error *err)
{
	const struct act_move stopped = {
	        .to = SANDBOX_STOPPED,
	        .desired = SANDBOX_STOPPED,
	        .reason = reason,
	        .event = arena_format(a->arena, "%s; its files are kept", end_events[reason]),
	};

	return act_move(a, &stopped, err);
}

static int stop_running(struct act *a, struct error *err)
{
	struct fleet *f = a->fleet;

	return f->ops->stop(f->provider, a->record.id, 0, deadline_in(CALL_TIMEOUT_MS), err);
}

typedef int settle(struct act *a, enum presence presence, enum sandbox_reason reason,
                   struct error *err);

/* Whoever was about to pause or to resume it went away in between, and has not been answered: the
 * row stands. */
static int set_paused(struct act *a, bool paused, struct error *err)
{
	struct fleet *f = a->fleet;
	int64_t deadline = deadline_in(CALL_TIMEOUT_MS);

	if (provider_require(f->provider, PROVIDER_CAN_PAUSE, err) < 0)
		return -1;
	return paused ? f->ops->pause(f->provider, a->record.id, deadline, err)
	              : f->ops->resume(f->provider, a->record.id, deadline, err);
}

static int settle_alive(struct act *a, enum presence presence, enum sandbox_reason reason,
                        struct error *err)
{
	bool paused = a->record.actual == SANDBOX_PAUSED;

	if (is_alive(presence))
		return paused == (presence == PRESENCE_PAUSED) ? 0 : set_paused(a, paused, err);
	return presence == PRESENCE_FILES ? settle_ended(a, reason, err)
	                                  : settle_lost(a, reason, err);
}

static int settle_stopping(struct act *a, enum presence presence, enum sandbox_reason reason,
                           struct error *err)
{
	const struct act_move stopped = {
	        .to = SANDBOX_STOPPED, .desired = SANDBOX_STOPPED, .event = "stopped"};

	if (presence == PRESENCE_NONE)
		return settle_lost(a, reason, err);
	if (is_alive(presence) && stop_running(a, err) < 0)
		return -1;
	return act_move(a, &stopped, err);
}

static int settle_stopped(struct act *a, enum presence presence, enum sandbox_reason reason,
                          struct error *err)
{
	if (presence == PRESENCE_NONE)
		return settle_lost(a, reason, err);
	return is_alive(presence) ? stop_running(a, err) : 0;
}

/* Nobody knows how far the provider came: a new one is taken away, one that had been started before
 * is stopped, for the sake of its files. */
static int settle_creating(struct act *a, enum presence presence, enum sandbox_reason reason,
                           struct error *err)
{
	const struct act_move archived = {.to = SANDBOX_ARCHIVED,
	                                  .desired = SANDBOX_ARCHIVED,
	                                  .event = "archived still: its start was interrupted"};
	struct error why = {0};

	if (presence == PRESENCE_NONE && archive_exists(a->fleet, a->record.id))
		return act_move(a, &archived, err);
	if (a->record.started_at > 0)
		return settle_stopping(a, presence, reason, err);
	error_set(&why, ERROR_UNAVAILABLE, 0, HERE, "the server went away while it was being made");
	act_fail(a, &why);
	return 0;
}

static int settle_deleting(struct act *a, UNUSED enum presence presence,
                           UNUSED enum sandbox_reason reason, struct error *err)
{
	return act_delete(a, SANDBOX_REASON_NONE, err);
}

static int settle_failed(struct act *a, enum presence presence, UNUSED enum sandbox_reason reason,
                         UNUSED struct error *err)
{
	if (presence != PRESENCE_NONE)
		act_clear(a);
	return 0;
}

static settle *const settlers[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = settle_creating,  [SANDBOX_CREATING] = settle_creating,
        [SANDBOX_STARTED] = settle_alive,     [SANDBOX_PAUSED] = settle_alive,
        [SANDBOX_STOPPING] = settle_stopping, [SANDBOX_STOPPED] = settle_stopped,
        [SANDBOX_ARCHIVED] = settle_failed,   [SANDBOX_DELETING] = settle_deleting,
        [SANDBOX_DELETED] = settle_failed,    [SANDBOX_FAILED] = settle_failed,
};

int act_settle(struct act *a, enum presence presence, enum sandbox_reason reason, struct error *err)
{
	if (a->record.desired == SANDBOX_DELETED)
		return act_delete(a, SANDBOX_REASON_NONE, err);
	return settlers[a->record.actual](a, presence, reason, err);
}

/* ---- all rows, and all that has none ---- */

/* What a row that rests stands for. */
static const struct {
	bool is_certain;
	enum presence presence;
} expected[SANDBOX_STATE_COUNT] = {
        [SANDBOX_STARTED] = {true, PRESENCE_RUNNING},
        [SANDBOX_PAUSED] = {true, PRESENCE_PAUSED},
        [SANDBOX_STOPPED] = {true, PRESENCE_FILES},
        [SANDBOX_ARCHIVED] = {true, PRESENCE_NONE},
};

/* Presences may be old by now: what they say is looked at again once nobody else acts. */
static void settle_lost_quietly(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct error err = {0};
	enum presence presence;

	if (!expected[r->actual].is_certain ||
	    presence_of(context, r->id) == expected[r->actual].presence ||
	    cache_is_attended(&f->cache, r->id))
		return;
	if (act_begin(f, &arena, r->id, deadline_in(0), &act, &err) < 0 ||
	    !expected[act.record.actual].is_certain)
		return;
	if (presence_find(f, r->id, &presence, &err) < 0 ||
	    act_settle(&act, presence, SANDBOX_REASON_HOST_LOST, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", r->id), FAILURE(&err));
}

/* The provider has it. One without a row is an orphan, unless it is being made: then a worker acts
 * on it, and its row comes. One whose row is another server's came here with a copied folder, and
 * is left to people. One of an earlier claim of a lease that has another one by now goes. */
static bool sweep_one(struct fleet *f, const struct provider_entry *entry)
{
	const char *id = entry->id;
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct error err = {0};

	if (cache_is_attended(&f->cache, id) ||
	    (entry->lease_epoch > 0 && lease_sweep(f, id, entry->lease_epoch)))
		return false;
	if (act_begin(f, &arena, id, deadline_in(0), &act, &err) == 0) {
		if (act.record.actual == SANDBOX_FAILED && is_ours(f, &act.record))
			act_clear(&act);
		return false;
	}
	return err.code == ERROR_NOT_FOUND;
}

/* All are found before the first is removed: too many of them are a mistake, see pairing.h. */
static void sweep_entries(struct fleet *f, struct arena *a, const struct provider_list *list)
{
	int64_t stop_until = deadline_in(ORPHANS_STOP_MS);
	const struct provider_entry **orphans =
	        ARENA_ARRAY(a, const struct provider_entry *, list->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (sweep_one(f, &list->entries[i]))
			orphans[count++] = &list->entries[i];
	if (!orphans_may_go(f, count, list->count - count))
		return;
	for (size_t i = 0; i < count; i++)
		if (!cache_is_attended(&f->cache, orphans[i]->id))
			orphan_remove(f, orphans[i], stop_until);
}

int fleet_sweep(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(map_done) struct map presences = {0};
	struct provider_list list;

	if (list_entries(f, &arena, &list, err) < 0)
		return -1;
	note_presences(&list, &presences);
	sweep_entries(f, &arena, &list);
	return each_sandbox(f, settle_lost_quietly, &presences, err);
}

static void recover_one(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(act_end) struct act act = {0};
	struct error err = {0};

	if (act_begin(f, &arena, r->id, deadline_in(CALL_TIMEOUT_MS), &act, &err) < 0 ||
	    act_settle(&act, presence_of(context, r->id), SANDBOX_REASON_HOST_LOST, &err) < 0 ||
	    egress_settle(&act, &err) < 0 || limits_settle(&act, &err) < 0)
		log_warning("sandbox is not settled", TEXT("sandbox", r->id), FAILURE(&err));
}

int fleet_recover(struct fleet *fleet, struct error *err)
{
	AUTO(map_done) struct map presences = {0};
	unsigned added;

	if (store_sandbox_adopt(fleet->store, fleet->node, err) < 0 ||
	    templates_recover(fleet, err) < 0 || fleet_templates_seed(fleet, &added, err) < 0 ||
	    volumes_settle(fleet, true, err) < 0 || list_presences(fleet, &presences, err) < 0 ||
	    each_sandbox(fleet, recover_one, &presences, err) < 0 || fleet_sweep(fleet, err) < 0 ||
	    mounts_settle(fleet, err) < 0 || leases_settle(fleet, err) < 0 ||
	    builds_recover(fleet, err) < 0 || snapshots_sweep(fleet, true, err) < 0 ||
	    backups_settle(fleet, err) < 0)
		return FAIL_CONTEXT(err, "recover");
	if (artifacts_settle(fleet, true, err) < 0)
		return FAIL_CONTEXT(err, "recover");
	layers_sweep(fleet, true);
	projects_finish(fleet);
	peer_tick(fleet);
	fleet->pairing.takes_all = false;
	trash_tick(fleet);
	return 0;
}
