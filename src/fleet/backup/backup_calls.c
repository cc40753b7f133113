/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/id.h"
#include "fleet/backup/backup.h"
#include "fleet/backup/backups.h"
#include "fleet/core/background_work.h"
#include "fleet/core/elsewhere.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/shared_work.h"
#include "fleet/core/waiting.h"
#include "fleet/core/work_lane.h"
#include "fleet/snapshot/snapshot.h"
#include "fleet/template/templates.h"
#include "fleet/usage/storage_limit.h"
#include "provider/provider.h"

#define IMPORT_KIND "import" /* of keys that are awaited */

int fleet_backup_find(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      struct backup_record *ret, struct error *err)
{
	return store_backup_find(fleet->store, a, ref->project_id, ref->id_or_name, ret, err);
}

static int find_ready(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                      struct backup_record *ret, struct error *err)
{
	if (backup_check(f, err) < 0 || fleet_backup_find(f, a, ref, ret, err) < 0)
		return -1;
	if (ret->state == BACKUP_READY)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT, "backup '%s' is %s, not ready", ret->name,
	           backup_state_name(ret->state));
	if (*ret->state_text)
		error_hint(err, "%s", ret->state_text);
	return -1;
}

/* Servers may have blob folders of their own. A blob that is not in this one is read and removed by
 * the server that made it. */
static int check_here(struct fleet *f, struct arena *a, const struct backup_record *r,
                      struct error *err)
{
	struct blob_stat found;

	if (strcmp(r->node, f->node) == 0 ||
	    blob_stat(f->blobs, fleet_backup_blob(a, r->id), &found, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return elsewhere_fail(f, &(struct elsewhere){"backup", r->name, "is", r->node}, err);
}

/* Belongs to a worker and outlives its request. */
struct export_task {
	struct work_lane_task task;
	struct arena arena;
	struct fleet *fleet;
	struct backup_record record;
	struct snapshot_record snapshot;
	struct blob_writer *writer;
	bool has_row;
};

static void export_free(struct export_task *e)
{
	blob_abort(e->writer);
	arena_done(&e->arena);
	free(e);
}

/* Writes the reason into the row; if the backup was removed meanwhile, nothing remains. */
static void write_failure(struct export_task *e, const struct error *why)
{
	struct error err = {0};

	e->record.state = BACKUP_FAILED;
	e->record.state_text = why->text;
	if (store_backup_update(e->fleet->store, &e->record, false, &err) == 0)
		return;
	error_clear(&err);
	if (backup_drop(e->fleet, e->record.id, &err) < 0)
		log_warning("a removed backup is left", TEXT("backup", e->record.id),
		            FAILURE(&err));
}

static void run_export(struct work_lane_task *task)
{
	struct export_task *e = CONTAINER_OF(task, struct export_task, task);
	struct blob_writer *writer = TAKE(e->writer);
	const struct backup_source source = {&e->snapshot, writer};
	struct error err = {0};

	if (backup_store(e->fleet, &e->arena, &e->record, &source, &err) < 0) {
		log_warning("backup not made", TEXT("backup", e->record.id), FAILURE(&err));
		write_failure(e, &err);
	} else {
		log_info("backup made", TEXT("backup", e->record.id),
		         TEXT("snapshot", e->snapshot.id), NUMBER("bytes", e->record.size_bytes));
	}
	export_free(e);
}

/* The export does not run: removes its row. */
static void export_abort(struct export_task *e)
{
	struct error err = {0};

	if (e->has_row && store_backup_remove(e->fleet->store, e->record.id, &err) < 0)
		log_warning("a backup that nobody makes is left", FAILURE(&err));
	export_free(e);
}

/* Reserves what an export needs besides its snapshot: a blob to write to, and a row. */
static int export_reserve(struct export_task *e, const struct fleet_backup_export *request,
                          struct error *err)
{
	struct fleet *f = e->fleet;

	e->record = (struct backup_record){.project_id = request->snapshot.project_id,
	                                   .name = request->name,
	                                   .state_text = "0 % begins",
	                                   .is_full = request->full};
	backup_begin(f, &e->arena, &e->record);
	if (backup_open(f, &e->arena, e->record.id, &e->writer, err) < 0 ||
	    store_backup_insert(f->store, &e->record, FLEET_BACKUPS_MAX, err) < 0)
		return -1;
	e->has_row = true;
	fault_point("api", "backup-recorded");
	return 0;
}

static int export_new(struct fleet *f, const struct fleet_backup_export *request,
                      struct export_task **ret, struct error *err)
{
	struct export_task *e;
	const struct storage_claim claim = {request->snapshot.project_id, "", 0};
	int64_t room;

	if (backup_check(f, err) < 0 ||
	    (request->name && sandbox_name_check(request->name, err) < 0) ||
	    storage_room(f, &claim, &room, err) < 0)
		return -1;
	e = memory_new(sizeof(*e));
	e->fleet = f;
	e->task = (struct work_lane_task){.run = run_export};
	if (export_reserve(e, request, err) < 0) {
		export_abort(e);
		return -1;
	}
	*ret = e;
	return 0;
}

/* Queues the export of this snapshot, whose texts are copied. Afterwards the worker owns `e`; if it
 * fails `e` is freed. */
static int export_begin(struct export_task *e, struct arena *a, const char *snapshot_id,
                        struct backup_record *ret, struct error *err)
{
	struct store *store = e->fleet->store;
	const struct snapshot_record *s = &e->snapshot;
	const char *id = arena_text(a, e->record.id);

	if (store_snapshot_find(store, &e->arena, NULL, snapshot_id, &e->snapshot, err) == 0) {
		e->record.snapshot_id = s->id;
		e->record.snapshot_name = s->name;
		e->record.template_id = s->template_id;
		e->record.template_name = s->template_name;
		/* Read before the task is queued: the worker owns it then. */
		if (store_backup_update(store, &e->record, true, err) == 0 &&
		    store_backup_find(store, a, NULL, id, ret, err) == 0 &&
		    work_lane_submit(fleet_backup_work(e->fleet), &e->task, s->project_id, err) ==
		            0)
			return 0;
	}
	export_abort(e);
	return -1;
}

static int check_full(struct fleet *f, struct arena *a, const struct snapshot_record *s,
                      struct error *err)
{
	struct template_record t;

	if (store_template_find(f->store, a, NULL, s->template_id, &t, err) < 0)
		return -1;
	if (strcmp(t.folder, "host") != 0)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "no full backup of template '%s': it is the machine itself", t.name);
	return FAIL_HINT(err, "leave out \"full\", or use another template");
}

int fleet_backup_export(struct fleet *fleet, struct arena *a,
                        const struct fleet_backup_export *request, struct backup_record *ret,
                        struct error *err)
{
	struct snapshot_record s;
	struct export_task *e;

