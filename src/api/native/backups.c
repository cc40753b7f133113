/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/backups, and what makes snapshots of them and them of snapshots. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/caller.h"
#include "api/download.h"
#include "api/stream.h"
#include "api/tables.h"
#include "base/clock.h"
#include "base/fd.h"
#include "fleet/backups.h"

#define BASE "/api/sandbox/backups"
#define SNAPSHOTS "/api/sandbox/snapshots"
#define UPLOADS_MAX 4
#define RECEIVE_IDLE_MS 120000
#define ANSWER_MS 10000
#define DOWNLOAD_IDLE_MS 120000
#define CONTENT_TYPE "application/zstd"

/* ---- shapes ---- */

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
                         .about = "id of what it was made of, which may "
                                  "be gone or another server's"),
        JSON_TEXT_MEMBER(backup_answer, snapshot_name),
        JSON_TEXT_MEMBER(backup_answer, template),
        JSON_TEXT_MEMBER(backup_answer, state, .about = "making ready failed removing"),
        JSON_TEXT_MEMBER(backup_answer, state_text, .flags = JSON_NULLABLE,
                         .about = "how far it is, or why it failed"),
        JSON_TEXT_MEMBER(backup_answer, sha256, .flags = JSON_NULLABLE,
                         .about = "of the whole file"),
        JSON_TEXT_MEMBER(backup_answer, blob, .about = "its name in the blob store"),
        JSON_WHOLE_MEMBER(backup_answer, size, .about = "bytes of the file"),
        JSON_WHOLE_MEMBER(backup_answer, files, .about = "how many are in it"),
        JSON_WHOLE_MEMBER(backup_answer, files_bytes, .about = "their bytes, unpacked"),
        JSON_BOOL_MEMBER(backup_answer, full, .about = "the template is in it, too"),
        JSON_TIME_MEMBER(backup_answer, created_at),
        JSON_END,
};
static JSON_SHAPE(backup_shape, "Backup", backup_answer,
                  "A snapshot as one file of the blob store");

struct list_answer {
	struct json_list items;
	const char *next_page;
};
static const struct json_member list_answer_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &backup_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
        JSON_END,
};
static JSON_SHAPE(list_answer, "BackupList", list_answer, "One page of backups");

struct list_query {
	const char *page;
	int64_t limit;
};
static const struct json_member list_query_members[] = {
        JSON_TEXT_MEMBER(list_query, page, .max = 256, .about = "next_page of the page before"),
        JSON_WHOLE_MEMBER(list_query, limit, .min = 1, .max = 1000,
                          .about = "items of a page (default 100)"),
        JSON_END,
};
static JSON_SHAPE(list_query, "BackupListQuery", list_query, "Which backups");

struct export_body {
	const char *name;
	bool full;
};
static const struct json_member export_request_members[] = {
        JSON_TEXT_MEMBER(export_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "of the backup, unique in the project; else its id"),
        JSON_BOOL_MEMBER(export_body, full,
                         .about = "the whole filesystem, not only what differs from the template: "
                                  "it can be imported where the template is not"),
        JSON_END,
};
static JSON_SHAPE(export_request, "SnapshotExport", export_body, "How to make a backup");

struct import_body {
	const char *backup, *name, *template;
};
static const struct json_member import_request_members[] = {
        JSON_TEXT_MEMBER(import_body, backup, .flags = JSON_REQUIRED, .min = 1, .max = 64,
                         .about = "name or id"),
        JSON_TEXT_MEMBER(import_body, name, .max = SANDBOX_NAME_MAX,
                         .about = "of the snapshot, unique in the project; else its id"),
        JSON_TEXT_MEMBER(import_body, template, .max = 64,
                         .about = "one with the same files as that which the backup was made on, "
                                  "where it has another name here; a full backup makes one "
                                  "of this name where there is none"),
        JSON_END,
};
static JSON_SHAPE(import_request, "SnapshotImport", import_body, "Which backup becomes a snapshot");

