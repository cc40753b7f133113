/* SPDX-License-Identifier: Apache-2.0 */
/* Files, as one user of a sandbox sees them, on three routes:
 * - /api/sandbox/instances/:id/files: files of a sandbox,
 * - /api/sandbox/volumes/:volume/files: files of a volume that no running sandbox writes to,
 * - /v1/leases/:key/files: files of a lease's sandbox. */
#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "calls/files.h"
#include "calls/output.h"
#include "calls/shapes.h"
#include "edge/session.h"
#include "edge/target.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/volume/volume.h"
#include "surface/native/native.h"
#include "surface/native/stopped_files.h"
#include "wire/agent.h"

#define VOLUME "/api/sandbox/volumes/:volume/files"
#define BASE "/api/sandbox/instances/:id/files"
#define LEASE "/v1/leases/:key/files"
#define READ_MAX (16 * 1024 * 1024)
#define ENTRIES_MAX 100000

/* All queries of this file; each shape lists the members that it accepts. */
struct files_query {
	const char *path, *user, *mode, *stream, *after;
	int64_t depth, limit, offset, length;
	bool recursive, append, no_replace, follow, passive;
};
#define PATH_ROW                                                                                   \
	JSON_TEXT_MEMBER(files_query, path, .flags = JSON_REQUIRED, .max = 4096,                   \
	                 .about = "absolute path, or path below the default folder")
#define USER_ROW                                                                                   \
	JSON_TEXT_MEMBER(files_query, user, .max = 64,                                             \
	                 .about = "user that performs the call (default: the template's user)")
#define PASSIVE_ROW                                                                                \
	JSON_BOOL_MEMBER(files_query, passive,                                                     \
	                 .about =                                                                  \
	                         "true: neither wakes a sandbox nor counts as its use; 409 while " \
	                         "it is paused")
#define FILES_QUERY(variable, json_name)                                                           \
	static JSON_SHAPE(variable, json_name, files_query, "A path and options")

static const struct json_member folder_list_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_WHOLE_MEMBER(files_query, depth, .min = 1, .max = 64,
                          .about = "depth in levels (default 1)"),
        JSON_WHOLE_MEMBER(files_query, limit, .min = 1, .max = ENTRIES_MAX),
        JSON_TEXT_MEMBER(files_query, after, .max = PATH_SIZE_MAX - 1,
                         .about = "next_after of the previous page"),
        PASSIVE_ROW,
};
FILES_QUERY(folder_list_query, "FilesListQuery");
static const struct json_member read_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_WHOLE_MEMBER(files_query, offset, .min = 0, .about = "offset of the first byte"),
        JSON_WHOLE_MEMBER(files_query, length, .min = 0,
                          .about = "maximum number of bytes; 0: all"),
        PASSIVE_ROW,
};
FILES_QUERY(read_query, "FileReadQuery");
static const struct json_member write_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_TEXT_MEMBER(files_query, mode, .max = 5, .about = "octal mode of a new file",
                         .example = "0644"),
        JSON_BOOL_MEMBER(files_query, append),
        JSON_BOOL_MEMBER(files_query, no_replace, .about = "fail when the file exists"),
};
FILES_QUERY(write_query, "FileWriteQuery");
static const struct json_member stat_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_BOOL_MEMBER(files_query, follow,
                         .about = "describe the target of a symbolic link instead of the link"),
        PASSIVE_ROW,
};
FILES_QUERY(stat_query, "FileStatQuery");
static const struct json_member remove_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_BOOL_MEMBER(files_query, recursive, .about = "delete folders with everything in them"),
};
FILES_QUERY(remove_query, "FileRemoveQuery");
static const struct json_member path_query_members[] = {
        PATH_ROW,
        USER_ROW,
};
FILES_QUERY(path_query, "FilePlaceQuery");
static const struct json_member unpack_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_WHOLE_MEMBER(files_query, offset, .name = "changed_since_ms", .min = 0,
                          .about = "time in Unix ms; a file that changed after it is not replaced: "
                                   "it is kept beside the new one as NAME.conflict-TIME"),
};
FILES_QUERY(unpack_query, "FileUnpackQuery");
static const struct json_member watch_query_members[] = {
        PATH_ROW,
        USER_ROW,
        JSON_BOOL_MEMBER(files_query, recursive, .about = "watch subfolders, too"),
        JSON_TEXT_MEMBER(files_query, stream, .max = 16, .about = "sse (default) or ndjson"),
        PASSIVE_ROW,
};
FILES_QUERY(watch_query, "FileWatchQuery");