	if (backup_check(fleet, err) < 0 ||
	    snapshot_find_ready(fleet, a, &request->snapshot, &s, err) < 0 ||
	    snapshot_require(fleet, &s, PROVIDER_CAN_BACKUP, err) < 0 ||
	    (request->full && check_full(fleet, a, &s, err) < 0) ||
	    export_new(fleet, request, &e, err) < 0)
		return -1;
	return export_begin(e, a, s.id, ret, err);
}

int fleet_snapshot_with_backup(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                               const struct fleet_snapshot *request, struct fleet_backed_up *ret,
                               struct error *err)
{
	const struct fleet_backup_export export = {.snapshot = {.project_id = ref->project_id}};
	struct fleet_ref made = {.project_id = ref->project_id};
	struct error second = {0};
	struct export_task *e;

	if (export_new(fleet, &export, &e, err) < 0)
		return FAIL_CONTEXT(err, "backup");
	if (fleet_snapshot(fleet, a, ref, request, &ret->snapshot, err) < 0) {
		export_abort(e);
		return -1;
	}
	if (snapshot_require(fleet, &ret->snapshot, PROVIDER_CAN_BACKUP, err) < 0)
		export_abort(e);
	else if (export_begin(e, a, ret->snapshot.id, &ret->backup, err) == 0)
		return 0;
	made.id_or_name = ret->snapshot.id;
	if (fleet_snapshot_remove(fleet, a, &made, &second) < 0)
		log_warning("a snapshot is left without its backup",
		            TEXT("snapshot", ret->snapshot.id), FAILURE(&second));
	return FAIL_CONTEXT(err, "backup");
}

static struct snapshot_record snapshot_of(const struct fleet *f, struct arena *a,
                                          const struct fleet_backup_import *request,
                                          const struct template_record *t)
{
	struct id id = id_new();
	const char *text = arena_text(a, id.text);

	return (struct snapshot_record){
	        .id = text,
	        .project_id = request->project_id,
	        .name = request->name ? request->name : text,
	        .sandbox_id = "",
	        .sandbox_name = "",
	        .parent_id = "",
	        .template_id = t->id,
	        .template_name = t->name,
	        .provider = f->primary,
	        .node = f->node,
	        .state = SNAPSHOT_MAKING,
	        .method = "import",
	        .because = "",
	        .depth = 1,
	        .created_at = clock_unix_ms(),
	};
}

static int load_snapshot(struct fleet *f, struct arena *a, const struct backup_record *b,
                         const struct template_record *t, struct snapshot_record *s,
                         struct error *err)
{
	const struct backup_fetch from = {b, s->id, t->folder};
	const struct storage_claim claim = {s->project_id, s->id, 0};
	struct error second = {0};