struct upload_query {
	const char *sha256;
};
static const struct json_member upload_query_members[] = {
        JSON_TEXT_MEMBER(upload_query, sha256, .min = 64, .max = 64,
                         .about = "that the file must have, in lower-case hex"),
        JSON_END,
};
static JSON_SHAPE(upload_query, "BackupUploadQuery", upload_query, "What is brought");

/* ---- record to answer ---- */

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static struct backup_answer answer_of(struct arena *a, const struct backup_record *r)
{
	return (struct backup_answer){
	        .id = r->id,
	        .name = r->name,
	        .project = r->project_id,
	        .snapshot = r->snapshot_id,
	        .snapshot_name = r->snapshot_name,
	        .template = r->template_name,
	        .state = backup_state_name(r->state),
	        .state_text = or_null(r->state_text),
	        .sha256 = or_null(r->sha256),
	        .blob = fleet_backup_blob(a, r->id),
	        .size = r->size_bytes,
	        .files = r->files,
	        .files_bytes = r->files_bytes,
	        .full = r->is_full,
	        .created_at = r->created_at,
	};
}

static int answer(struct request *rq, struct reply *reply, const struct backup_record *r)
{
	const struct backup_answer out = answer_of(rq->arena, r);

	reply_json(reply, &backup_shape, &out);
	return 0;
}

static struct fleet_ref path_ref(const struct request *rq)
{
	return (struct fleet_ref){api_project(rq), request_param(rq, "id")};
}

/* ---- handlers ---- */