/* All JSON bodies of this file. */
struct files_body {
	const char *path, *target, *user, *mode, *content;
	const char **names;
	struct span content_base64;
	int64_t offset, length;
	bool recursive, parents, append, no_replace;
};
#define BODY_PATH_ROW                                                                              \
	JSON_TEXT_MEMBER(files_body, path, .flags = JSON_REQUIRED, .max = 4096,                    \
	                 .about = "absolute path, or path below the default folder")
#define BODY_USER_ROW JSON_TEXT_MEMBER(files_body, user, .max = 64)
static const struct json_member mkdir_request_members[] = {
        BODY_PATH_ROW,
        BODY_USER_ROW,
        JSON_TEXT_MEMBER(files_body, mode, .max = 5, .about = "octal (default 0755)"),
        JSON_BOOL_MEMBER(files_body, parents,
                         .about = "create missing parents; an existing folder is not an error"),
};
static JSON_SHAPE(mkdir_request, "FileMkdir", files_body, "A folder to create");
static const struct json_member move_request_members[] = {
        BODY_PATH_ROW,
        JSON_TEXT_MEMBER(files_body, target, .flags = JSON_REQUIRED, .max = 4096,
                         .about = "the new path"),
        BODY_USER_ROW,
        JSON_BOOL_MEMBER(files_body, parents, .about = "create missing parents of the target"),
        JSON_BOOL_MEMBER(files_body, no_replace, .about = "fail when the target exists"),
        JSON_BOOL_MEMBER(files_body, recursive, .about = "copy folders recursively"),
};
static JSON_SHAPE(move_request, "FileMove", files_body, "A path and its new path");
static const struct json_member remove_request_members[] = {
        BODY_PATH_ROW,
        BODY_USER_ROW,
        JSON_BOOL_MEMBER(files_body, recursive),
};
static JSON_SHAPE(remove_request, "FileRemove", files_body, "A path to delete");
static const struct json_member read_request_members[] = {
        BODY_PATH_ROW,
        BODY_USER_ROW,
        JSON_WHOLE_MEMBER(files_body, offset, .min = 0, .about = "offset of the first byte"),
        JSON_WHOLE_MEMBER(files_body, length, .min = 1, .max = READ_MAX,
                          .about = "bytes at most (default 1 MiB)"),
};
static JSON_SHAPE(read_request, "FileRead", files_body, "A file to read as text");
static const struct json_member write_request_members[] = {
        BODY_PATH_ROW,
        BODY_USER_ROW,
        JSON_TEXT_MEMBER(files_body, content, .about = "text"),
        JSON_BYTES_MEMBER(files_body, content_base64, .about = "bytes, instead of content"),
        JSON_TEXT_MEMBER(files_body, mode, .max = 5, .about = "octal mode of a new file"),
        JSON_BOOL_MEMBER(files_body, append),
        JSON_BOOL_MEMBER(files_body, no_replace, .about = "fail when the file exists"),
};
static JSON_SHAPE(write_request, "FileWrite", files_body, "A file to write");

static const struct json_member pack_request_members[] = {
        BODY_PATH_ROW,
        JSON_TEXT_LIST_MEMBER(files_body, names, .flags = JSON_REQUIRED, .min = 1,
                              .max = AGENT_NAMES_MAX,
                              .about = "paths relative to the folder; a folder is packed without "
                                       "its content; missing and unreadable paths are left out",
                              .example = "[\"src/main.c\",\"README.md\"]"),
        BODY_USER_ROW,
};
static JSON_SHAPE(pack_request, "FilePack", files_body, "A folder and the paths to pack");

static int parse_mode(const char *text, uint32_t *ret, struct error *err)
{
	uint32_t mode = 0;

	for (const char *c = text; c && *c; c++) {
		if (*c < '0' || *c > '7')
			return FAIL(err, ERROR_INVALID, "mode '%s' is not octal", text);
		mode = mode << 3 | (uint32_t)(*c - '0');
	}
	if (mode > 07777)
		return FAIL(err, ERROR_INVALID, "mode '%s' is too large", text);
	*ret = mode;
	return 0;
}