	if (snapshot_insert(f, s, err) < 0)
		return -1;
	if (storage_expect(f, &claim, b->files_bytes, err) == 0 &&
	    backup_fetch(f, a, &from, err) == 0) {
		fault_point("api", "import-unpacked");
		s->state = SNAPSHOT_READY;
		if (store_snapshot_update(f->store, s, false, err) == 0)
			return 0;
	}
	if (snapshot_drop(f, s->id, &second) < 0)
		log_warning("a failed import is left for the next sweep", FAILURE(&second));
	return FAIL_CONTEXT(err, "import backup '%s'", b->name);
}

/* A template that the import has made is removed if the import fails. */
static int load_on_own(struct fleet *f, struct arena *a, const struct fleet_backup_import *request,
                       const struct backup_record *b, struct snapshot_record *ret,
                       struct error *err)
{
	struct backup_base base;
	struct error second = {0};

	if (backup_base_make(f, a, request, b, &base, err) < 0)
		return -1;
	fault_point("api", "import-templated");
	*ret = snapshot_of(f, a, request, &base.record);
	if (load_snapshot(f, a, b, &base.record, ret, err) == 0)
		return 0;
	if (base.is_made &&
	    fleet_template_remove(f, request->project_id, base.record.id, &second) < 0)
		log_warning("the template of a failed import is left",
		            TEXT("template", base.record.name), FAILURE(&second));
	return -1;
}

static int import_backup(struct fleet *f, struct arena *a,
                         const struct fleet_backup_import *request, const struct backup_record *b,
                         struct snapshot_record *ret, struct error *err)
{
	struct backup_base base;

	if (backup_base_find(f, a, request, b, &base, err) == 0) {
		*ret = snapshot_of(f, a, request, &base.record);
		if (load_snapshot(f, a, b, &base.record, ret, err) == 0)
			return 0;
		if (!base.is_guess || err->code != ERROR_CONFLICT)
			return -1;
	} else if (!b->is_full || err->code != ERROR_NOT_FOUND) {
		return -1;
	}
	error_clear(err);
	return load_on_own(f, a, request, b, ret, err);
}

/* The texts of import_work. */
enum { IMPORT_PROJECT, IMPORT_BACKUP, IMPORT_NAME, IMPORT_TEMPLATE };

static int run_import(struct fleet *f, struct arena *arena, const struct shared_work *work,
                      const char **ret_text, struct error *err)
{
	AUTO(arena_done) struct arena own = {0};
	const struct fleet_backup_import request = {.project_id = work->texts[IMPORT_PROJECT],
	                                            .backup = work->texts[IMPORT_BACKUP],
	                                            .name = work->texts[IMPORT_NAME],
	                                            .template = work->texts[IMPORT_TEMPLATE]};
	const struct fleet_ref ref = {request.project_id, request.backup};
	struct snapshot_record made;
	struct backup_record b;

	if (find_ready(f, &own, &ref, &b, err) < 0 ||
	    import_backup(f, &own, &request, &b, &made, err) < 0)
		return -1;
	*ret_text = arena_text(arena, made.id);
	return 0;
}

/* Each request is work of its own. Its key is new, or the key that the call awaited before. */
static void import_key(const struct fleet_awaited *awaited, char ret[ERROR_AWAITS_MAX])
{
	struct id id = id_new();

	if (awaited && awaited->key && strncmp(awaited->key, IMPORT_KIND ":", 7) == 0)
		(void)snprintf(ret, ERROR_AWAITS_MAX, "%s", awaited->key);
	else
		awaited_key(IMPORT_KIND, id.text, ret);
}

int fleet_backup_import(struct fleet *fleet, struct arena *a,
                        const struct fleet_backup_import *request, struct snapshot_record *ret,
                        struct error *err)
{
	const struct fleet_ref ref = {request->project_id, request->backup};
	struct shared_work work = {
	        .project_id = request->project_id,
	        .what = arena_format(a, "backup '%s' is being imported", request->backup),
	        .lane = fleet->background->backup_lane,
	        .run = run_import,
	        .texts = {[IMPORT_PROJECT] = request->project_id,
	                  [IMPORT_BACKUP] = request->backup,
	                  [IMPORT_NAME] = request->name,
	                  [IMPORT_TEMPLATE] = request->template},
	};
	const char *id;
	struct backup_record b;

