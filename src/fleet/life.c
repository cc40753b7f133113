/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/life.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "fleet/archive.h"
#include "fleet/pairing_parts.h"
#include "fleet/parts.h"
#include "fleet/shared_work.h"
#include "fleet/trash_parts.h"
#include "provider/trash.h"

/* ---- on a sandbox that this thread acts on ---- */

/* keep_ms: how long it can be brought back; 0 = not at all. */
static int remove_files(struct act *a, int64_t keep_ms, struct error *err)
{
	struct fleet *f = a->fleet;
	const struct provider_trash what = {.kind = BROKER_TRASH_SANDBOX,
	                                    .id = a->record.id,
	                                    .reason = BROKER_TRASH_DELETED,
	                                    .keep_ms = keep_ms};
	int64_t deadline = deadline_in(CALL_TIMEOUT_MS);

	if (keep_ms > 0 && f->ops->trash) {
		kept_volumes_note(f, a->record.id);
		fault_point("api", "trash-noted");
		return f->ops->trash->put(f->provider, &what, deadline, err);
	}
	if (f->ops->destroy(f->provider, a->record.id, deadline, err) < 0)
		return -1;
	note_drop(f, a->record.id);
	return 0;
}

struct deletion {
	enum sandbox_reason reason;
	int64_t keep_ms;
};

static int delete_it(struct act *a, const struct deletion *deletion, struct error *err)
{
	enum sandbox_reason reason = deletion->reason;
	struct fleet *f = a->fleet;
	bool is_kept = deletion->keep_ms > 0;
	/* The row says whether the files are kept: a recovery deletes it in the same way. */
	const struct act_move deleting = {.to = SANDBOX_DELETING,
	                                  .desired = SANDBOX_DELETED,
	                                  .reason = reason,
	                                  .event = "being deleted",
	                                  .traits_gained = is_kept ? SANDBOX_DELETED_KEPT : 0,
	                                  .traits_lost = is_kept ? 0 : SANDBOX_DELETED_KEPT};
	/* DELETING, which comes to the disk while the provider works, is enough for recovery to end
	 * it again. */
	const struct act_move deleted = {
	        .to = SANDBOX_DELETED, .desired = -1, .event = "deleted", .is_lazy = true};
	/* FAILED, and still to be deleted: the next tick tries again. */
	struct act_move failed = {
	        .to = SANDBOX_FAILED, .desired = -1, .reason = SANDBOX_REASON_ERROR};
	bool was_archived = a->record.actual == SANDBOX_ARCHIVED;
	struct error second = {0};
	uint64_t sync;

	if (a->record.actual != SANDBOX_DELETING && act_move(a, &deleting, err) < 0)
		return -1;
	sync = store_sync_begin(f->store);
	fault_point("api", "delete-recorded");
	if (remove_files(a, deletion->keep_ms, err) < 0) {
		error_context(err, "delete sandbox '%s'", a->record.name);
		failed.event = err->text;
		if (act_move(a, &failed, &second) < 0)
			log_warning("a failed delete is not marked yet",
			            TEXT("sandbox", a->record.id), FAILURE(&second));
		return -1;
	}
	fault_point("api", "delete-destroyed");
	if (was_archived)
		archive_drop(f, a->record.id);
	if (act_move(a, &deleted, err) < 0 || store_sync_wait(f->store, sync, err) < 0)
		return -1;
	samples_forget(f, a->record.id);
	atomic_fetch_add(&f->deleted, 1);
	return 0;
}

/* Of one whose delete was interrupted, too. */
int act_delete(struct act *a, enum sandbox_reason reason, struct error *err)
{
	struct deletion deletion = {.reason = reason};

	if (a->record.traits & SANDBOX_DELETED_KEPT)
		deletion.keep_ms = a->fleet->config->deleted_keep_ms;
	return delete_it(a, &deletion, err);
}

/* The hook runs in a sandbox that runs. Should it not run, it has none: the end goes on. */
static const char *run_before_stop(struct act *a, bool was_paused, int64_t deadline)
{
	struct fleet *f = a->fleet;
	struct error err = {0};

	if (was_paused && f->ops->resume(f->provider, a->record.id, deadline, &err) < 0) {
		log_warning("a paused sandbox is stopped as it is", TEXT("sandbox", a->record.id),
		            FAILURE(&err));
		return "";
	}
	return hook_run(a, HOOK_BEFORE_STOP);
}

struct stop {
	enum sandbox_reason reason;
	bool at_once;
};