struct files_target {
	struct api_target target;
	struct files_call call;
};

static void files_target_done(struct files_target *f)
{
	api_target_done(&f->target);
}

static bool is_volume_route(const struct request *rq)
{
	return strncmp(rq->route->path, VOLUME, strlen(VOLUME)) == 0;
}

static bool is_lease_route(const struct request *rq)
{
	return strncmp(rq->route->path, LEASE, strlen(LEASE)) == 0;
}

static int open_sandbox(struct request *rq, bool is_passive, struct api_target *ret,
                        struct error *err)
{
	if (is_passive)
		return api_target_look(rq, ret, err);
	return is_lease_route(rq) ? session_open_lease(rq, request_param(rq, "key"), ret, err)
	                          : api_target_open(rq, ret, err);
}

/* Paths are relative to the top of the volume, with or without a leading '/'. The agent follows no
 * link out of the volume. */
static int resolve_in_volume(struct request *rq, const char *path, const char **ret,
                             struct error *err)
{
	const char *absolute;

	if (path_resolve(rq->arena, "/", span_of(path), &absolute, err) < 0)
		return -1;
	*ret = absolute[1] ? absolute + 1 : ".";
	return 0;
}

/* Root reads, so that all files are visible. Uploads belong to "user", as in a sandbox. */
static int open_volume(struct request *rq, const char *path, const char *user,
                       struct files_target *f, struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "volume")};
	bool for_writing = rq->route->scope == SCOPE_SANDBOX_WRITE;
	bool is_upload = f->call.type == AGENT_WRITE || f->call.type == AGENT_TAR_IN ||
	                 f->call.type == AGENT_MKDIR;
	struct fleet_hold hold;

	if (resolve_in_volume(rq, path, &f->call.path.path, err) < 0 ||
	    fleet_volume_browse(api_of(rq)->fleet, rq->arena, &ref, for_writing, &hold, err) < 0)
		return -1;
	api_target_take_browser(rq, &hold, &f->target);
	f->call.path.root = FLEET_MOUNT_PATH;
	f->call.path.flags |= AGENT_PATH_BENEATH;
	f->call.path.user = user ? user : is_upload ? "user" : "root";
	return 0;
}

static int open_path(struct request *rq, const char *path, const char *user, struct files_target *f,
                     struct error *err)
{
	const struct files_query *q = rq->query;
	bool is_passive = q && q->passive;

	if (is_passive && (is_volume_route(rq) || is_lease_route(rq)))
		return FAIL(err, ERROR_INVALID, "passive is for the files of a sandbox");
	if (is_volume_route(rq))
		return open_volume(rq, path, user, f, err);
	if (open_sandbox(rq, is_passive, &f->target, err) < 0 ||
	    files_resolve(rq, &f->target, path, &f->call.path.path, err) < 0)
		return -1;
	f->call.path.user = user ? user : f->target.user;
	return 0;
}

#define FLAG(condition, flag) ((condition) ? (uint32_t)(flag) : 0u)

static int open_query_path(struct request *rq, uint16_t type, struct files_target *f,
                           struct error *err)
{
	const struct files_query *q = rq->query;

	f->call.type = type;
	f->call.path.depth = q->depth ? (uint32_t)q->depth : 1;
	f->call.path.offset = (uint64_t)q->offset;
	f->call.path.size_max = (uint64_t)q->length;
	f->call.path.flags = FLAG(q->recursive, AGENT_PATH_RECURSIVE) |
	                     FLAG(q->append, AGENT_PATH_APPEND) |
	                     FLAG(q->no_replace, AGENT_PATH_NO_REPLACE) |
	                     FLAG(type == AGENT_STAT && !q->follow, AGENT_PATH_NO_FOLLOW) |
	                     FLAG(type == AGENT_WRITE || type == AGENT_TAR_IN, AGENT_PATH_PARENTS);
	if (parse_mode(q->mode, &f->call.path.mode, err) < 0)
		return -1;
	return open_path(rq, q->path, q->user, f, err);
}

