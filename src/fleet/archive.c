/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/archive.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "blob/blob.h"
#include "fleet/shared_work.h"
#include "provider/snapshots.h"

/* ---- the row ---- */

/* The one that is READY; ERROR_NOT_FOUND when there is none. */
static int find_held(struct fleet *f, struct arena *a, const char *sandbox_id,
                     struct backup_record *ret, struct error *err)
{
	const struct backup_filter filter = {.holder_id = sandbox_id, .limit = 10};
	struct backup_list list;

	if (store_backup_list(f->store, a, &filter, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].state != BACKUP_READY)
			continue;
		*ret = list.items[i];
		return 0;
	}
	return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' has no archive", sandbox_id);
}

bool archive_exists(struct fleet *f, const char *sandbox_id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct backup_record held;
	struct error ignored = {0};

	return f->blobs && find_held(f, &arena, sandbox_id, &held, &ignored) == 0;
}

void archive_drop(struct fleet *f, const char *sandbox_id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct backup_record held;
	struct error err = {0};

	if (!f->blobs)
		return;
	if ((find_held(f, &arena, sandbox_id, &held, &err) < 0 ||
	     backup_drop(f, held.id, &err) < 0) &&
	    err.code != ERROR_NOT_FOUND)
		log_warning("an archive is left until the next start", TEXT("sandbox", sandbox_id),
		            FAILURE(&err));
}

bool archive_is_needed(struct fleet *f, const char *project_id, const char *sandbox_id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;
	struct error err = {0};

	if (store_sandbox_find_ended(f->store, &arena, project_id, sandbox_id, &r, &err) < 0) {
		/* These may be its only files: without a row that says "deleted" they stay. */
		log_warning("an archive is left: no row of the store knows its sandbox",
		            TEXT("sandbox", sandbox_id), FAILURE(&err));
		return true;
	}
	return r.actual == SANDBOX_ARCHIVED || r.actual == SANDBOX_CREATING ||
	       r.actual == SANDBOX_FAILED;
}

/* ---- to the blob store ---- */

static void remove_snapshot(struct fleet *f, const char *id)
{
	struct error err = {0};

	/* It has no row: the next sweep finds what is left here. */
	if (f->ops->snapshots->remove(f->provider, id, deadline_in(CALL_TIMEOUT_MS), &err) < 0)
		log_warning("a snapshot is left for the next sweep", TEXT("snapshot", id),
		            FAILURE(&err));
}

static int insert(struct act *a, const char *snapshot_id, struct backup_record *ret,
                  struct error *err)
{
	const struct sandbox_record *r = &a->record;
	struct id id = id_new();

	*ret = (struct backup_record){
	        .id = arena_text(a->arena, id.text),
	        .project_id = r->project_id,
	        .holder_id = r->id,
	        .snapshot_id = snapshot_id,
	        .snapshot_name = "",
	        .template_id = r->template_id,
	        .template_name = r->template_name,
	        .template_digest = "",
	        .node = a->fleet->node,
	        .state = BACKUP_MAKING,
	        .state_text = "0 % begins",
	        .sha256 = "",
	        .created_at = clock_unix_ms(),
	};
	ret->name = ret->id;
	return store_backup_insert(a->fleet->store, ret, FLEET_BACKUPS_MAX, err);
}

/* A snapshot of one that is stopped is a rename. */
static int store_files(struct act *a, const char *snapshot_id, struct backup_record *row,
                       struct error *err)
{
	struct fleet *f = a->fleet;
	const struct sandbox_record *r = &a->record;
	const struct provider_snapshot take = {r->id, snapshot_id, false};
	const struct snapshot_record snapshot = {
	        .id = snapshot_id,
	        .name = r->name,
	        .sandbox_id = r->id,
	        .sandbox_name = r->name,
	        .parent_id = "",
	        .template_id = r->template_id,
	        .template_name = r->template_name,
	        .provider = r->provider,
	        .node = r->node,
	        .created_at = clock_unix_ms(),
	};
	struct backup_source source = {.snapshot = &snapshot};
	struct provider_snapshot_made made;

	if (backup_open(f, a->arena, row->id, &source.writer, err) < 0)
		return -1;
	if (f->ops->snapshots->take(f->provider, &take, deadline_in(CALL_TIMEOUT_MS), &made, err) <
	    0) {
		blob_abort(source.writer);
		return -1;
	}
	fault_point("api", "archive-snapshotted");
	if (backup_store(f, a->arena, row, &source, err) < 0) {
		remove_snapshot(f, snapshot_id);
		return -1;
	}
	return 0;
}

static void forget(struct fleet *f, const char *id)
{
	struct error err = {0};

	if (backup_drop(f, id, &err) < 0)
		log_warning("half an archive is left until the next start", TEXT("backup", id),
		            FAILURE(&err));
}

