/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/backups, and export and import of snapshots. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "calls/download.h"
#include "calls/receiver.h"
#include "edge/api.h"
#include "fleet/backup/backups.h"
#include "fleet/core/waiting.h"
#include "sandbox/sandbox.h"
#include "surface/native/native.h"
#include "surface/native/snapshots.h"

#define BASE "/api/sandbox/backups"
#define SNAPSHOTS "/api/sandbox/snapshots"
#define DOWNLOAD_IDLE_MS 120000
#define CONTENT_TYPE "application/zstd"

struct backup_answer {
	const char *id, *name, *project, *snapshot, *snapshot_name, *template, *state, *state_text,
	        *sha256, *blob;
	int64_t size, files, files_bytes, created_at;
	bool full;
};
static const struct json_member backup_shape_members[] = {
        JSON_TEXT_MEMBER(backup_answer, id),
        JSON_TEXT_MEMBER(backup_answer, name),
        JSON_TEXT_MEMBER(backup_answer, project),
        JSON_TEXT_MEMBER(backup_answer, snapshot,
                         .about = "id of the snapshot it was made from; that snapshot may be "
                                  "deleted or on another server"),
        JSON_TEXT_MEMBER(backup_answer, snapshot_name),
        JSON_TEXT_MEMBER(backup_answer, template),
        JSON_TEXT_MEMBER(backup_answer, state, .about = "making, ready, failed or removing"),
        JSON_TEXT_MEMBER(backup_answer, state_text, .flags = JSON_NULLABLE,
                         .about = "progress, or why the backup failed"),
        JSON_TEXT_MEMBER(backup_answer, sha256, .flags = JSON_NULLABLE,
                         .about = "SHA-256 of the whole file"),
        JSON_TEXT_MEMBER(backup_answer, blob, .about = "name in the blob store"),
        JSON_WHOLE_MEMBER(backup_answer, size, .about = "size of the file in bytes"),
        JSON_WHOLE_MEMBER(backup_answer, files, .about = "number of files in the backup"),
        JSON_WHOLE_MEMBER(backup_answer, files_bytes,
                          .about = "unpacked size of the files in bytes"),
        JSON_BOOL_MEMBER(backup_answer, full,
                         .about = "whether the backup contains the template's files, too"),
        JSON_TIME_MEMBER(backup_answer, created_at),
};
static JSON_SHAPE(backup_shape, "Backup", backup_answer,
                  "A snapshot packed into one file of the blob store");

static const struct json_member backup_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &backup_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(backup_list_shape, "BackupList", list_answer, "One page of backups");