static int open_body_path(struct request *rq, uint16_t type, const struct files_body *b,
                          struct files_target *f, struct error *err)
{
	f->call.type = type;
	f->call.path.flags = FLAG(b->recursive, AGENT_PATH_RECURSIVE) |
	                     FLAG(b->append, AGENT_PATH_APPEND) |
	                     FLAG(b->no_replace, AGENT_PATH_NO_REPLACE) |
	                     FLAG(b->parents || type == AGENT_WRITE, AGENT_PATH_PARENTS) |
	                     FLAG(b->parents && type == AGENT_MKDIR, AGENT_PATH_MAY_EXIST);
	if (parse_mode(b->mode, &f->call.path.mode, err) < 0 ||
	    open_path(rq, b->path, b->user, f, err) < 0)
		return -1;
	if (b->target && is_volume_route(rq))
		return resolve_in_volume(rq, b->target, &f->call.path.target, err);
	if (b->target)
		return files_resolve(rq, &f->target, b->target, &f->call.path.target, err);
	return 0;
}

/* The answer to a call that cannot open its sandbox: from its files, if it is stopped. The user of
 * the call does not matter, because nothing runs inside: root reads. */
static int look_at_stopped(struct request *rq, const struct files_call *call, uint64_t limit,
                           struct reply *reply, struct error *err)
{
	const struct files_query *q = rq->query;
	const struct stopped_look look = {.type = call->type,
	                                  .path = q->path,
	                                  .after = q->after,
	                                  .depth = call->path.depth,
	                                  .flags = call->path.flags,
	                                  .limit = limit,
	                                  .offset = call->path.offset};

	if (is_volume_route(rq) || is_lease_route(rq))
		return -1;
	return stopped_files_answer(rq, &look, reply, err);
}

#define FILES_TARGET AUTO(files_target_done) struct files_target

static int folder_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct files_query *q = rq->query;
	FILES_TARGET f = {.call = {.type = AGENT_LIST}};
	struct files_list_options options = {.max = q->limit ? (uint64_t)q->limit : ENTRIES_MAX};

	(void)body;
	if (open_query_path(rq, AGENT_LIST, &f, err) < 0)
		return look_at_stopped(rq, &f.call, options.max, reply, err);
	f.call.path.target = q->after;
	return files_list(rq, &f.target, &f.call, &options, reply, err);
}

static int content_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_READ}};

	(void)body;
	if (open_query_path(rq, AGENT_READ, &f, err) < 0)
		return look_at_stopped(rq, &f.call, f.call.path.size_max, reply, err);
	return files_download(rq, &f.target, &f.call, reply, err);
}

static int content_put(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_WRITE}};

	(void)body;
	if (open_query_path(rq, AGENT_WRITE, &f, err) < 0)
		return -1;
	return files_upload(rq, &f.target, &f.call, reply, err);
}

static int tar_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_TAR_OUT}};

	(void)body;
	if (open_query_path(rq, AGENT_TAR_OUT, &f, err) < 0)
		return -1;
	return files_download(rq, &f.target, &f.call, reply, err);
}

static int zip_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	FILES_TARGET f = {.call = {.as_zip = true}};

	if (open_query_path(rq, AGENT_TAR_OUT, &f, err) < 0)
		return -1;
	return files_download(rq, &f.target, &f.call, reply, err);
}

static int pack_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct files_body *b = body;
	FILES_TARGET f = {.call = {.names = b->names}};

	for (const char **name = b->names; *name; name++)
		if (path_check_relative(rq->arena, span_of(*name), name, err) < 0)
			return -1;
	if (open_body_path(rq, AGENT_TAR_OUT, b, &f, err) < 0)
		return -1;
	f.call.path.flags |= AGENT_PATH_NAMES;
	return files_download(rq, &f.target, &f.call, reply, err);
}

static int tar_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_TAR_IN}};

	(void)body;
	if (open_query_path(rq, AGENT_TAR_IN, &f, err) < 0)
		return -1;
	return files_upload(rq, &f.target, &f.call, reply, err);
}

static int form_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_WRITE}};

	(void)body;
	if (open_query_path(rq, AGENT_WRITE, &f, err) < 0)
		return -1;
	return files_upload_form(rq, &f.target, &f.call, reply, err);
}