static int snapshot_export(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct export_body *b = body;
	const struct fleet_backup_export request = {path_ref(rq), b->name, b->full};
	struct backup_record made;

	if (fleet_backup_export(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	reply_status(reply, 202);
	return answer(rq, reply, &made);
}

static int snapshot_import(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct import_body *b = body;
	const struct fleet_backup_import request = {api_project(rq), b->backup, b->name,
	                                            b->template};
	struct snapshot_record made;

	if (fleet_backup_import(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	reply_status(reply, 201);
	return snapshot_reply(reply, &made);
}

static int backup_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct list_query *q = rq->query;
	const struct backup_filter filter = {
	        .project_id = api_project(rq),
	        .holder_id = "",
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit : 100,
	};
	struct backup_answer *items;
	struct backup_list found;
	struct list_answer out;

	if (store_backup_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct backup_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = answer_of(rq->arena, &found.items[i]);
	out = (struct list_answer){{items, found.count, true}, found.next_page};
	reply_json(reply, &list_answer, &out);
	return 0;
}

static int backup_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct fleet_ref ref = path_ref(rq);
	struct backup_record found;

	if (fleet_backup_find(api_of(rq)->fleet, rq->arena, &ref, &found, err) < 0)
		return -1;
	return answer(rq, reply, &found);
}

static int backup_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = path_ref(rq);

	if (fleet_backup_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

/* ---- content ---- */

/* A part of another file than the one that was begun would be worse than all of it. */
static int find_range(struct request *rq, const struct backup_record *r, const char *tag,
                      struct download_range *ret, struct error *err)
{
	const char *known = request_header(rq, "If-Range");

	/* One that is not ready has no size yet, and is refused. */
	if (r->state == BACKUP_READY && (!known || strcmp(known, tag) == 0))
		return download_range_find(rq, "backup", r->size_bytes, ret, err);
	*ret = (struct download_range){.size = -1};
	return 0;
}

static int backup_content(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct fleet_ref ref = path_ref(rq);
	struct fleet_backup_content content = {.fd = -1};
	struct download download = {.media_type = CONTENT_TYPE, .idle_ms = DOWNLOAD_IDLE_MS};
	struct backup_record found;
	const char *tag;

	if (fleet_backup_find(api_of(rq)->fleet, rq->arena, &ref, &found, err) < 0)
		return -1;
	tag = arena_format(rq->arena, "\"%s\"", found.sha256);
	if (find_range(rq, &found, tag, &download.range, err) < 0)
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

/* ---- upload: the worker's end ---- */

struct upload_job {
	struct lane_task task;
	struct arena arena; /* of the request's texts and the answer */
	struct api *api;
	const char *project_id, *name, *sha256;
	int fd;
};

static int receive(struct upload_job *job, struct fleet_upload *upload, struct error *err)
{
	AUTO(buf_done) struct buf payload = BUF(WIRE_PAYLOAD_MAX);
	uint16_t type = AGENT_DATA;

	while (type == AGENT_DATA) {
		if (wire_receive(job->fd, deadline_in(RECEIVE_IDLE_MS), &type, &payload, err) < 0)
			return FAIL_CONTEXT(err, "receive the backup");
		if (type != AGENT_DATA)
			break;
		if (fleet_upload_add(upload, (int64_t)payload.size, err) < 0)
			return -1;
		if (fd_write_all(upload->fd, payload.data, payload.size, err) < 0)
			return FAIL_CONTEXT(err, "keep the backup");
	}
	return 0;
}

static int run_upload(struct upload_job *job, struct backup_record *ret, struct error *err)
{
	struct fleet_upload upload;

	if (fleet_upload_begin(job->api->fleet, &job->arena, job->project_id, job->name, &upload,
	                       err) < 0)
		return -1;
	upload.sha256 = job->sha256;
	if (receive(job, &upload, err) < 0) {
		fleet_upload_abort(&upload);
		return -1;
	}
	return fleet_upload_end(&upload, &job->arena, ret, err);
}

static void write_outcome(struct upload_job *job, struct buf *out)
{
	AUTO(buf_done) struct buf json = BUF(AGENT_DATA_MAX);
	struct error err = {.code = ERROR_NONE}, ignored;
	struct backup_record record;
	struct backup_answer made;
	struct agent_failed failed;

	if (run_upload(job, &record, &err) == 0) {
		made = answer_of(&job->arena, &record);
		json_write(&json, &backup_shape, &made);
		wire_add_frame(out, AGENT_DATA, buf_span(&json));
		return;
	}
	failed = (struct agent_failed){(uint32_t)err.code, (uint32_t)err.sys_errno, err.text,
	                               err.hint};
	if (wire_encode(out, AGENT_FAILED, agent_failed_shape, &failed, &ignored) < 0)
		buf_reset(out); /* the closed socket tells that it failed */
}

static void upload_free(struct upload_job *job)
{
	(void)__atomic_sub_fetch(&job->api->uploads, 1, __ATOMIC_RELAXED);
	auto_close(&job->fd);
	arena_done(&job->arena);
	free(job);
}

/* Closing while the relay still writes would tell it of a broken pipe instead of the answer. */
static void drain(int fd)
{
	int64_t deadline = deadline_in(ANSWER_MS);
	char bytes[4096];
	struct error ignored;

	while (fd_wait(fd, POLLIN, deadline, &ignored) > 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void upload_in_lane(struct lane_task *task)
{
	struct upload_job *job = CONTAINER_OF(task, struct upload_job, task);
	AUTO(buf_done) struct buf frames = BUF(2 * AGENT_DATA_MAX);
	struct error ignored;

	write_outcome(job, &frames);
	if (wire_send(job->fd, buf_span(&frames), deadline_in(ANSWER_MS), &ignored) == 0)
		drain(job->fd);
	upload_free(job);
}

/* ---- upload: the relay's end ---- */

static int upload_on_message(UNUSED struct stream *s, struct relay *relay, uint16_t type,
                             struct span payload, struct error *err)
{
	if (type != AGENT_DATA)
		return stream_unexpected(type, err);
	relay_answer(relay, 201, "application/json", payload);
	return 0;
}

static int upload_on_client(UNUSED struct stream *s, struct relay *relay, struct span bytes,
                            bool last, struct error *err)
{
	stream_send_bytes(relay, AGENT_DATA, bytes);
	return last ? stream_send(relay, AGENT_DATA_END, NULL, NULL, err) : 0;
}

static const struct stream_ops upload_ops = {
        .size = sizeof(struct stream),
        .on_message = upload_on_message,
        .on_client = upload_on_client,
};

static struct upload_job *upload_new(struct request *rq, int fd)
{
	const struct upload_query *q = rq->query;
	struct upload_job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	job->api = api_of(rq);
	job->fd = fd;
	job->project_id = arena_text(&job->arena, api_project(rq));
	job->name = arena_text(&job->arena, request_param(rq, "id"));
	job->sha256 = q->sha256 ? arena_text(&job->arena, q->sha256) : NULL;
	job->task = (struct lane_task){.run = upload_in_lane};
	return job;
}

static int take_upload(struct api *api, struct error *err)
{
	if (__atomic_add_fetch(&api->uploads, 1, __ATOMIC_RELAXED) <= UPLOADS_MAX)
		return 0;
	(void)__atomic_sub_fetch(&api->uploads, 1, __ATOMIC_RELAXED);
	return FAIL(err, ERROR_LIMIT, "%d backups are being brought already", UPLOADS_MAX);
}

static int backup_upload(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct api *api = api_of(rq);
	struct fleet_hold none = {.fleet = NULL};
	struct stream_options options = {.fd = -1};
	struct upload_job *job;
	int pair[2];

	if (sandbox_name_check(request_param(rq, "id"), err) < 0 || take_upload(api, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)__atomic_sub_fetch(&api->uploads, 1, __ATOMIC_RELAXED);
		return FAIL_ERRNO(err, "make a socket pair");
	}
	options.fd = pair[0];
	job = upload_new(rq, pair[1]);
	if (lane_submit(fleet_work(api->fleet), &job->task, job->project_id, err) < 0) {
		upload_free(job);
		(void)close(pair[0]);
		return -1;
	}
	stream_start(stream_new(&upload_ops, &none), reply, &options);
	return 0;
}

#define TAG .tag = "backups"
const struct route backups_routes[] = {
        {HTTP_POST, SNAPSHOTS "/:id/export", SCOPE_SANDBOX_WRITE, ROUTE_SLOW,
         .body = &export_request, .answer = &backup_shape, .status = 202, .handle = snapshot_export,
         TAG, .summary = "Pack a snapshot into one file of the blob store; poll the backup"},
        {HTTP_POST, SNAPSHOTS "/import", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .body = &import_request,
         .answer = &snapshot_shape, .status = 201, .handle = snapshot_import, TAG,
         .summary = "Make a snapshot of a backup"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &list_query, .answer = &list_answer,
         .handle = backup_list, TAG, .summary = "List backups, newest first"},
        {HTTP_GET, BASE "/:id", SCOPE_SANDBOX_READ, .answer = &backup_shape, .handle = backup_get,
         TAG, .summary = "Get a backup by id or name"},
        {HTTP_GET, BASE "/:id/content", SCOPE_SANDBOX_READ, ROUTE_SLOW, .handle = backup_content,
         TAG,
         .summary = "Fetch a backup, or the part that a Range header names: a zstd-compressed "
                    "tar"},
        {HTTP_PUT, BASE "/:id", SCOPE_SANDBOX_WRITE, ROUTE_STREAM_BODY, .query = &upload_query,
         .answer = &backup_shape, .status = 201, .handle = backup_upload, TAG,
         .summary = "Bring a backup, under this name; it is read whole before it is taken"},
        {HTTP_DELETE, BASE "/:id", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .status = 204,
         .handle = backup_delete, TAG, .summary = "Remove a backup, or give up making it"},
        {.path = NULL},
};
