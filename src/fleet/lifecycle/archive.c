/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/archive.h"

#include <string.h>

#include "base/fault.h"
#include "base/id.h"
#include "fleet/backup/backup.h"
#include "fleet/backup/backups.h"
#include "fleet/core/background_work.h"
#include "fleet/core/cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/shared_work.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/usage/meters.h"
#include "provider/snapshots.h"
#include "store/sandboxes.h"

/* The archive in READY; ERROR_NOT_FOUND if there is none. */
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

	return f->blobs && find_held(f, &arena, sandbox_id, &held, &(struct error){0}) == 0;
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

static void remove_snapshot(struct fleet *f, const char *id)
{
	struct error err = {0};

	/* The snapshot has no row: the next sweep removes what is left. */
	if (f->ops->snapshots->remove(f->provider, id, deadline_after(CALL_TIMEOUT_MS), &err) < 0)
		log_warning("a snapshot is left for the next sweep", TEXT("snapshot", id),
		            FAILURE(&err));
}

static int insert_backup(struct operation *op, const char *snapshot_id, struct backup_record *ret,
                         struct error *err)
{
	const struct sandbox_record *r = &op->record;

	*ret = (struct backup_record){.project_id = r->project_id,
	                              .holder_id = r->id,
	                              .snapshot_id = snapshot_id,
	                              .template_id = r->template_id,
	                              .template_name = r->template_name,
	                              .state_text = "0 % begins"};
	backup_begin(op->fleet, op->arena, ret);
	return store_backup_insert(op->fleet->store, ret, FLEET_BACKUPS_MAX, err);
}

/* A snapshot of a stopped sandbox is a rename. */
static int archive_files(struct operation *op, const char *snapshot_id, struct backup_record *row,
                         struct error *err)
{
	struct fleet *f = op->fleet;
	const struct sandbox_record *r = &op->record;
	const struct provider_snapshot take = {r->id, snapshot_id, false};
	const struct snapshot_record snapshot = {
	        .id = snapshot_id,
	        .name = r->name,
	        .sandbox_id = r->id,
	        .sandbox_name = r->name,
	        .parent_id = "",
	        .template_id = r->template_id,
	        .template_name = r->template_name,
	        .provider = f->primary,
	        .node = r->node,
	        .created_at = clock_unix_ms(),
	};
	struct backup_source source = {.snapshot = &snapshot};
	struct provider_snapshot_made made;

	if (backup_open(f, op->arena, row->id, &source.writer, err) < 0)
		return -1;
	if (op->ops->snapshots->take(op->provider, &take, deadline_after(CALL_TIMEOUT_MS), &made,
	                             err) < 0) {
		blob_abort(source.writer);
		return -1;
	}
	fault_point("api", "archive-snapshotted");
	if (backup_store(f, op->arena, row, &source, err) < 0) {
		remove_snapshot(f, snapshot_id);
		return -1;
	}
	return 0;
}

static void drop_backup(struct fleet *f, const char *id)
{
	struct error err = {0};

	if (backup_drop(f, id, &err) < 0)
		log_warning("half an archive is left until the next start", TEXT("backup", id),
		            FAILURE(&err));
}

int archive_create(struct operation *op, struct error *err)
{
	struct fleet *f = op->fleet;
	struct id id = id_new();
	const char *snapshot_id = arena_text(op->arena, id.text);
	struct operation_move archived = {.to = SANDBOX_ARCHIVED, .desired = SANDBOX_ARCHIVED};
	struct backup_record row;

	if (op->record.actual != SANDBOX_STOPPED)
		return refuse_state(&op->record, "archived", err);
	if (backup_check(f, err) < 0 ||
	    sandbox_require(op->fleet, &op->record, PROVIDER_CAN_BACKUP, err) < 0 ||
	    meters_write_files(f, op->record.id, err) < 0 ||
	    holdings_meter_sandbox(f, op->record.id, err) < 0 ||
	    insert_backup(op, snapshot_id, &row, err) < 0)
		return -1;
	fault_point("api", "archive-recorded");
	if (archive_files(op, snapshot_id, &row, err) < 0) {
		drop_backup(f, row.id);
		return FAIL_CONTEXT(err, "archive sandbox '%s'", op->record.name);
	}
	fault_point("api", "archive-stored");
	archived.event = arena_format(op->arena, "archived: %lld files in %lld bytes",
	                              (long long)row.files, (long long)row.size_bytes);
	if (operation_move(op, &archived, err) < 0) {
		remove_snapshot(f, snapshot_id);
		drop_backup(f, row.id);
		return -1;
	}
	fault_point("api", "archive-moved");
	lifecycle_destroy(op);
	remove_snapshot(f, snapshot_id);
	return 0;
}