static int stat_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_STAT}};

	(void)body;
	if (open_query_path(rq, AGENT_STAT, &f, err) < 0)
		return look_at_stopped(rq, &f.call, 0, reply, err);
	return files_answer(rq, &f.target, &f.call, (struct span){NULL, 0}, reply, err);
}

static int path_delete(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = AGENT_REMOVE}};

	(void)body;
	if (open_query_path(rq, AGENT_REMOVE, &f, err) < 0)
		return -1;
	return files_answer(rq, &f.target, &f.call, (struct span){NULL, 0}, reply, err);
}

static int watch_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct files_query *q = rq->query;
	FILES_TARGET f = {.call = {.type = AGENT_WATCH}};
	enum output_form form;

	(void)body;
	if (output_form_parse(q->stream, request_header(rq, "Accept"), OUTPUT_SSE, &form, err) < 0)
		return -1;
	if (open_query_path(rq, AGENT_WATCH, &f, err) < 0)
		return -1;
	return files_watch(rq, &f.target, &f.call, form != OUTPUT_NDJSON, reply, err);
}

static int post_path(struct request *rq, uint16_t type, const struct files_body *b,
                     struct reply *reply, struct error *err)
{
	FILES_TARGET f = {.call = {.type = type}};

	if (open_body_path(rq, type, b, &f, err) < 0)
		return -1;
	return files_answer(rq, &f.target, &f.call, (struct span){NULL, 0}, reply, err);
}

static int mkdir_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	return post_path(rq, AGENT_MKDIR, body, reply, err);
}

static int rename_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	return post_path(rq, AGENT_RENAME, body, reply, err);
}

static int copy_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	return post_path(rq, AGENT_COPY, body, reply, err);
}

static int remove_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	return post_path(rq, AGENT_REMOVE, body, reply, err);
}

static int read_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct files_body *b = body;
	FILES_TARGET f = {.call = {.path = {.offset = (uint64_t)b->offset}}};
	struct files_read_options options = {
	        .path = b->path,
	        .bytes_max = b->length ? (size_t)b->length : 1024 * 1024,
	};

	if (open_body_path(rq, AGENT_READ, b, &f, err) < 0)
		return -1;
	return files_read(rq, &f.target, &f.call, &options, reply, err);
}

static int write_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct files_body *b = body;
	FILES_TARGET f = {.call = {.type = AGENT_WRITE}};

	if (b->content && b->content_base64.size > 0)
		return FAIL(err, ERROR_INVALID, "content and content_base64 are both given");
	if (open_body_path(rq, AGENT_WRITE, b, &f, err) < 0)
		return -1;
	return files_answer(rq, &f.target, &f.call,
	                    b->content ? span_of(b->content) : b->content_base64, reply, err);
}