struct backup_list_query {
	const char *page;
	int64_t limit;
};
static const struct json_member backup_list_query_members[] = {
        JSON_TEXT_MEMBER(backup_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(backup_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(backup_list_query, "BackupListQuery", backup_list_query, "Filter for backups");

struct snapshot_export_body {
	const char *name;
	bool full;
};
static const struct json_member snapshot_export_request_members[] = {
        JSON_TEXT_MEMBER(snapshot_export_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "name of the backup, unique in the project (default: its id)"),
        JSON_BOOL_MEMBER(
                snapshot_export_body, full,
                .about = "back up the whole filesystem, not only the changes since the template; "
                         "such a backup can be imported on a server that lacks the template"),
};
static JSON_SHAPE(snapshot_export_request, "SnapshotExport", snapshot_export_body,
                  "Options of a backup");

struct snapshot_import_body {
	const char *backup, *name, *template;
};
static const struct json_member snapshot_import_request_members[] = {
        JSON_TEXT_MEMBER(snapshot_import_body, backup, .flags = JSON_REQUIRED, .min = 1, .max = 64,
                         .about = "name or id"),
        JSON_TEXT_MEMBER(snapshot_import_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "name of the snapshot, unique in the project (default: its id)"),
        JSON_TEXT_MEMBER(snapshot_import_body, template, .max = 64,
                         .about = "template with the same files as the template of the backup, if "
                                  "it has another name here; a full backup creates a template of "
                                  "this name if none exists"),
};
static JSON_SHAPE(snapshot_import_request, "SnapshotImport", snapshot_import_body,
                  "Backup to make a snapshot from");

struct backup_upload_query {
	const char *sha256;
};
static const struct json_member backup_upload_query_members[] = {
        JSON_TEXT_MEMBER(backup_upload_query, sha256, .min = 64, .max = 64,
                         .about = "expected SHA-256 of the file, in lower-case hex"),
};
static JSON_SHAPE(backup_upload_query, "BackupUploadQuery", backup_upload_query,
                  "Options of an upload");

static struct backup_answer make_backup_answer(struct arena *a, const struct backup_record *r)
{
	return (struct backup_answer){
	        .id = r->id,
	        .name = r->name,
	        .project = r->project_id,
	        .snapshot = r->snapshot_id,
	        .snapshot_name = r->snapshot_name,
	        .template = r->template_name,
	        .state = backup_state_name(r->state),
	        .state_text = text_or_null(r->state_text),
	        .sha256 = text_or_null(r->sha256),
	        .blob = fleet_backup_blob(a, r->id),
	        .size = r->size_bytes,
	        .files = r->files,
	        .files_bytes = r->files_bytes,
	        .full = r->is_full,
	        .created_at = r->created_at,
	};
}

static int reply_backup(struct request *rq, struct reply *reply, const struct backup_record *r)
{
	const struct backup_answer out = make_backup_answer(rq->arena, r);

	reply_json(reply, &backup_shape, &out);
	return 0;
}

static int snapshot_export(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct snapshot_export_body *b = body;
	const struct fleet_backup_export request = {api_path_ref(rq), b->name, b->full};
	struct backup_record made;

	if (fleet_backup_export(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	reply_status(reply, 202);
	return reply_backup(rq, reply, &made);
}

static int snapshot_import(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct snapshot_import_body *b = body;
	const struct fleet_backup_import request = {api_project(rq), b->backup, b->name,
	                                            b->template, api_awaited_if_parking(rq)};
	struct snapshot_record made;

	if (fleet_backup_import(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	reply_status(reply, 201);
	return snapshot_reply(reply, &made);
}

static int backup_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct backup_list_query *q = rq->query;
	const struct backup_filter filter = {
	        .project_id = api_project(rq),
	        .holder_id = "",
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit : 100,
	};
	struct backup_answer *items;
	struct backup_list found;

	if (store_backup_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct backup_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_backup_answer(rq->arena, &found.items[i]);
	reply_page(reply, &backup_list_shape, (struct json_list){items, found.count, true},
	           found.next_page);
	return 0;
}

static int backup_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct backup_record found;

	if (fleet_backup_find(api_of(rq)->fleet, rq->arena, &ref, &found, err) < 0)
		return -1;
	return reply_backup(rq, reply, &found);
}

static int backup_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);

	if (fleet_backup_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

/* If-Range (RFC 9110): when the file has changed, the client gets the whole file instead of a part
 * that does not fit. */
static int find_content_range(struct request *rq, const struct backup_record *r, const char *tag,
                              struct download_range *ret, struct error *err)
{
	const char *known = request_header(rq, "If-Range");

	/* A backup that is not ready has no size yet; opening it fails later. */
	if (r->state == BACKUP_READY && (!known || strcmp(known, tag) == 0))
		return download_range_find(rq, "backup", r->size_bytes, ret, err);
	*ret = (struct download_range){.size = -1};
	return 0;
}

static int backup_content(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct fleet_backup_content content = {.fd = -1};
	struct download download = {.media_type = CONTENT_TYPE, .idle_ms = DOWNLOAD_IDLE_MS};
	struct backup_record found;
	const char *tag;

	if (fleet_backup_find(api_of(rq)->fleet, rq->arena, &ref, &found, err) < 0)
		return -1;
	tag = arena_format(rq->arena, "\"%s\"", found.sha256);
	if (find_content_range(rq, &found, tag, &download.range, err) < 0)
		return -1;
	content.offset = download.range.offset;
	content.size = download.range.size;
	if (fleet_backup_open(api_of(rq)->fleet, rq->arena, &ref, &content, err) < 0)
		return -1;
	download.fd = content.fd;
	download.range.size = content.size;
	download.headers = (const struct download_header[]){{"ETag", tag},
	                                                    {"X-Checksum-Sha256", found.sha256},
	                                                    {"Accept-Ranges", "bytes"},
	                                                    {NULL, NULL}};
	download_answer(reply, &download);
	return 0;
}

struct incoming_backup {
	struct arena arena; /* holds the request's texts and the reply */
	struct fleet_upload upload;
};

/* The receiver has written the bytes to the blob through its own descriptor. */
static int finish_upload(void *state, UNUSED int fd, struct buf *json, struct error *err)
{
	struct incoming_backup *job = state;
	struct backup_record record;
	struct backup_answer made;

	if (fleet_upload_end(&job->upload, &job->arena, &record, err) < 0)
		return -1;
	made = make_backup_answer(&job->arena, &record);
	json_write(json, &backup_shape, &made);
	return 0;
}

static void incoming_backup_free(void *state)
{
	struct incoming_backup *job = state;

	fleet_upload_abort(&job->upload); /* does nothing after fleet_upload_end */
	arena_done(&job->arena);
	free(job);
}

static int open_upload(void *state, struct request *rq, int *ret_fd, struct error *err)
{
	const struct backup_upload_query *q = rq->query;
	struct incoming_backup *job = state;

	if (fleet_upload_begin(api_of(rq)->fleet, &job->arena, api_project(rq),
	                       request_param(rq, "id"), &job->upload, err) < 0) {
		job->upload.fleet = NULL;
		return -1;
	}
	job->upload.sha256 = q->sha256 ? arena_text(&job->arena, q->sha256) : NULL;
	*ret_fd = fcntl(job->upload.fd, F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "duplicate a descriptor") : 0;
}

static int add_upload_bytes(void *state, int64_t bytes, struct error *err)
{
	struct incoming_backup *job = state;

	return fleet_upload_add(&job->upload, bytes, err);
}

static const struct receiver_upload_ops upload_ops = {.open = open_upload,
                                                      .add = add_upload_bytes,
                                                      .work = finish_upload,
                                                      .done = incoming_backup_free};

static int backup_upload(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct receiver_upload_options options = {.ops = &upload_ops,
	                                          .lane = fleet_backup_work(api_of(rq)->fleet),
	                                          .project_id = api_project(rq),
	                                          .what = "the backup",
	                                          .bytes_max = FLEET_BACKUP_BYTES_MAX};

	if (sandbox_name_check(request_param(rq, "id"), err) < 0)
		return -1;
	options.state = memory_new(sizeof(struct incoming_backup));
	return receiver_take(rq, &options, reply, err);
}

#define TAG .tag = "backups"
const struct route backups_routes[] = {
        {HTTP_POST, SNAPSHOTS "/:id/export", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .body = &snapshot_export_request, .answer = &backup_shape, .status = 202,
         .handle = snapshot_export, TAG,
         .summary =
                 "Pack a snapshot into one file of the blob store; poll the backup for its state"},
        {HTTP_POST, SNAPSHOTS "/import", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .body = &snapshot_import_request, .answer = &snapshot_shape, .status = 201,
         .handle = snapshot_import, TAG, .summary = "Make a snapshot from a backup"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &backup_list_query,
         .answer = &backup_list_shape, .handle = backup_list, TAG,
         .summary = "List backups, newest first"},
        {HTTP_GET, BASE "/:id", SCOPE_SANDBOX_READ, .answer = &backup_shape, .handle = backup_get,
         TAG, .summary = "Get a backup by id or name"},
        {HTTP_GET, BASE "/:id/content", SCOPE_SANDBOX_READ, ROUTE_SLOW, .handle = backup_content,
         TAG,
         .summary = "Download a backup, or the range of a Range header, as a zstd-compressed tar"},
        {HTTP_PUT, BASE "/:id", SCOPE_SANDBOX_WRITE, ROUTE_STREAM_BODY,
         .query = &backup_upload_query, .answer = &backup_shape, .status = 201,
         .handle = backup_upload, TAG,
         .summary = "Upload a backup under this name; the server accepts it after reading and "
                    "checking the whole file"},
        {HTTP_DELETE, BASE "/:id", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .status = 204,
         .handle = backup_delete, TAG, .summary = "Delete a backup, or cancel making it"},
        {.path = NULL},
};
