/* SPDX-License-Identifier: Apache-2.0 */
/* /volumecontent/:id — the files of a volume. The volume's token authorizes the calls; clients get
 * it when they create the volume or call GET /volumes/:id. As with the native calls, a small
 * sandbox with the volume does the work: the host never follows a client's path. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "calls/files.h"
#include "edge/caller.h"
#include "edge/target.h"
#include "fleet/core/access.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/volume/volume.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "surface/e2b/e2b.h"
#include "surface/e2b/routes.h"

#define ENTRIES_MAX 10000
#define DEPTH_MAX 64
#define ID_NUMBER_MAX 4294967294

struct content_query {
	const char *path;
	int64_t depth, uid, gid, mode;
	bool force;
	uint64_t present;
};
enum content_row { CONTENT_UID, CONTENT_GID, CONTENT_MODE };
static const struct json_member content_query_members[] = {
        [CONTENT_UID] = JSON_WHOLE_MEMBER(content_query, uid, .min = 0, .max = ID_NUMBER_MAX),
        [CONTENT_GID] = JSON_WHOLE_MEMBER(content_query, gid, .min = 0, .max = ID_NUMBER_MAX),
        [CONTENT_MODE] = JSON_WHOLE_MEMBER(content_query, mode, .min = 0, .max = 07777),
        JSON_TEXT_MEMBER(content_query, path, .flags = JSON_REQUIRED, .min = 1, .max = 4096),
        JSON_WHOLE_MEMBER(content_query, depth, .min = 1, .max = DEPTH_MAX),
        JSON_BOOL_MEMBER(content_query, force),
};
static JSON_OPEN_BITS_SHAPE(content_query, "E2bContentQuery", content_query, "The file");
static const struct json_member attributes_request_members[] = {
        [CONTENT_UID] = JSON_WHOLE_MEMBER(content_query, uid, .min = 0, .max = ID_NUMBER_MAX),
        [CONTENT_GID] = JSON_WHOLE_MEMBER(content_query, gid, .min = 0, .max = ID_NUMBER_MAX),
        [CONTENT_MODE] = JSON_WHOLE_MEMBER(content_query, mode, .min = 0, .max = 07777),
};
static JSON_OPEN_BITS_SHAPE(attributes_request, "E2bAttributes", content_query,
                            "Owner, group and mode of a file");

static bool has_row(const struct content_query *q, enum content_row row)
{
	return q->present >> row & 1;
}

static int authorize_token(struct request *rq, const char **ret_project, struct error *err)
{
	const char *id = request_param(rq, "id");
	struct span token = account_bearer(request_header(rq, "Authorization"), NULL);
	struct api_caller *caller;
	struct volume_record volume;

	if (!fleet_access_check(api_of(rq)->fleet, id, FLEET_ACCESS_VOLUME, token))
		return FAIL(err, ERROR_UNAUTHENTICATED, "this is not the volume's token");
	if (store_volume_find(api_of(rq)->store, rq->arena, NULL, id, &volume, err) < 0)
		return -1;
	*ret_project = volume.project_id;
	if (rq->caller) /* the handler runs again after a park or on a worker */
		return 0;
	caller = ARENA_NEW(rq->arena, struct api_caller);
	caller->account = (struct account_caller){
	        .project_id = volume.project_id, .key_id = "", .user_id = ""};
	caller->own_project = volume.project_id;
	if (api_admit_request(rq, volume.id, caller, err) < 0)
		return -1;
	rq->caller = caller;
	return 0;
}

/* Opens the volume and makes the query's path relative to its root. */
static int open_volume(struct request *rq, bool for_writing, struct api_target *t,
                       struct files_call *call, struct error *err)
{
	const struct content_query *q = rq->query;
	struct fleet_ref ref = {.id_or_name = request_param(rq, "id")};
	struct fleet_hold hold;
	const char *absolute;

	if (path_resolve(rq->arena, "/", span_of(q->path), &absolute, err) < 0 ||
	    authorize_token(rq, &ref.project_id, err) < 0 ||
	    fleet_volume_browse(api_of(rq)->fleet, rq->arena, &ref, for_writing, &hold, err) < 0)
		return -1;
	api_target_take_browser(rq, &hold, t);
	call->path.root = FLEET_MOUNT_PATH;
	call->path.path = absolute[1] ? absolute + 1 : ".";
	call->path.user = "root";
	call->path.flags |= AGENT_PATH_BENEATH;
	return 0;
}

