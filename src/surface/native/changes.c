/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a sandbox or snapshot: listed, as a patch, accepted as a snapshot, or reverted. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "edge/api.h"
#include "edge/text.h"
#include "fleet/sandbox/changes.h"
#include "sandbox/change.h"
#include "surface/native/native.h"
#include "surface/native/snapshots.h"

#define INSTANCE "/api/sandbox/instances/:id"
#define SNAPSHOT "/api/sandbox/snapshots/:id"
#define PAGE_TEXT_MAX (2 * PATH_SIZE_MAX)

struct changes_query {
	const char *base, *path, *page;
	int64_t limit;
	int format;
};
enum { FORMAT_JSON, FORMAT_PATCH };
static const char *const formats[] = {"json", "patch", NULL};
#define QUERY_ROWS(limit_max, limit_about)                                                         \
	JSON_TEXT_MEMBER(                                                                          \
	        changes_query, base, .max = 64,                                                    \
	        .about = "name or id of a snapshot, or \"template\"; default: the template of a "  \
	                 "sandbox, and what the sandbox of a snapshot lay on"),                    \
	        JSON_TEXT_MEMBER(changes_query, path, .max = PATH_SIZE_MAX - 1,                    \
	                         .about = "only this file, or this folder and everything in it"),  \
	        JSON_TEXT_MEMBER(changes_query, page, .max = PAGE_TEXT_MAX,                        \
	                         .about = "next_page of the previous page"),                       \
	        JSON_WHOLE_MEMBER(changes_query, limit, .min = 1, .max = (limit_max),              \
	                          .about = (limit_about))
static const struct json_member changes_list_query_members[] = {
        QUERY_ROWS(FLEET_CHANGES_MAX, "items per page (default 1000)"),
};
static JSON_SHAPE(changes_list_query, "ChangesQuery", changes_query, "Filter for changes");
static const struct json_member changes_diff_query_members[] = {
        QUERY_ROWS(FLEET_DIFFS_MAX, "items per page (default 200)"),
        JSON_CHOICE_MEMBER(changes_query, format, .choices = formats,
                           .about = "patch: only the patches, one after another; if there are "
                                    "more, the last line is \"# next_page: …\""),
};
static JSON_SHAPE(changes_diff_query, "DiffQuery", changes_query, "Filter and format of a diff");