#define READ SCOPE_SANDBOX_READ
#define WRITE SCOPE_SANDBOX_WRITE
#define TAG .tag = "files"
const struct route files_routes[] = {
        {HTTP_GET, BASE, READ, .query = &folder_list_query, .answer = &file_list_shape,
         .handle = folder_list, TAG, .summary = "List a folder"},
        {HTTP_DELETE, BASE, WRITE, .query = &remove_query, .answer = &count_shape,
         .handle = path_delete, TAG, .summary = "Delete a file or folder"},
        {HTTP_GET, BASE "/content", READ, .query = &read_query, .handle = content_get, TAG,
         .summary = "Download a file; supports Range"},
        {HTTP_PUT, BASE "/content", WRITE, ROUTE_STREAM_BODY, .query = &write_query,
         .answer = &file_entry_shape, .handle = content_put, TAG,
         .summary = "Upload a file; missing folders are created"},
        {HTTP_POST, BASE "/content", WRITE, ROUTE_STREAM_BODY, .query = &write_query,
         .answer = &file_entry_shape, .handle = content_put, TAG,
         .summary = "Upload a file, like PUT"},
        {HTTP_POST, BASE "/upload", WRITE, ROUTE_STREAM_BODY, .query = &path_query,
         .answer = &file_list_shape, .handle = form_post, TAG,
         .summary = "Upload the files of a multipart form into a folder"},
        {HTTP_GET, BASE "/tar", READ, .query = &path_query, .handle = tar_get, TAG,
         .summary = "Download a folder as a tar archive"},
        {HTTP_GET, BASE "/zip", READ, .query = &path_query, .handle = zip_get, TAG,
         .summary = "Download a folder as a ZIP archive, at most 100,000 entries"},
        {HTTP_POST, BASE "/tar", WRITE, ROUTE_STREAM_BODY, .query = &unpack_query,
         .answer = &count_shape, .handle = tar_post, TAG,
         .summary = "Unpack a tar archive into a folder"},
        {HTTP_GET, BASE "/stat", READ, .query = &stat_query, .answer = &file_entry_shape,
         .handle = stat_get, TAG, .summary = "Get the attributes of a file"},
        {HTTP_GET, BASE "/watch", READ, ROUTE_STANDING, .query = &watch_query, .handle = watch_get,
         TAG, .summary = "Watch a folder for changes"},
        {HTTP_POST, BASE "/mkdir", WRITE, .body = &mkdir_request, .answer = &file_entry_shape,
         .handle = mkdir_post, TAG, .summary = "Create a folder"},
        {HTTP_POST, BASE "/rename", WRITE, .body = &move_request, .answer = &file_entry_shape,
         .handle = rename_post, TAG, .summary = "Rename or move a file or folder"},
        {HTTP_POST, BASE "/copy", WRITE, .body = &move_request, .answer = &file_entry_shape,
         .handle = copy_post, TAG, .summary = "Copy"},
        {HTTP_POST, BASE "/remove", WRITE, .body = &remove_request, .answer = &count_shape,
         .handle = remove_post, TAG, .summary = "Delete a file or folder, like DELETE"},
        {HTTP_POST, BASE "/read", READ, .body = &read_request, .answer = &file_content_shape,
         .handle = read_post, TAG, .summary = "Read a file into JSON"},
        {HTTP_POST, BASE "/pack", READ, .body_max = AGENT_NAMES_BYTES_MAX, .body = &pack_request,
         .handle = pack_post, TAG, .summary = "Download named paths of a folder as a tar archive"},
        {HTTP_POST, BASE "/write", WRITE, .body_max = READ_MAX, .body = &write_request,
         .answer = &file_entry_shape, .handle = write_post, TAG,
         .summary = "Write a file from JSON"},
        {.path = NULL},
};

#undef TAG
#define TAG .tag = "volumes"
const struct route volume_files_routes[] = {
        {HTTP_GET, VOLUME, READ, ROUTE_SLOW | ROUTE_FILES, .query = &folder_list_query,
         .answer = &file_list_shape, .handle = folder_list, TAG,
         .summary = "List a folder of a volume"},
        {HTTP_DELETE, VOLUME, WRITE, ROUTE_SLOW | ROUTE_FILES, .query = &remove_query,
         .answer = &count_shape, .handle = path_delete, TAG,
         .summary = "Delete a file or folder of a volume"},
        {HTTP_GET, VOLUME "/content", READ, ROUTE_SLOW | ROUTE_FILES, .query = &read_query,
         .handle = content_get, TAG, .summary = "Download a file of a volume; supports Range"},
        {HTTP_PUT, VOLUME "/content", WRITE, ROUTE_STREAM_BODY | ROUTE_SLOW | ROUTE_FILES,
         .query = &write_query, .answer = &file_entry_shape, .handle = content_put, TAG,
         .summary = "Upload a file into a volume; missing folders are created"},
        {HTTP_GET, VOLUME "/tar", READ, ROUTE_SLOW | ROUTE_FILES, .query = &path_query,
         .handle = tar_get, TAG, .summary = "Download a folder of a volume as a tar archive"},
        {HTTP_POST, VOLUME "/tar", WRITE, ROUTE_STREAM_BODY | ROUTE_SLOW | ROUTE_FILES,
         .query = &unpack_query, .answer = &count_shape, .handle = tar_post, TAG,
         .summary = "Unpack a tar archive into a volume"},
        {HTTP_GET, VOLUME "/stat", READ, ROUTE_SLOW | ROUTE_FILES, .query = &stat_query,
         .answer = &file_entry_shape, .handle = stat_get, TAG,
         .summary = "Get the attributes of a file of a volume"},
        {HTTP_POST, VOLUME "/mkdir", WRITE, ROUTE_SLOW | ROUTE_FILES, .body = &mkdir_request,
         .answer = &file_entry_shape, .handle = mkdir_post, TAG,
         .summary = "Create a folder in a volume"},
        {HTTP_POST, VOLUME "/rename", WRITE, ROUTE_SLOW | ROUTE_FILES, .body = &move_request,
         .answer = &file_entry_shape, .handle = rename_post, TAG,
         .summary = "Rename or move a file or folder within a volume"},
        {.path = NULL},
};