static void write_stat(struct buf *out, const struct agent_file *file, const char *path)
{
	static const char *const types[] = {
	        [AGENT_FILE_OTHER] = "unknown",
	        [AGENT_FILE_REGULAR] = "file",
	        [AGENT_FILE_FOLDER] = "directory",
	        [AGENT_FILE_SYMLINK] = "symlink",
	};
	static const char *const times[] = {"atime", "mtime", "ctime"};
	struct span rest = span_of(path), name = rest;

	while (span_find(rest, '/') >= 0)
		(void)span_split(&rest, '/', &name);
	json_begin_object(out, NULL);
	json_add_span(out, "name",
	              rest.size > 0 && !span_equals_text(rest, ".") ? rest : SPAN("/"));
	json_add_text(out, "type",
	              types[file->type < COUNT_OF(types) ? file->type : AGENT_FILE_OTHER]);
	json_add_text(out, "path", span_equals_text(rest, ".") ? "/" : path);
	json_add_whole(out, "size", file->size > INT64_MAX ? INT64_MAX : (int64_t)file->size);
	json_add_whole(out, "mode", file->mode);
	json_add_whole(out, "uid", file->uid);
	json_add_whole(out, "gid", file->gid);
	/* The agent reports one time only, that of the last modification. */
	for (size_t i = 0; i < COUNT_OF(times); i++)
		json_add_epoch_time(out, times[i], file->modified_unix_ms);
	if (file->type == AGENT_FILE_SYMLINK)
		json_add_text(out, "target", file->link);
	json_end_object(out);
}

/* Writes the path as E2B's clients do: absolute from the volume's root. */
static void write_absolute(struct buf *out, const struct agent_file *file, const char *path)
{
	AUTO(buf_done) struct buf text = BUF(8192);

	buf_addf(&text, "%s%s", path[0] == '/' ? "" : "/", strcmp(path, ".") == 0 ? "" : path);
	write_stat(out, file, buf_text(&text));
}

static int answer_files_call(struct request *rq, struct files_call *call, bool for_writing,
                             struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};

	call->write_entry = write_absolute;
	if (open_volume(rq, for_writing, &t, call, err) < 0)
		return -1;
	return files_answer(rq, &t, call, (struct span){NULL, 0}, reply, err);
}

static int get_stat(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	struct files_call call = {.type = AGENT_STAT, .path = {.flags = AGENT_PATH_NO_FOLLOW}};

	return answer_files_call(rq, &call, false, reply, err);
}

static int delete_path(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct files_call call = {
	        .type = AGENT_REMOVE, .path = {.flags = AGENT_PATH_RECURSIVE}, .status = 204};

	return answer_files_call(rq, &call, true, reply, err);
}

static int download_file(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_READ};

	if (open_volume(rq, false, &t, &call, err) < 0)
		return -1;
	return files_download(rq, &t, &call, reply, err);
}

struct volume_folder_listing {
	struct buf *out;
	const char *folder; /* absolute, without '/' at the end */
	size_t count;
};

static int on_entry(void *context, const void *reply, struct error *err)
{
	const struct agent_file *file = reply;
	struct volume_folder_listing *l = context;
	AUTO(buf_done) struct buf path = BUF(8192);

	if (l->count == ENTRIES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the folder has more than %d entries",
		            ENTRIES_MAX);
	l->count++;
	buf_addf(&path, "%s/%s", l->folder, file->path);
	write_stat(l->out, file, buf_text(&path));
	return 0;
}

static int list_folder(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct content_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_LIST,
	                          .path = {.depth = q->depth ? (uint32_t)q->depth : 1}};
	struct volume_folder_listing l = {.out = reply_buf(reply, "application/json")};
	const struct compute_file list = {AGENT_LIST, &call.path, rq->deadline, on_entry, &l};

	if (open_volume(rq, false, &t, &call, err) < 0)
		return -1;
	l.folder = strcmp(call.path.path, ".") == 0
	                   ? ""
	                   : arena_format(rq->arena, "/%s", call.path.path);
	json_begin_list(l.out, NULL);
	if (compute_file(t.provider, t.id, rq->arena, &list, NULL, err) < 0)
		return -1;
	json_end_list(l.out);
	return 0;
}

static int run_program(struct request *rq, struct api_target *t, const char **args,
                       struct error *err)
{
	const struct agent_exec exec = {.args = args, .user = "root", .cwd = FLEET_MOUNT_PATH};
	const struct compute_run options = {
	        .exec = &exec, .out_max = 4096, .deadline = rq->deadline};
	struct compute_result result;

	if (compute_run(t->provider, t->id, rq->arena, &options, &result, err) < 0)
		return -1;
	if (result.process.exit_code == 0)
		return 0;
	return FAIL(err, ERROR_SYSTEM, "%s failed: %.*s", args[0],
	            (int)(result.out[1].size < 160 ? result.out[1].size : 160), result.out[1].data);
}