/* The row says CREATING, and the archive still exists. */
static void return_to_archived(struct operation *op, const struct error *why)
{
	const struct operation_move back = {
	        .to = SANDBOX_ARCHIVED,
	        .desired = SANDBOX_ARCHIVED,
	        .event = arena_format(op->arena, "start failed: %s", why->text),
	};
	struct error err = {0};

	lifecycle_destroy(op);
	if (operation_move(op, &back, &err) < 0)
		log_warning("a failed start is not marked yet", TEXT("sandbox", op->record.id),
		            FAILURE(&err));
}

static int start_from_snapshot(struct operation *op, const char *snapshot_id,
                               const struct template_record *t, int64_t begun_ns, struct error *err)
{
	struct fleet *f = op->fleet;
	const struct operation_move creating = {.to = SANDBOX_CREATING,
	                                        .desired = SANDBOX_STARTED,
	                                        .event = "being brought back from the archive"};

	/* Leftovers of an interrupted archiving would be in the way. */
	lifecycle_destroy(op);
	if (operation_move(op, &creating, err) < 0)
		return -1;
	fault_point("api", "unarchive-recorded");
	op->snapshot = snapshot_id;
	if (lifecycle_recreate(op, t, begun_ns, err) < 0) {
		if (op->record.actual == SANDBOX_CREATING)
			return_to_archived(op, err);
		return FAIL_CONTEXT(err, "start sandbox '%s'", op->record.name);
	}
	fault_point("api", "unarchive-started");
	/* The sandbox has no named base any more. */
	(void)!store_snapshot_set_base(f->store, op->record.id, "", &(struct error){0});
	return 0;
}

int archive_restore(struct operation *op, const struct template_record *t, int64_t begun_ns,
                    struct error *err)
{
	struct fleet *f = op->fleet;
	struct id id = id_new();
	struct backup_record held;
	const struct backup_fetch fetch = {&held, arena_text(op->arena, id.text), ""};
	int status;

	if (backup_check(f, err) < 0 || find_held(f, op->arena, op->record.id, &held, err) < 0)
		return -1;
	status = backup_fetch(f, op->arena, &fetch, err);
	fault_point("api", "unarchive-loaded");
	if (status == 0)
		status = start_from_snapshot(op, fetch.snapshot_id, t, begun_ns, err);
	/* A sandbox on top of the snapshot continues. */
	remove_snapshot(f, fetch.snapshot_id);
	if (op->record.actual != SANDBOX_ARCHIVED && op->record.actual != SANDBOX_CREATING)
		archive_drop(f, op->record.id);
	return status;
}

void archive_key(const char *sandbox_id, char ret[ERROR_AWAITS_MAX])
{
	awaited_key("archive", sandbox_id, ret);
}

static int run_archive(struct fleet *f, UNUSED struct arena *arena, const struct shared_work *work,
                       UNUSED const char **ret_text, struct error *err)
{
	AUTO(arena_done) struct arena own = {0};
	AUTO(operation_end) struct operation op = {0};

	if (operation_begin(f, &own, work->texts[0], deadline_after(CALL_TIMEOUT_MS), &op, err) < 0)
		return -1;
	return op.record.actual == SANDBOX_ARCHIVED ? 0 : archive_create(&op, err);
}

/* If another thread may be about to change the state, the work itself checks it. */
static int check_archive(struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	if (r->actual == SANDBOX_STOPPED || cache_is_busy(f->cache, r->id))
		return 0;
	return refuse_state(r, "archived", err);
}

int fleet_archive(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                  struct sandbox_record *ret, struct error *err)
{
	struct shared_work work = {.lane = fleet->background->backup_lane, .run = run_archive};
	struct sandbox_record r;
	int result;

	if (backup_check(fleet, err) < 0 ||
	    store_sandbox_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    sandbox_check_local(fleet, &r, err) < 0)
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