/* The handler of the same call for a sandbox. */
static http_handler *find_sandbox_handler(const struct route *route)
{
	for (const struct route *row = files_routes; row->path; row++)
		if (row->method == route->method &&
		    strcmp(row->path + strlen(BASE), route->path + strlen(LEASE)) == 0)
			return row->handle;
	return NULL;
}

static int lease_file(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	http_handler *handle = find_sandbox_handler(rq->route);

	assert(handle);
	return session_retry(rq, body, reply, handle, err);
}

#undef TAG
#define TAG .tag = "leases"
/* All routes need the scope to write, because the first call creates a sandbox. */
const struct route lease_files_routes[] = {
        {HTTP_GET, LEASE, WRITE, ROUTE_SLOW, .query = &folder_list_query,
         .answer = &file_list_shape, .handle = lease_file, TAG,
         .summary = "List a folder of a lease's sandbox; the sandbox is created if needed"},
        {HTTP_DELETE, LEASE, WRITE, ROUTE_SLOW, .query = &remove_query, .answer = &count_shape,
         .handle = lease_file, TAG, .summary = "Delete a file or folder of a lease's sandbox"},
        {HTTP_GET, LEASE "/content", WRITE, ROUTE_SLOW, .query = &read_query, .handle = lease_file,
         TAG, .summary = "Download a file of a lease's sandbox; supports Range"},
        {HTTP_PUT, LEASE "/content", WRITE, ROUTE_STREAM_BODY | ROUTE_SLOW, .query = &write_query,
         .answer = &file_entry_shape, .handle = lease_file, TAG,
         .summary = "Upload a file into a lease's sandbox; missing folders are created"},
        {HTTP_GET, LEASE "/tar", WRITE, ROUTE_SLOW, .query = &path_query, .handle = lease_file, TAG,
         .summary = "Download a folder of a lease's sandbox as a tar archive"},
        {HTTP_POST, LEASE "/tar", WRITE, ROUTE_STREAM_BODY | ROUTE_SLOW, .query = &unpack_query,
         .answer = &count_shape, .handle = lease_file, TAG,
         .summary = "Unpack a tar archive in a lease's sandbox"},
        {HTTP_GET, LEASE "/stat", WRITE, ROUTE_SLOW, .query = &stat_query,
         .answer = &file_entry_shape, .handle = lease_file, TAG,
         .summary = "Get the attributes of a file of a lease's sandbox"},
        {HTTP_POST, LEASE "/mkdir", WRITE, ROUTE_SLOW, .body = &mkdir_request,
         .answer = &file_entry_shape, .handle = lease_file, TAG,
         .summary = "Create a folder in a lease's sandbox"},
        {HTTP_POST, LEASE "/rename", WRITE, ROUTE_SLOW, .body = &move_request,
         .answer = &file_entry_shape, .handle = lease_file, TAG,
         .summary = "Rename or move a file or folder of a lease's sandbox"},
        {HTTP_POST, LEASE "/read", WRITE, ROUTE_SLOW, .body = &read_request,
         .answer = &file_content_shape, .handle = lease_file, TAG,
         .summary = "Read a file of a lease's sandbox into JSON"},
        {HTTP_POST, LEASE "/pack", WRITE, ROUTE_SLOW, .body_max = AGENT_NAMES_BYTES_MAX,
         .body = &pack_request, .handle = lease_file, TAG,
         .summary = "Download named paths of a folder of a lease's sandbox as a tar archive"},
        {HTTP_POST, LEASE "/write", WRITE, ROUTE_SLOW, .body_max = READ_MAX, .body = &write_request,
         .answer = &file_entry_shape, .handle = lease_file, TAG,
         .summary = "Write a file of a lease's sandbox from JSON"},
        {.path = NULL},
};