/* Runs in the sandbox with the volume, so that a symbolic link cannot lead out of it. */
static int change_attributes(struct request *rq, struct api_target *t,
                             const struct files_call *call, const struct content_query *to,
                             struct error *err)
{
	const char *path = arena_format(rq->arena, FLEET_MOUNT_PATH "/%s", call->path.path);
	const char *owner = arena_format(
	        rq->arena, "%s%s%s",
	        has_row(to, CONTENT_UID) ? arena_format(rq->arena, "%" PRId64, to->uid) : "",
	        has_row(to, CONTENT_GID) ? ":" : "",
	        has_row(to, CONTENT_GID) ? arena_format(rq->arena, "%" PRId64, to->gid) : "");
	const char *chown[] = {"chown", "-h", "--", owner, path, NULL};
	const char *mode = arena_format(rq->arena, "%04o", (unsigned)to->mode);
	const char *chmod[] = {"chmod", "--", mode, path, NULL};

	if (owner[0] && run_program(rq, t, chown, err) < 0)
		return -1;
	return has_row(to, CONTENT_MODE) ? run_program(rq, t, chmod, err) : 0;
}

static int call_for_file(struct request *rq, struct api_target *t, const struct files_call *call,
                         uint16_t type, struct agent_file *ret, struct error *err)
{
	const struct compute_file file = {type, &call->path, rq->deadline};

	return compute_file(t->provider, t->id, rq->arena, &file, ret, err);
}

static int patch_path(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.path = {.flags = AGENT_PATH_NO_FOLLOW}};
	struct agent_file file;

	if (open_volume(rq, true, &t, &call, err) < 0 ||
	    call_for_file(rq, &t, &call, AGENT_STAT, &file, err) < 0 ||
	    change_attributes(rq, &t, &call, body, err) < 0 ||
	    call_for_file(rq, &t, &call, AGENT_STAT, &file, err) < 0)
		return -1;
	write_absolute(reply_buf(reply, "application/json"), &file, call.path.path);
	return 0;
}

static int make_folder(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct content_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {
	        .path = {.mode = has_row(q, CONTENT_MODE) ? (uint32_t)q->mode : 0,
	                 .flags = q->force ? AGENT_PATH_PARENTS | AGENT_PATH_MAY_EXIST : 0}};
	struct agent_file file;

	if (open_volume(rq, true, &t, &call, err) < 0 ||
	    call_for_file(rq, &t, &call, AGENT_MKDIR, &file, err) < 0 ||
	    change_attributes(rq, &t, &call, q, err) < 0 ||
	    call_for_file(rq, &t, &call, AGENT_STAT, &file, err) < 0)
		return -1;
	reply_status(reply, 201);
	write_absolute(reply_buf(reply, "application/json"), &file, call.path.path);
	return 0;
}

static int upload_file(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct content_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {
	        .type = AGENT_WRITE,
	        .path = {.mode = has_row(q, CONTENT_MODE) ? (uint32_t)q->mode : 0,
	                 .flags = q->force ? AGENT_PATH_PARENTS : 0},
	        .write_entry = write_absolute,
	        .status = 201,
	};

	if (has_row(q, CONTENT_UID) || has_row(q, CONTENT_GID)) {
		(void)FAIL(err, ERROR_UNSUPPORTED, "uid and gid of an upload are not supported");
		error_hint(err, "change them after the upload: PATCH /volumecontent/ID/path");
		return -1;
	}
	if (open_volume(rq, true, &t, &call, err) < 0)
		return -1;
	return files_upload(rq, &t, &call, reply, err);
}

#define CONTENT "/volumecontent/:id"
#define OPEN (ROUTE_PUBLIC | ROUTE_SLOW | ROUTE_FILES | ROUTE_HIDDEN)
const struct route e2b_volume_content_routes[] = {
        {HTTP_GET, CONTENT "/path", 0, OPEN, .query = &content_query, .handle = get_stat, E2B_ROW},
        {HTTP_PATCH, CONTENT "/path", 0, OPEN, .query = &content_query, .body = &attributes_request,
         .handle = patch_path, E2B_ROW},
        {HTTP_DELETE, CONTENT "/path", 0, OPEN, .query = &content_query, .status = 204,
         .handle = delete_path, E2B_ROW},
        {HTTP_GET, CONTENT "/dir", 0, OPEN, .query = &content_query, .handle = list_folder,
         E2B_ROW},
        {HTTP_POST, CONTENT "/dir", 0, OPEN, .query = &content_query, .status = 201,
         .handle = make_folder, E2B_ROW},
        {HTTP_GET, CONTENT "/file", 0, OPEN, .query = &content_query, .handle = download_file,
         E2B_ROW},
        {HTTP_PUT, CONTENT "/file", 0, OPEN | ROUTE_STREAM_BODY, .query = &content_query,
         .status = 201, .handle = upload_file, E2B_ROW},
        {.path = NULL},
};