	if ((request->name && sandbox_name_check(request->name, err) < 0) ||
	    find_ready(fleet, a, &ref, &b, err) < 0 || check_here(fleet, a, &b, err) < 0)
		return -1;
	import_key(request->awaited, work.key);
	if (shared_work_do(fleet, a, &work, request->awaited, &id, err) < 0)
		return -1;
	return store_snapshot_find(fleet->store, a, request->project_id, id, ret, err);
}

static bool has_blob(struct fleet *f, struct arena *a, const char *id)
{
	struct blob_stat found;

	return blob_stat(f->blobs, fleet_backup_blob(a, id), &found, &(struct error){0}) == 0;
}

/* For a backup that another server makes or removes a file may exist or not. If that server does
 * not answer, the row tells it: it cleans up at the end of its work, or at its next start. */
static int find_remover(struct fleet *f, struct arena *a, const struct backup_record *r,
                        bool *ret_is_its_makers, struct error *err)
{
	bool is_reached;

	*ret_is_its_makers = r->state == BACKUP_MAKING && strcmp(r->node, f->node) == 0;
	/* A failed backup has only a row. */
	if (r->state == BACKUP_FAILED || check_here(f, a, r, err) == 0)
		return 0;
	if (r->state == BACKUP_READY || err->code != ERROR_CONFLICT ||
	    peer_is_reached(f, a, r->node, &is_reached, &(struct error){0}) < 0 || is_reached)
		return -1;
	error_clear(err);
	*ret_is_its_makers = true;
	return 0;
}

int fleet_backup_remove(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                        struct error *err)
{
	struct backup_record r;
	bool is_its_makers;

	if (backup_check(fleet, err) < 0 || fleet_backup_find(fleet, a, ref, &r, err) < 0)
		return -1;
	if (*r.holder_id) {
		(void)FAIL(err, ERROR_CONFLICT, "backup '%s' is all that an archived sandbox has",
		           r.name);
		return FAIL_HINT(err, "delete sandbox '%s'", r.holder_id);
	}
	if (find_remover(fleet, a, &r, &is_its_makers, err) < 0)
		return -1;
	r.state = BACKUP_REMOVING;
	if (store_backup_update(fleet->store, &r, false, err) < 0 && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	fault_point("api", "backup-removing");
	/* The maker sees the new state and cleans up; if it has just finished, the blob exists and
	 * is dropped here. */
	return is_its_makers && !has_blob(fleet, a, r.id) ? 0 : backup_drop(fleet, r.id, err);
}

int fleet_backup_open(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                      struct fleet_backup_content *content, struct error *err)
{
	const struct blob_range range = {content->offset, content->size};

	if (find_ready(fleet, a, ref, &content->record, err) < 0 ||
	    check_here(fleet, a, &content->record, err) < 0)
		return -1;
	return blob_get(fleet->blobs, fleet_backup_blob(a, content->record.id), range, &content->fd,
	                &content->size, err);
}
