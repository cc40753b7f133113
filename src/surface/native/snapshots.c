/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/snapshots — snapshots of a sandbox's files, forks, restores and resets. */
#include "surface/native/snapshots.h"

#include <string.h>

#include "edge/api.h"
#include "edge/idempotency.h"
#include "fleet/backup/backups.h"
#include "fleet/sandbox/fork.h"
#include "store/figures.h"
#include "store/relations.h"
#include "surface/native/native.h"
#include "surface/native/sandbox_answer.h"

#define BASE "/api/sandbox/snapshots"
#define INSTANCE "/api/sandbox/instances/:id"

struct snapshot_body {
	const char *name;
	bool sync, memory, backup;
	uint64_t present;
};
enum snapshot_row { SNAPSHOT_NAME, SNAPSHOT_SYNC, SNAPSHOT_MEMORY };
static const struct json_member snapshot_request_members[] = {
        [SNAPSHOT_NAME] = JSON_TEXT_MEMBER(snapshot_body, name, .max = SANDBOX_NAME_MAX,
                                           .about = "unique in the project (default: its id)"),
        [SNAPSHOT_SYNC] =
                JSON_BOOL_MEMBER(snapshot_body, sync,
                                 .about = "answer when the snapshot is on disk (default true); the "
                                          "sandbox is not frozen for that time"),
        [SNAPSHOT_MEMORY] = JSON_BOOL_MEMBER(snapshot_body, memory,
                                             .about = "include the processes (default false); "
                                                      "only virtual machines can, the error of "
                                                      "other sandboxes says why"),
        JSON_BOOL_MEMBER(snapshot_body, backup,
                         .about = "also start a backup in the blob store; it outlives the snapshot "
                                  "and the server"),
};
JSON_BITS_SHAPE(snapshot_request, "SnapshotCreate", snapshot_body, "Options of a snapshot");

struct snapshot_answer {
	const char *id, *name, *project, *sandbox, *sandbox_name, *parent, *template, *provider;
	const char *state, *method, *because;
	int64_t depth, created_at, size_bytes, sandboxes;
	double frozen_ms;
	bool backup;
	struct json_list backups, lineage;
};
struct snapshot_backup_answer {
	const char *id, *name, *state, *blob;
};
static const struct json_member snapshot_backup_shape_members[] = {
        JSON_TEXT_MEMBER(snapshot_backup_answer, id),
        JSON_TEXT_MEMBER(snapshot_backup_answer, name),
        JSON_TEXT_MEMBER(snapshot_backup_answer, state, .about = "making or ready"),
        JSON_TEXT_MEMBER(snapshot_backup_answer, blob, .about = "name in the blob store"),
};
static JSON_SHAPE(snapshot_backup_shape, "SnapshotBackup", snapshot_backup_answer,
                  "A backup of a snapshot");
static const struct json_member snapshot_shape_members[] = {
        JSON_TEXT_MEMBER(snapshot_answer, id),
        JSON_TEXT_MEMBER(snapshot_answer, name),
        JSON_TEXT_MEMBER(snapshot_answer, project),
        JSON_TEXT_MEMBER(snapshot_answer, sandbox,
                         .about = "id of the sandbox that the snapshot was taken of"),
        JSON_TEXT_MEMBER(snapshot_answer, sandbox_name),
        JSON_TEXT_MEMBER(snapshot_answer, parent, .flags = JSON_NULLABLE,
                         .about = "id of the snapshot below the sandbox's files; null: only the "
                                  "template is below them"),
        JSON_TEXT_MEMBER(snapshot_answer, template),
        JSON_TEXT_MEMBER(snapshot_answer, provider),
        JSON_TEXT_MEMBER(snapshot_answer, state, .about = "making, ready, removing or lost"),
        JSON_TEXT_MEMBER(
                snapshot_answer, method,
                .about = "rename: the sandbox was stopped; switch: its processes moved to another "
                         "root; copy: its files were copied while the processes were frozen; "
                         "memory: a "
                         "copy with the memory of the processes"),
        JSON_TEXT_MEMBER(snapshot_answer, because, .flags = JSON_NULLABLE,
                         .about = "why the files were copied instead of switched"),
        JSON_WHOLE_MEMBER(snapshot_answer, depth,
                          .about = "number of layers on top of the template"),
        JSON_NUMBER_MEMBER(snapshot_answer, frozen_ms,
                           .about = "how long the processes were frozen"),
        JSON_TIME_MEMBER(snapshot_answer, created_at),
        JSON_WHOLE_MEMBER(snapshot_answer, size_bytes,
                          .about = "bytes of its own layer, as last measured; -1: not measured "
                                   "yet"),
        JSON_WHOLE_MEMBER(snapshot_answer, sandboxes,
                          .about = "number of sandboxes that were made of it and exist"),
        JSON_BOOL_MEMBER(snapshot_answer, backup,
                         .about = "whether a backup of the snapshot is ready"),
        JSON_LIST_MEMBER(
                snapshot_answer, backups, &snapshot_backup_shape,
                .about = "backups of the snapshot, ready or in progress; see /api/sandbox/backups"),
        JSON_LIST_MEMBER(
                snapshot_answer, lineage, &lineage_step_shape, .flags = JSON_NULLABLE,
                .about = "snapshots below it, uppermost first, at most 64, then the template; only "
                         "GET of one snapshot returns it, other replies have null"),
};
JSON_SHAPE(snapshot_shape, "Snapshot", snapshot_answer, "The files of a sandbox at one moment");