struct change_answer {
	const char *path, *path_encoding, *kind, *type, *type_before, *mode, *mode_before;
	const char *link, *link_before, *diff, *diff_encoding;
	int64_t size, size_before, uid, gid, uid_before, gid_before;
	int64_t lines_added, lines_deleted;
	bool truncated, binary;
};
static const struct json_member change_shape_members[] = {
        JSON_TEXT_MEMBER(change_answer, path, .about = "path from the root, without a leading '/'"),
        JSON_TEXT_MEMBER(change_answer, path_encoding, .flags = JSON_OMIT_EMPTY,
                         .about = "base64 if the path is not UTF-8"),
        JSON_TEXT_MEMBER(change_answer, kind,
                         .about = "added, deleted or modified; mode: only the mode or owner "
                                  "changed; type: the file became another type of file"),
        JSON_TEXT_MEMBER(
                change_answer, type, .flags = JSON_NULLABLE,
                .about = "file, dir, link, fifo, socket or device; null: the path does not exist"),
        JSON_TEXT_MEMBER(change_answer, type_before, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(change_answer, size, .about = "size of a file in bytes"),
        JSON_WHOLE_MEMBER(change_answer, size_before),
        JSON_TEXT_MEMBER(change_answer, mode, .flags = JSON_NULLABLE, .about = "octal",
                         .example = "0644"),
        JSON_TEXT_MEMBER(change_answer, mode_before, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(change_answer, uid),
        JSON_WHOLE_MEMBER(change_answer, gid),
        JSON_WHOLE_MEMBER(change_answer, uid_before),
        JSON_WHOLE_MEMBER(change_answer, gid_before),
        JSON_TEXT_MEMBER(change_answer, link, .flags = JSON_OMIT_EMPTY,
                         .about = "target of a symbolic link"),
        JSON_TEXT_MEMBER(change_answer, link_before, .flags = JSON_OMIT_EMPTY),
        JSON_BOOL_MEMBER(change_answer, truncated, .flags = JSON_OMIT_EMPTY,
                         .about = "the folder is too deep; its content is not listed"),
        JSON_TEXT_MEMBER(change_answer, diff, .flags = JSON_OMIT_EMPTY,
                         .about = "diff only: a patch in git's format"),
        JSON_WHOLE_MEMBER(change_answer, lines_added, .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(change_answer, lines_deleted, .flags = JSON_OMIT_EMPTY),
        JSON_BOOL_MEMBER(change_answer, binary, .flags = JSON_OMIT_EMPTY,
                         .about =
                                 "the file is not text, or is too large for a comparison by lines"),
        JSON_TEXT_MEMBER(change_answer, diff_encoding, .flags = JSON_OMIT_EMPTY,
                         .about = "base64 if the diff is not UTF-8"),
};
static JSON_SHAPE(change_shape, "Change", change_answer, "A path that differs from the base");

struct changes_answer {
	struct json_list items;
	const char *base, *next_page;
};
static const struct json_member changes_shape_members[] = {
        JSON_LIST_MEMBER(changes_answer, items, &change_shape),
        JSON_TEXT_MEMBER(changes_answer, base, .about = "id of the base snapshot, or \"template\""),
        JSON_TEXT_MEMBER(changes_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(changes_shape, "ChangeList", changes_answer,
                  "One page of changes sorted by path; a folder precedes its content");

struct revert_body {
	const char **paths;
	const char *base;
	int encoding;
};
enum { ENCODING_TEXT, ENCODING_BASE64 };
static const char *const encodings[] = {"text", "base64", NULL};
static const struct json_member revert_request_members[] = {
        JSON_TEXT_LIST_MEMBER(
                revert_body, paths, .flags = JSON_REQUIRED, .min = 1, .max = FLEET_REVERT_MAX,
                .about = "files, or folders with everything in them; \"/\" means everything"),
        JSON_CHOICE_MEMBER(revert_body, encoding, .choices = encodings,
                           .about = "base64: each path is base64-encoded"),
        JSON_TEXT_MEMBER(revert_body, base, .max = 64,
                         .about = "name or id of a snapshot, or \"template\" (the default)"),
};
static JSON_SHAPE(revert_request, "Revert", revert_body, "Paths to revert");

struct reverted_answer {
	const char *path, *error, *message, *hint;
	bool ok;
	int64_t restored, removed;
};
static const struct json_member reverted_shape_members[] = {
        JSON_TEXT_MEMBER(reverted_answer, path, .about = "the path as given in the request"),
        JSON_BOOL_MEMBER(reverted_answer, ok, .about = "the path has the base's content again"),
        JSON_WHOLE_MEMBER(reverted_answer, restored,
                          .about = "number of files and folders restored"),
        JSON_WHOLE_MEMBER(reverted_answer, removed, .about = "number of files and folders deleted"),
        JSON_TEXT_MEMBER(reverted_answer, error, .flags = JSON_OMIT_EMPTY, .about = "error code"),
        JSON_TEXT_MEMBER(reverted_answer, message, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(reverted_answer, hint, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(reverted_shape, "Reverted", reverted_answer, "Result for one path");

static const struct json_member reverts_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &reverted_shape),
};
static JSON_SHAPE(reverts_shape, "RevertResult", list_answer,
                  "Results in the order of the requested paths");

static const char *format_page(struct arena *a, const char *path)
{
	char *text = arena_alloc(a, 2 * strlen(path) + 1), *at = text;

	for (*at = '\0'; *path; path++, at += 2)
		(void)snprintf(at, 3, "%02x", (unsigned char)*path);
	return text;
}

static int parse_page(struct arena *a, const char *text, const char **ret, struct error *err)
{
	size_t size = strlen(text) / 2;
	char *path = arena_alloc(a, size + 1);

	if (hex_decode(span_of(text), path, size) < 0 || memchr(path, '\0', size))
		return FAIL(err, ERROR_INVALID, "page is not a next_page of an earlier reply");
	path[size] = '\0';
	*ret = path;
	return 0;
}

/* Bytes that are not UTF-8 become base64, and *ret_encoding is set to "base64". */
static const char *encode_text(struct arena *a, struct span bytes, const char **ret_encoding)
{
	AUTO(buf_done) struct buf out = BUF(2 * bytes.size + 8);

	if (span_is_utf8(bytes) && span_find(bytes, '\0') < 0)
		return bytes.size ? bytes.data : "";
	*ret_encoding = "base64";
	text_write_base64(&out, bytes);
	return arena_copy(a, buf_span(&out));
}

static const char *format_mode(struct arena *a, uint32_t mode)
{
	return mode ? arena_format(a, "%04o", mode & 07777) : NULL;
}

static struct change_answer make_change_answer(struct arena *a, const struct sandbox_change *c,
                                               const struct span *diff)
{
	const struct change_side *was = &c->sides[0], *is = &c->sides[1];
	struct change_answer out = {
	        .kind = change_kind_name(c->kind),
	        .type = change_type_name(is->mode),
	        .type_before = change_type_name(was->mode),
	        .size = (int64_t)is->size,
	        .size_before = (int64_t)was->size,
	        .mode = format_mode(a, is->mode),
	        .mode_before = format_mode(a, was->mode),
	        .uid = is->uid,
	        .gid = is->gid,
	        .uid_before = was->uid,
	        .gid_before = was->gid,
	        .link = is->link,
	        .link_before = was->link,
	        .truncated = c->is_cut,
	};

	out.path = encode_text(a, span_of(c->path), &out.path_encoding);
	if (diff) {
		struct change_lines lines = change_count_lines(*diff);

		out.diff = encode_text(a, *diff, &out.diff_encoding);
		out.lines_added = (int64_t)lines.added;
		out.lines_deleted = (int64_t)lines.deleted;
		out.binary = lines.is_binary;
	}
	return out;
}

static void reply_change_list(struct request *rq, struct reply *reply,
                              const struct fleet_changes *found)
{
	struct change_answer *items = ARENA_ARRAY(rq->arena, struct change_answer, found->count);
	struct changes_answer out = {.items = {items, found->count, true}, .base = found->base};

	for (size_t i = 0; i < found->count; i++)
		items[i] = make_change_answer(rq->arena, &found->items[i],
		                              found->diffs ? &found->diffs[i] : NULL);
	if (found->is_more)
		out.next_page = format_page(rq->arena, found->items[found->count - 1].path);
	reply_json(reply, &changes_shape, &out);
}

static void reply_patch(struct request *rq, struct reply *reply, const struct fleet_changes *found)
{
	struct buf *out = reply_buf(reply, "text/x-diff");

	for (size_t i = 0; i < found->count; i++)
		buf_add_span(out, found->diffs[i]);
	if (found->is_more)
		buf_addf(out, "# next_page: %s\n",
		         format_page(rq->arena, found->items[found->count - 1].path));
}

static int parse_changes_query(struct request *rq, unsigned limit, struct fleet_changes_ask *ret,
                               struct error *err)
{
	const struct changes_query *q = rq->query;

	*ret = (struct fleet_changes_ask){
	        .ref = {api_project(rq), request_param(rq, "id")},
	        .base = q->base,
	        .path = q->path,
	        .limit = q->limit ? (unsigned)q->limit : limit,
	};
	return q->page ? parse_page(rq->arena, q->page, &ret->after, err) : 0;
}

static int list_changes(struct request *rq, bool of_snapshot, struct reply *reply,
                        struct error *err)
{
	struct fleet_changes_ask ask;
	struct fleet_changes found;

	if (parse_changes_query(rq, FLEET_CHANGES_MAX, &ask, err) < 0)
		return -1;
	ask.of_snapshot = of_snapshot;
	if (fleet_changes(api_of(rq)->fleet, rq->arena, &ask, &found, err) < 0)
		return -1;
	reply_change_list(rq, reply, &found);
	return 0;
}

static int list_diffs(struct request *rq, bool of_snapshot, struct reply *reply, struct error *err)
{
	const struct changes_query *q = rq->query;
	struct fleet_changes_ask ask;
	struct fleet_changes found;

	if (parse_changes_query(rq, FLEET_DIFFS_MAX, &ask, err) < 0)
		return -1;
	ask.of_snapshot = of_snapshot;
	if (fleet_diff(api_of(rq)->fleet, rq->arena, &ask, &found, err) < 0)
		return -1;
	if (q->format == FORMAT_PATCH)
		reply_patch(rq, reply, &found);
	else
		reply_change_list(rq, reply, &found);
	return 0;
}

static int sandbox_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	return list_changes(rq, false, reply, err);
}

static int snapshot_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return list_changes(rq, true, reply, err);
}

static int sandbox_diff(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	return list_diffs(rq, false, reply, err);
}

static int snapshot_diff(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return list_diffs(rq, true, reply, err);
}

static int parse_paths(struct arena *a, const struct revert_body *b, struct fleet_revert *ret,
                       struct error *err)
{
	size_t count = 0;
	const char **paths;

	while (b->paths[count])
		count++;
	paths = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++) {
		paths[i] = b->paths[i];
		if (b->encoding == ENCODING_BASE64 &&
		    text_read_base64(a, b->paths[i], &paths[i], err) < 0)
			return -1;
	}
	*ret = (struct fleet_revert){.paths = paths, .count = count, .base = b->base};
	return 0;
}

static struct reverted_answer make_reverted_answer(const struct fleet_reverted *r, const char *path)
{
	bool failed = r->err.code != ERROR_NONE;

	return (struct reverted_answer){.path = path,
	                                .ok = !failed,
	                                .restored = r->restored,
	                                .removed = r->removed,
	                                .error = failed ? error_kind_get(r->err.code)->name : NULL,
	                                .message = failed ? r->err.text : NULL,
	                                .hint = failed ? r->err.hint : NULL};
}

static int sandbox_revert(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id"), NULL,
	                              api_awaited_if_parking(rq)};
	const struct revert_body *b = body;
	struct fleet_reverted *results;
	struct reverted_answer *items;
	struct fleet_revert request;

	if (parse_paths(rq->arena, b, &request, err) < 0)
		return -1;
	results = ARENA_ARRAY(rq->arena, struct fleet_reverted, request.count);
	if (fleet_revert(api_of(rq)->fleet, rq->arena, &ref, &request, results, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct reverted_answer, request.count);
	for (size_t i = 0; i < request.count; i++)
		items[i] = make_reverted_answer(&results[i], b->paths[i]);
	reply_list(reply, &reverts_shape, items, request.count);
	return 0;
}

#define TAG .tag = "changes"
const struct route changes_routes[] = {
        {HTTP_GET, INSTANCE "/changes", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_FILES,
         .query = &changes_list_query, .answer = &changes_shape, .handle = sandbox_list, TAG,
         .summary = "List the changes of a sandbox against its template or a snapshot"},
        {HTTP_GET, INSTANCE "/diff", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_FILES,
         .query = &changes_diff_query, .answer = &changes_shape, .handle = sandbox_diff, TAG,
         .summary = "The same as a patch"},
        {HTTP_POST, INSTANCE "/changes/accept", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .body = &snapshot_request, .answer = &snapshot_shape, .status = 201,
         .handle = snapshot_create, TAG,
         .summary = "Accept the changes of a sandbox: take a snapshot"},
        {HTTP_POST, INSTANCE "/changes/revert", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_FILES,
         .body = &revert_request, .answer = &reverts_shape, .handle = sandbox_revert, TAG,
         .summary = "Revert paths of a sandbox to their content in the base"},
        {HTTP_GET, SNAPSHOT "/changes", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_FILES,
         .query = &changes_list_query, .answer = &changes_shape, .handle = snapshot_list, TAG,
         .summary = "List the changes of a snapshot against the previous snapshot or its template"},
        {HTTP_GET, SNAPSHOT "/diff", SCOPE_SANDBOX_READ, ROUTE_SLOW | ROUTE_FILES,
         .query = &changes_diff_query, .answer = &changes_shape, .handle = snapshot_diff, TAG,
         .summary = "The same as a patch"},
        {.path = NULL},
};