static int stop_it(struct act *a, const struct stop *stop, struct error *err)
{
	struct fleet *f = a->fleet;
	bool was_paused = a->record.actual == SANDBOX_PAUSED;
	const struct act_move stopping = {.to = SANDBOX_STOPPING,
	                                  .desired = SANDBOX_STOPPED,
	                                  .reason = stop->reason,
	                                  .event = "being stopped"};
	struct act_move stopped = {.to = SANDBOX_STOPPED, .desired = -1, .is_lazy = stop->at_once};
	struct act_move back = {.to = SANDBOX_STARTED, .desired = SANDBOX_STARTED};
	int64_t deadline = deadline_in(CALL_TIMEOUT_MS);
	struct error second = {0};

	if (provider_require(f->provider, PROVIDER_CAN_STOP, err) < 0 ||
	    act_move(a, &stopping, err) < 0)
		return -1;
	fault_point("api", "stop-recorded");
	stopped.event = arena_format(a->arena, "stopped%s",
	                             stop->at_once ? "" : run_before_stop(a, was_paused, deadline));
	if (f->ops->stop(f->provider, a->record.id, stop->at_once ? 0 : STOP_GRACE_MS, deadline,
	                 err) == 0) {
		fault_point("api", "stop-stopped");
		return act_move(a, &stopped, err);
	}
	error_context(err, "stop sandbox '%s'", a->record.name);
	back.event = err->text;
	if (act_move(a, &back, &second) < 0)
		log_warning("a failed stop is not marked yet", TEXT("sandbox", a->record.id),
		            FAILURE(&second));
	return -1;
}

int act_stop(struct act *a, enum sandbox_reason reason, struct error *err)
{
	return stop_it(a, &(struct stop){.reason = reason}, err);
}

int act_kill(struct act *a, enum sandbox_reason reason, struct error *err)
{
	return stop_it(a, &(struct stop){.reason = reason, .at_once = true}, err);
}

/* ---- on request ---- */

int find_and_act(struct fleet *f, struct arena *a, const struct fleet_ref *ref, struct act *ret,
                 struct error *err)
{
	struct sandbox_record r;

	if (store_sandbox_find(f->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    provider_check(f, &r, err) < 0)
		return -1;
	return act_await(f, a, r.id, ref->awaited, ret, err);
}

int refuse_state(const struct sandbox_record *r, const char *what, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' is %s and cannot be %s", r->name,
	          sandbox_state_name(r->actual), what);
	if (r->actual == SANDBOX_FAILED)
		error_hint(err, "%s; delete it", r->last_event);
	return -1;
}

int act_renew_timeout(struct act *act, struct error *err)
{
	const struct sandbox_record *r = &act->record;
	int64_t now = clock_unix_ms();

	if (r->timeout_at == 0 || r->timeout_at > now)
		return 0;
	return store_sandbox_set_timeout(
	        act->fleet->store, act->arena, r->id,
	        r->traits & SANDBOX_TIMED_AWAKE ? now + SANDBOX_WOKEN_MS : 0, &act->record, err);
}

int act_start(struct act *act, int64_t begun_ns, struct error *err)
{
	const struct fleet_ref ref = {act->record.project_id, act->record.template_id};
	const struct spender spender = {act->record.project_id, act->record.key_id, act->record.id};
	struct template_record t;

	if (provider_require(act->fleet->provider, PROVIDER_CAN_STOP, err) < 0 ||
	    budgets_check(act->fleet, &spender, err) < 0 ||
	    template_find(act->fleet, act->arena, &ref, &t, err) < 0 ||
	    act_renew_timeout(act, err) < 0)
		return -1;
	return act->record.actual == SANDBOX_ARCHIVED ? act_unarchive(act, &t, begun_ns, err)
	                                              : act_restart(act, &t, begun_ns, err);
}

static int start(struct act *act, int64_t begun_ns, struct error *err)
{
	if (act->record.actual == SANDBOX_STARTED)
		return 0;
	if (act->record.actual == SANDBOX_PAUSED)
		return act_resume(act, err);
	if (act->record.actual != SANDBOX_STOPPED && act->record.actual != SANDBOX_ARCHIVED)
		return refuse_state(&act->record, "started", err);
	return act_start(act, begun_ns, err);
}

/* "anew": a sandbox that is paused is stopped before. */
#define START_ANEW "anew"

static int start_from_any(struct act *act, const char *how, struct error *err)
{
	if (how && act->record.actual == SANDBOX_PAUSED &&
	    act_stop(act, SANDBOX_REASON_USER, err) < 0)
		return -1;
	return start(act, clock_monotonic_ns(), err);
}

/* On a thread of the lane of backups: the files come from the blob store. */
static int run_start(struct fleet *f, UNUSED struct arena *arena, const struct shared_work *work,
                     UNUSED const char **ret_text, struct error *err)
{
	AUTO(arena_done) struct arena own = {0};
	AUTO(act_end) struct act act = {0};

	if (act_begin(f, &own, work->texts[0], deadline_in(CALL_TIMEOUT_MS), &act, err) < 0)
		return -1;
	return start_from_any(&act, work->texts[1], err);
}

static void start_key(const char *sandbox_id, char ret[ERROR_AWAITS_MAX])
{
	waiting_key("start", sandbox_id, ret);
}