struct snapshot_list_query {
	const char *sandbox, *page;
	int64_t limit;
};
static const struct json_member snapshot_list_query_members[] = {
        JSON_TEXT_MEMBER(snapshot_list_query, sandbox, .max = 64,
                         .about = "name or id of a sandbox; only its snapshots"),
        JSON_TEXT_MEMBER(snapshot_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(snapshot_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(snapshot_list_query, "SnapshotListQuery", snapshot_list_query,
                  "Filter for snapshots");

static const struct json_member snapshot_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &snapshot_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(snapshot_list_shape, "SnapshotList", list_answer, "One page of snapshots");

struct sandbox_fork_body {
	const char *name;
	int64_t count;
	bool memory;
};
static const struct json_member fork_request_members[] = {
        JSON_WHOLE_MEMBER(sandbox_fork_body, count, .min = 1, .max = FLEET_FORK_MAX,
                          .about = "number of forks (default 1)"),
        JSON_TEXT_MEMBER(sandbox_fork_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "name of the fork; several forks get NAME-1, NAME-2 … (default: "
                                  "generated)"),
        JSON_BOOL_MEMBER(sandbox_fork_body, memory,
                         .about = "the forks continue with the processes of the sandbox and share "
                                  "its memory until they write it (default false); only virtual "
                                  "machines can"),
};
static JSON_SHAPE(fork_request, "Fork", sandbox_fork_body, "Options of a fork");

struct sandbox_fork_answer {
	struct json_list items, volumes, volumes_left_out;
	struct snapshot_answer snapshot;
};
static const struct json_member sandbox_fork_answer_members[] = {
        JSON_LIST_MEMBER(sandbox_fork_answer, items, &sandbox_shape),
        JSON_OBJECT_MEMBER(sandbox_fork_answer, snapshot, &snapshot_shape),
        JSON_LIST_MEMBER(
                sandbox_fork_answer, volumes, &attached_volume,
                .about = "volumes that the forks share with the original sandbox, all read-only"),
        JSON_LIST_MEMBER(
                sandbox_fork_answer, volumes_left_out, &attached_volume,
                .about = "volumes that the original sandbox writes to; the forks do not have them"),
};
static JSON_SHAPE(sandbox_fork_answer, "Forked", sandbox_fork_answer,
                  "The forks and the snapshot below their files");

struct snapshot_restore_body {
	bool is_new;
	const char *name;
};
static const struct json_member restore_request_members[] = {
        JSON_BOOL_MEMBER(snapshot_restore_body, is_new, .name = "new",
                         .about = "restore into a new sandbox with the snapshot's template; "
                                  "default false: restore into the snapshot's sandbox, or into a "
                                  "new one if that is deleted"),
        JSON_TEXT_MEMBER(snapshot_restore_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "name of the new sandbox; implies new"),
};
static JSON_SHAPE(restore_request, "SnapshotRestore", snapshot_restore_body, "Target of a restore");

static struct snapshot_answer make_snapshot_answer(const struct snapshot_record *r)
{
	return (struct snapshot_answer){
	        .id = r->id,
	        .name = r->name,
	        .project = r->project_id,
	        .sandbox = r->sandbox_id,
	        .sandbox_name = r->sandbox_name,
	        .parent = text_or_null(r->parent_id),
	        .template = r->template_name,
	        .provider = r->provider,
	        .state = snapshot_state_name(r->state),
	        .method = r->method,
	        .because = text_or_null(r->because),
	        .depth = r->depth,
	        .frozen_ms = (double)r->frozen_us / 1000,
	        .created_at = r->created_at,
	        .size_bytes = -1,
	};
}

/* Only sandboxes of the same project can be made of a snapshot. */
static int add_figures(struct request *rq, const char *project_id, struct snapshot_answer *items,
                       size_t count, struct error *err)
{
	struct store *store = api_of(rq)->store;
	struct figure_list sizes, sandboxes;

	if (store_figures(store, rq->arena, FIGURE_SNAPSHOT_BYTES, project_id, &sizes, err) < 0 ||
	    store_figures(store, rq->arena, FIGURE_SNAPSHOT_SANDBOXES, project_id, &sandboxes,
	                  err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		items[i].size_bytes = figure_of(&sizes, items[i].id, -1);
		items[i].sandboxes = figure_of(&sandboxes, items[i].id, 0);
	}
	return 0;
}

int snapshot_reply(struct reply *reply, const struct snapshot_record *r)
{
	const struct snapshot_answer out = make_snapshot_answer(r);

	reply_json(reply, &snapshot_shape, &out);
	return 0;
}

static void add_backups(struct arena *a, const struct relation_list *relations,
                        struct snapshot_answer *ret)
{
	struct snapshot_backup_answer *items =
	        ARENA_ARRAY(a, struct snapshot_backup_answer, relations->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < relations->count; i++) {
		const struct relation_record *r = &relations->items[i];

		if (r->kind != RELATION_BACKUP)
			continue;
		items[count++] = (struct snapshot_backup_answer){r->id, r->name, r->state,
		                                                 fleet_backup_blob(a, r->id)};
		if (strcmp(r->state, backup_state_name(BACKUP_READY)) == 0)
			ret->backup = true;
	}
	ret->backups = (struct json_list){items, count, true};
}

static struct fleet_ref path_snapshot_ref(struct request *rq)
{
	return (struct fleet_ref){api_project(rq), request_param(rq, "id"), NULL,
	                          api_awaited_if_parking(rq)};
}

/* A backup that has just begun, as a relation of its snapshot. */
static struct relation_list make_backup_relation(struct arena *a, const struct backup_record *r)
{
	struct relation_record *relation = ARENA_ARRAY(a, struct relation_record, 1);

	*relation = (struct relation_record){.kind = RELATION_BACKUP,
	                                     .id = r->id,
	                                     .name = r->name,
	                                     .state = backup_state_name(r->state)};
	return (struct relation_list){relation, 1};
}

/* The key of a request is that of this sandbox and operation. */
static int begin_once(struct request *rq, const char *operation, struct idempotent_request *ret,
                      struct error *err)
{
	return idempotency_begin(
	        rq, arena_format(rq->arena, "%s %s", operation, path_snapshot_ref(rq).id_or_name),
	        NULL, ret, err);
}

static void end_once(struct request *rq, const struct idempotent_request *once, const char *id)
{
	const struct fleet_once_result result = {.id = id, .created = true};

	idempotency_end(rq, once, id ? &result : NULL);
}

static int find_first_snapshot(struct request *rq, const struct idempotent_request *once,
                               struct reply *reply, struct snapshot_record *ret, struct error *err)
{
	if (store_snapshot_find(api_of(rq)->store, rq->arena, api_project(rq), once->found.id, ret,
	                        err) == 0) {
		reply_header(reply, "Idempotent-Replayed", "true");
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	return FAIL(err, ERROR_CONFLICT,
	            "Idempotency-Key: the snapshot of the first request is deleted");
}

static int take_snapshot(struct request *rq, const struct snapshot_body *b,
                         struct fleet_backed_up *ret, struct error *err)
{
	const struct fleet_ref ref = path_snapshot_ref(rq);
	const struct fleet_snapshot request = {.name = b->name,
	                                       .sync = !row_is_given(b->present, SNAPSHOT_SYNC) ||
	                                               b->sync,
	                                       .memory = b->memory};
	struct fleet *fleet = api_of(rq)->fleet;

	return b->backup ? fleet_snapshot_with_backup(fleet, rq->arena, &ref, &request, ret, err)
	                 : fleet_snapshot(fleet, rq->arena, &ref, &request, &ret->snapshot, err);
}

int snapshot_create(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct snapshot_body *b = body;
	struct fleet_backed_up made;
	struct relation_list backups = {.count = 0};
	struct idempotent_request once;
	struct snapshot_answer out;

	if (begin_once(rq, "snapshot", &once, err) < 0)
		return -1;
	if (!once.found.is_first) {
		if (find_first_snapshot(rq, &once, reply, &made.snapshot, err) < 0)
			return -1;
	} else if (take_snapshot(rq, b, &made, err) < 0) {
		end_once(rq, &once, NULL);
		return -1;
	} else {
		end_once(rq, &once, made.snapshot.id);
	}
	if (b->backup && once.found.is_first)
		backups = make_backup_relation(rq->arena, &made.backup);
	out = make_snapshot_answer(&made.snapshot);
	add_backups(rq->arena, &backups, &out);
	reply_status(reply, 201);
	reply_json(reply, &snapshot_shape, &out);
	return 0;
}

static struct json_list make_attached_volumes(struct arena *a, const struct mount_list *mounts)
{
	struct attached_volume_answer *items =
	        ARENA_ARRAY(a, struct attached_volume_answer, mounts->count + 1);

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount_record *m = &mounts->items[i];

		items[i] = (struct attached_volume_answer){m->volume_name, m->volume_id, m->path,
		                                           m->is_read_only};
	}
	return (struct json_list){items, mounts->count, true};
}

/* The forks that are left; their volumes are in their own answers. */
static int find_first_fork(struct request *rq, const struct idempotent_request *once,
                           struct reply *reply, struct fleet_forked *ret, struct error *err)
{
	struct sandbox_list forks;

	if (find_first_snapshot(rq, once, reply, &ret->snapshot, err) < 0 ||
	    store_sandboxes_made_from(api_of(rq)->store, rq->arena, api_project(rq),
	                              ret->snapshot.id, &forks, err) < 0)
		return -1;
	ret->sandboxes = forks.items;
	ret->count = (unsigned)forks.count;
	return 0;
}

static int fork_create(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct sandbox_fork_body *b = body;
	const struct fleet_ref ref = path_snapshot_ref(rq);
	const struct fleet_fork request = {.name = b->name,
	                                   .count = b->count ? (unsigned)b->count : 1,
	                                   .memory = b->memory,
	                                   .key_id = api_key_id(rq),
	                                   .user_id = api_user_id(rq)};
	struct fleet_forked made = {.count = 0};
	struct idempotent_request once;
	struct sandbox_fork_answer out;

	if (api_check_budgets(rq, err) < 0 || begin_once(rq, "fork", &once, err) < 0)
		return -1;
	if (!once.found.is_first) {
		if (find_first_fork(rq, &once, reply, &made, err) < 0)
			return -1;
	} else if (fleet_fork(api_of(rq)->fleet, rq->arena, &ref, &request, &made, err) < 0) {
		end_once(rq, &once, NULL);
		return -1;
	} else {
		end_once(rq, &once, made.snapshot.id);
	}
	out = (struct sandbox_fork_answer){
	        .items = sandbox_answers(rq, made.sandboxes, made.count),
	        .snapshot = make_snapshot_answer(&made.snapshot),
	        .volumes = make_attached_volumes(rq->arena, &made.mounts),
	        .volumes_left_out = make_attached_volumes(rq->arena, &made.left_out),
	};
	reply_status(reply, 201);
	reply_json(reply, &sandbox_fork_answer, &out);
	return 0;
}

static int snapshot_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct snapshot_list_query *q = rq->query;
	const struct fleet_ref sandbox = {api_project(rq), q->sandbox};
	struct snapshot_filter filter = {
	        .project_id = api_project(rq),
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit : 100,
	};
	struct relation_page page = {.project_id = filter.project_id};
	struct relation_list backups = {.count = 0};
	struct snapshot_list found;
	struct snapshot_answer *items;

	if (api_resolve_sandbox_id(rq, &sandbox, &filter.sandbox_id, err) < 0 ||
	    store_snapshot_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	if (found.count > 0) {
		page.from = found.items[found.count - 1].created_at;
		page.to = found.items[0].created_at;
		if (store_relations_of_snapshots(api_of(rq)->store, rq->arena, &page, &backups,
		                                 err) < 0)
			return -1;
	}
	items = ARENA_ARRAY(rq->arena, struct snapshot_answer, found.count);
	for (size_t i = 0; i < found.count; i++) {
		const struct relation_list own = relations_of(&backups, found.items[i].id);

		items[i] = make_snapshot_answer(&found.items[i]);
		add_backups(rq->arena, &own, &items[i]);
	}
	if (add_figures(rq, filter.project_id, items, found.count, err) < 0)
		return -1;
	reply_page(reply, &snapshot_list_shape, (struct json_list){items, found.count, true},
	           found.next_page);
	return 0;
}

static int snapshot_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	const struct fleet_ref ref = path_snapshot_ref(rq);
	struct snapshot_record found;
	struct snapshot_answer out;
	struct relation_list relations;
	struct lineage_step template = {.kind = "template"};

	if (fleet_snapshot_find(api_of(rq)->fleet, rq->arena, &ref, &found, err) < 0 ||
	    store_relations_of(api_of(rq)->store, rq->arena, found.id, &relations, err) < 0)
		return -1;
	template.id = found.template_id;
	template.name = found.template_name;
	out = make_snapshot_answer(&found);
	out.lineage = lineage_answer(rq->arena, &relations, &template);
	add_backups(rq->arena, &relations, &out);
	if (add_figures(rq, found.project_id, &out, 1, err) < 0)
		return -1;
	reply_json(reply, &snapshot_shape, &out);
	return 0;
}

static int snapshot_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct fleet_ref ref = path_snapshot_ref(rq);

	if (fleet_snapshot_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static int snapshot_restore(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	const struct snapshot_restore_body *b = body;
	const struct fleet_ref ref = path_snapshot_ref(rq);
	const struct fleet_restore request = {.is_new = b->is_new || b->name,
	                                      .name = b->name,
	                                      .key_id = api_key_id(rq),
	                                      .user_id = api_user_id(rq)};
	struct fleet_restored restored;

	if (api_check_budgets(rq, err) < 0 ||
	    fleet_snapshot_restore_as(api_of(rq)->fleet, rq->arena, &ref, &request, &restored,
	                              err) < 0)
		return -1;
	reply_status(reply, restored.is_new ? 201 : 200);
	return sandbox_reply(rq, reply, &restored.sandbox);
}

static int sandbox_reset(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = path_snapshot_ref(rq);
	struct sandbox_record r;

	if (api_check_budgets(rq, err) < 0 ||
	    fleet_reset(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return sandbox_reply(rq, reply, &r);
}

#define TAG .tag = "snapshots"
const struct route snapshots_routes[] = {
        {HTTP_POST, INSTANCE "/snapshot", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .body = &snapshot_request, .answer = &snapshot_shape, .status = 201,
         .handle = snapshot_create, TAG, .summary = "Take a snapshot of a sandbox's files"},
        {HTTP_POST, INSTANCE "/fork", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &fork_request,
         .answer = &sandbox_fork_answer, .status = 201, .handle = fork_create, TAG,
         .summary = "Take a snapshot of a sandbox and create sandboxes from it; the original "
                    "continues"},
        {HTTP_POST, INSTANCE "/reset", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .answer = &sandbox_shape, .handle = sandbox_reset, TAG,
         .summary = "End all processes and restore the files that the sandbox was created with"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &snapshot_list_query,
         .answer = &snapshot_list_shape, .handle = snapshot_list, TAG,
         .summary = "List snapshots, newest first"},
        {HTTP_GET, BASE "/:id", SCOPE_SANDBOX_READ, .answer = &snapshot_shape,
         .handle = snapshot_get, TAG, .summary = "Get a snapshot by id or name"},
        {HTTP_DELETE, BASE "/:id", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES, .status = 204,
         .handle = snapshot_delete, TAG,
         .summary = "Delete a snapshot; sandboxes made from it keep working"},
        {HTTP_POST, BASE "/:id/restore", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .body = &restore_request, .answer = &sandbox_shape, .handle = snapshot_restore, TAG,
         .summary = "Restore the files of a snapshot's sandbox; 201 with a new sandbox if that is "
                    "deleted or a new one is requested"},
        {.path = NULL},
};