int act_archive(struct act *a, struct error *err)
{
	struct fleet *f = a->fleet;
	struct id id = id_new();
	const char *snapshot_id = arena_text(a->arena, id.text);
	struct act_move archived = {.to = SANDBOX_ARCHIVED, .desired = SANDBOX_ARCHIVED};
	struct backup_record row;

	if (a->record.actual != SANDBOX_STOPPED)
		return refuse_state(&a->record, "archived", err);
	if (backup_check(f, err) < 0 || meters_settle_files(f, a->record.id, err) < 0 ||
	    holdings_settle(f, a->record.id, err) < 0 || insert(a, snapshot_id, &row, err) < 0)
		return -1;
	fault_point("api", "archive-recorded");
	if (store_files(a, snapshot_id, &row, err) < 0) {
		forget(f, row.id);
		return FAIL_CONTEXT(err, "archive sandbox '%s'", a->record.name);
	}
	fault_point("api", "archive-stored");
	archived.event = arena_format(a->arena, "archived: %lld files in %lld bytes",
	                              (long long)row.files, (long long)row.size_bytes);
	if (act_move(a, &archived, err) < 0) {
		remove_snapshot(f, snapshot_id);
		forget(f, row.id);
		return -1;
	}
	fault_point("api", "archive-moved");
	act_clear(a);
	remove_snapshot(f, snapshot_id);
	return 0;
}

/* ---- and back ---- */

/* The row says CREATING, and nothing is lost: the archive is there still. */
static void go_back(struct act *a, const struct error *why)
{
	const struct act_move back = {
	        .to = SANDBOX_ARCHIVED,
	        .desired = SANDBOX_ARCHIVED,
	        .event = arena_format(a->arena, "start failed: %s", why->text),
	};
	struct error err = {0};

	act_clear(a);
	if (act_move(a, &back, &err) < 0)
		log_warning("a failed start is not marked yet", TEXT("sandbox", a->record.id),
		            FAILURE(&err));
}

static int start_from(struct act *a, const char *snapshot_id, const struct template_record *t,
                      int64_t begun_ns, struct error *err)
{
	struct fleet *f = a->fleet;
	const struct act_move creating = {.to = SANDBOX_CREATING,
	                                  .desired = SANDBOX_STARTED,
	                                  .event = "being brought back from the archive"};
	struct error ignored = {0};

	/* What an archiving that was cut short has left would be in the way. */
	act_clear(a);
	if (act_move(a, &creating, err) < 0)
		return -1;
	fault_point("api", "unarchive-recorded");
	a->snapshot = snapshot_id;
	if (act_recreate(a, t, begun_ns, err) < 0) {
		if (a->record.actual == SANDBOX_CREATING)
			go_back(a, err);
		return FAIL_CONTEXT(err, "start sandbox '%s'", a->record.name);
	}
	fault_point("api", "unarchive-started");
	/* It lies on nothing that has a name. */
	(void)!store_snapshot_set_base(f->store, a->record.id, "", &ignored);
	return 0;
}

int act_unarchive(struct act *a, const struct template_record *t, int64_t begun_ns,
                  struct error *err)
{
	struct fleet *f = a->fleet;
	struct id id = id_new();
	struct backup_record held;
	const struct backup_fetch fetch = {&held, arena_text(a->arena, id.text), ""};
	int status;

	if (backup_check(f, err) < 0 || find_held(f, a->arena, a->record.id, &held, err) < 0)
		return -1;
	status = backup_fetch(f, a->arena, &fetch, err);
	fault_point("api", "unarchive-loaded");
	if (status == 0)
		status = start_from(a, fetch.snapshot_id, t, begun_ns, err);
	/* A sandbox that lies on it goes on. */
	remove_snapshot(f, fetch.snapshot_id);
	if (a->record.actual != SANDBOX_ARCHIVED && a->record.actual != SANDBOX_CREATING)
		archive_drop(f, a->record.id);
	return status;
}

/* ---- on request ---- */

void archive_key(const char *sandbox_id, char ret[ERROR_AWAITS_MAX])
{
	waiting_key("archive", sandbox_id, ret);
}

static int run_archive(struct fleet *f, UNUSED struct arena *arena, const struct shared_work *work,
                       UNUSED const char **ret_text, struct error *err)
{
	AUTO(arena_done) struct arena own = {0};
	AUTO(act_end) struct act act = {0};

	if (act_begin(f, &own, work->texts[0], deadline_in(CALL_TIMEOUT_MS), &act, err) < 0)
		return -1;
	return act.record.actual == SANDBOX_ARCHIVED ? 0 : act_archive(&act, err);
}

/* A state that another thread may be about to change is judged when the work begins. */
static int check_archive(struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (r->actual == SANDBOX_STOPPED || cache_is_attended(&f->cache, r->id))
		return 0;
	return refuse_state(r, "archived", err);
}

int fleet_archive(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                  struct sandbox_record *ret, struct error *err)
{
	struct shared_work work = {.lane = fleet->waiting.backups, .run = run_archive};
	struct sandbox_record r;
	int result;

	if (backup_check(fleet, err) < 0 ||
	    store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    provider_check(fleet, &r, err) < 0)
		return -1;
	archive_key(r.id, work.key);
	if (r.actual == SANDBOX_ARCHIVED) {
		*ret = r;
		return 0;
	}
	work.project_id = r.project_id;
	work.what = arena_format(a, "sandbox '%s' is being archived", r.name);
	work.texts[0] = r.id;
	if (!shared_work_join(fleet, work.key, ref->awaited, &result, err))
		result = check_archive(fleet, &r, err) < 0
		                 ? -1
		                 : shared_work_do(fleet, a, &work, ref->awaited, NULL, err);
	if (result < 0 || store_sandbox_find(fleet->store, a, r.project_id, r.id, ret, err) < 0)
		return -1;
	return ret->actual == SANDBOX_ARCHIVED ? 0 : refuse_state(ret, "archived", err);
}