static int start_archived(struct act *act, const char *how, const struct fleet_awaited *awaited,
                          struct error *err)
{
	struct fleet *f = act->fleet;
	struct shared_work work = {
	        .project_id = act->record.project_id,
	        .what = arena_format(act->arena, "the files of sandbox '%s' are being fetched",
	                             act->record.name),
	        .lane = f->waiting.backups,
	        .run = run_start,
	        .texts = {act->record.id, how},
	};

	start_key(act->record.id, work.key);
	act_end(act);
	return shared_work_do(f, act->arena, &work, awaited, NULL, err);
}

/* Before its row says that it starts: a call that parks leaves nothing. */
static int reserve_volumes(struct act *act, const struct fleet_awaited *awaited, struct error *err)
{
	return awaited && act->record.actual == SANDBOX_STOPPED
	               ? mounts_reserve_own(act, awaited, err)
	               : 0;
}

/* `r`: as it was found, and then as it is. */
static int start_found(struct fleet *f, struct arena *a, struct sandbox_record *r, const char *how,
                       const struct fleet_awaited *awaited, struct error *err)
{
	AUTO(act_end) struct act act = {0};
	char key[ERROR_AWAITS_MAX];
	int result;

	start_key(r->id, key);
	if (!shared_work_join(f, key, awaited, &result, err)) {
		if (act_await(f, a, r->id, awaited, &act, err) < 0)
			return -1;
		*r = act.record;
		if (r->actual != SANDBOX_ARCHIVED) {
			result = reserve_volumes(&act, awaited, err) < 0
			                 ? -1
			                 : start_from_any(&act, how, err);
			*r = act.record;
			return result;
		}
		result = start_archived(&act, how, awaited, err);
	}
	return result < 0 ? -1 : store_sandbox_find(f->store, a, r->project_id, r->id, r, err);
}

static int find_and_start(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                          const char *how, struct sandbox_record *ret, struct error *err)
{
	struct sandbox_record r;

	if (store_sandbox_find(f->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    provider_check(f, &r, err) < 0 || start_found(f, a, &r, how, ref->awaited, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

int fleet_start(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                struct sandbox_record *ret, struct error *err)
{
	return find_and_start(fleet, a, ref, NULL, ret, err);
}

int fleet_start_anew(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                     struct sandbox_record *ret, struct error *err)
{
	return find_and_start(fleet, a, ref, START_ANEW, ret, err);
}

int fleet_stop(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
               struct sandbox_record *ret, struct error *err)
{
	AUTO(act_end) struct act act = {0};

	if (find_and_act(fleet, a, ref, &act, err) < 0)
		return -1;
	if (act.record.actual != SANDBOX_STOPPED) {
		if (act.record.actual != SANDBOX_STARTED && act.record.actual != SANDBOX_PAUSED)
			return refuse_state(&act.record, "stopped", err);
		if (act_stop(&act, SANDBOX_REASON_USER, err) < 0)
			return -1;
	}
	*ret = act.record;
	return 0;
}

/* Whoever makes it sees the wish when it is made. Should the maker be done already, the wish does
 * no harm: the caller is about to carry it out. */
static void leave_wish(struct fleet *f, const struct sandbox_record *r)
{
	struct error err = {0};

	if (r->actual == SANDBOX_CREATING &&
	    store_sandbox_want(f->store, r->id, SANDBOX_CREATING, SANDBOX_DELETED, &err) < 0)
		log_debug("no wish was left", TEXT("sandbox", r->id), FAILURE(&err));
}

static int find_and_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                           const struct deletion *deletion, struct error *err)
{
	AUTO(act_end) struct act act = {0};
	struct sandbox_record r;

	if (store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0) {
		if (err->code != ERROR_NOT_FOUND || !ref->awaited || !ref->awaited->key)
			return -1;
		error_clear(err); /* it has been deleted while this call awaited it */
		return 0;
	}
	if (provider_check(fleet, &r, err) < 0)
		return -1;
	leave_wish(fleet, &r);
	if (act_await(fleet, a, r.id, ref->awaited, &act, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		/* Somebody else has deleted it while we waited. */
		error_clear(err);
		return 0;
	}
	if (deletion->keep_ms > 0 && act.record.actual == SANDBOX_ARCHIVED) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "sandbox '%s' is archived: its files cannot be kept in the trash",
		           act.record.name);
		error_hint(err, "start it before, or delete it for good: 'atoll rm NAME'");
		return -1;
	}
	return delete_it(&act, deletion, err);
}

int fleet_delete(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                 enum sandbox_reason reason, struct error *err)
{
	return find_and_delete(fleet, a, ref, &(struct deletion){.reason = reason}, err);
}

int fleet_delete_kept(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      struct error *err)
{
	const struct deletion deletion = {.reason = SANDBOX_REASON_USER,
	                                  .keep_ms = fleet->config->deleted_keep_ms};

	return find_and_delete(fleet, a, ref, &deletion, err);
}
