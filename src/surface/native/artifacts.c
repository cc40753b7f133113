/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/artifacts: files that outlive their sandbox.
 *
 * A signed address opens an artifact without a key, for example in a browser. Content from a
 * sandbox may attack that browser, so it is sent as an attachment with a fixed media type, and a
 * content security policy forbids scripts. */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "calls/download.h"
#include "calls/files.h"
#include "calls/stored_artifact.h"
#include "edge/api.h"
#include "edge/audit.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/artifacts.h"
#include "store/artifacts.h"
#include "surface/native/native.h"

#define BASE "/api/sandbox/artifacts"
#define ADDRESS_S_MAX ((int64_t)7 * 86400)
#define KEEP_S_MAX ((int64_t)10 * 366 * 86400)
#define IDLE_MS 120000
#define NAME_MAX_SHOWN 200

static const struct json_member artifact_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &stored_artifact_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(artifact_list_shape, "StoredArtifactList", list_answer, "One page of artifacts");

struct artifact_list_query {
	const char *sandbox, *run, *job, *page;
	int64_t limit;
};
static const struct json_member artifact_list_query_members[] = {
        JSON_TEXT_MEMBER(artifact_list_query, sandbox, .max = 64,
                         .about =
                                 "name or id of a sandbox; the id of a deleted sandbox works, too"),
        JSON_TEXT_MEMBER(artifact_list_query, run, .max = 128,
                         .about = "value of the header Atoll-Run"),
        JSON_TEXT_MEMBER(artifact_list_query, job, .max = 64,
                         .about = "resultId of the background job"),
        JSON_TEXT_MEMBER(artifact_list_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(artifact_list_query, limit, .min = 1, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(artifact_list_query, "ArtifactListQuery", artifact_list_query,
                  "Filter for artifacts");

struct artifact_keep_body {
	const char *path, *user;
	int64_t keep_seconds;
};
static const struct json_member artifact_keep_request_members[] = {
        JSON_TEXT_MEMBER(artifact_keep_body, path, .flags = JSON_REQUIRED, .min = 1, .max = 4095,
                         .about = "path of a file: absolute, or relative to the default folder"),
        JSON_TEXT_MEMBER(artifact_keep_body, user, .max = 64,
                         .about = "user that reads the file (default: the template's user)"),
        JSON_WHOLE_MEMBER(artifact_keep_body, keep_seconds, .min = 0, .max = KEEP_S_MAX,
                          .about = "lifetime of the artifact; 0: the project's setting"),
};
static JSON_SHAPE(artifact_keep_request, "ArtifactKeep", artifact_keep_body,
                  "File to keep as an artifact");

struct artifact_url_body {
	int64_t expires_in_seconds;
};
static const struct json_member artifact_url_request_members[] = {
        JSON_WHOLE_MEMBER(artifact_url_body, expires_in_seconds, .min = 1, .max = ADDRESS_S_MAX,
                          .flags = JSON_REQUIRED,
                          .about = "lifetime of the address, at most seven days"),
};
static JSON_SHAPE(artifact_url_request, "ArtifactUrl", artifact_url_body,
                  "Lifetime of a signed address");

struct artifact_download_query {
	int64_t expires;
	const char *signature;
};
static const struct json_member artifact_download_query_members[] = {
        JSON_WHOLE_MEMBER(artifact_download_query, expires, .min = 0, .flags = JSON_REQUIRED,
                          .about = "time when the address expires, in Unix seconds"),
        JSON_TEXT_MEMBER(artifact_download_query, signature, .max = FLEET_ARTIFACT_SIGNATURE_SIZE,
                         .flags = JSON_REQUIRED),
};
static JSON_SHAPE(artifact_download_query, "ArtifactDownloadQuery", artifact_download_query,
                  "Query of a signed address");

static int reply_artifact(struct request *rq, struct reply *reply, const struct artifact_record *r,
                          int64_t seconds)
{
	const struct stored_artifact out = stored_artifact_of(rq->arena, r, seconds);

	reply_json(reply, &stored_artifact_shape, &out);
	return 0;
}

static int artifact_keep(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	const struct artifact_keep_body *b = body;
	struct fleet_artifact_keep keep = {.project_id = api_project(rq),
	                                   .key_id = api_key_id(rq),
	                                   .run = request_header(rq, "Atoll-Run"),
	                                   .keep_ms = b->keep_seconds * 1000,
	                                   .deadline = rq->deadline};
	struct artifact_record made;

	/* This also refuses an invalid header Atoll-Run. */
	if (api_target_open(rq, &target, err) < 0 ||
	    files_resolve(rq, &target, b->path, &keep.path, err) < 0)
		return -1;
	keep.sandbox = target.record;
	keep.hold = target.hold;
	keep.user = b->user ? b->user : target.user;
	if (fleet_artifact_keep(api_of(rq)->fleet, rq->arena, &keep, &made, err) < 0)
		return -1;
	reply_status(reply, 201);
	return reply_artifact(rq, reply, &made, STORED_ARTIFACT_ADDRESS_S);
}

static int artifact_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct artifact_list_query *q = rq->query;
	const struct fleet_ref sandbox = {api_project(rq), q->sandbox};
	struct artifact_filter filter = {
	        .project_id = api_project(rq),
	        .run = q->run,
	        .job = q->job,
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit : 100,
	};
	struct artifact_list found;

	if (api_resolve_sandbox_id(rq, &sandbox, &filter.sandbox_id, err) < 0 ||
	    store_artifact_list(api_of(rq)->store, rq->arena, &filter, &found, err) < 0)
		return -1;
	reply_page(reply, &artifact_list_shape, stored_artifact_items(rq, &found), found.next_page);
	return 0;
}

static int find_artifact(struct request *rq, struct artifact_record *ret, struct error *err)
{
	return store_artifact_find(api_of(rq)->store, rq->arena, api_project(rq),
	                           request_param(rq, "id"), ret, err);
}

static int artifact_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct artifact_record found;

	return find_artifact(rq, &found, err) < 0
	               ? -1
	               : reply_artifact(rq, reply, &found, stored_artifact_address_s(rq));
}

static int artifact_url(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct artifact_url_body *b = body;
	struct artifact_record found;

	return find_artifact(rq, &found, err) < 0
	               ? -1
	               : reply_artifact(rq, reply, &found, b->expires_in_seconds);
}

static int artifact_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id")};

	if (fleet_artifact_remove(api_of(rq)->fleet, rq->arena, &ref, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

/* RFC 6266: bytes that could end the header or the name are percent-encoded. */
static const char *format_disposition(struct arena *a, const char *name)
{
	AUTO(buf_done) struct buf out = BUF(8 * NAME_MAX_SHOWN);

	buf_add_text(&out, "attachment; filename*=UTF-8''");
	for (size_t i = 0; i < NAME_MAX_SHOWN && name[i]; i++) {
		unsigned char c = (unsigned char)name[i];

		if (isascii(c) && (isalnum(c) || strchr("-._~", c)))
			buf_add_byte(&out, (char)c);
		else
			buf_addf(&out, "%%%02X", c);
	}
	return arena_copy(a, buf_span(&out));
}

static int send_content(struct request *rq, const struct artifact_record *r, struct reply *reply,
                        struct error *err)
{
	const struct download_header headers[] = {
	        {"X-Content-Type-Options", "nosniff"},
	        {"Content-Security-Policy", "default-src 'none'; sandbox"},
	        {"Content-Disposition", format_disposition(rq->arena, path_last(r->path))},
	        {"Cache-Control", "private, max-age=0, must-revalidate"},
	        {"Accept-Ranges", "bytes"},
	        {"X-Checksum-Sha256", r->sha256},
	        {NULL, NULL},
	};
	struct download download = {
	        .media_type = r->media_type, .headers = headers, .idle_ms = IDLE_MS};
	const struct download_range *range = &download.range;

	if (download_range_find(rq, "file", r->size_bytes, &download.range, err) < 0 ||
	    fleet_artifact_open(api_of(rq)->fleet, r, range->offset, range->size, &download.fd,
	                        err) < 0)
		return -1;
	download_answer(reply, &download);
	return 0;
}

static int artifact_content(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	struct artifact_record found;

	return find_artifact(rq, &found, err) < 0 ? -1 : send_content(rq, &found, reply, err);
}

/* A forged address gets the same answer whether or not the artifact exists. */
static int artifact_download(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	const struct artifact_download_query *q = rq->query;
	struct artifact_record found;

	if (store_artifact_find(api_of(rq)->store, rq->arena, NULL, request_param(rq, "id"), &found,
	                        err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return FAIL(err, ERROR_FORBIDDEN,
		            "the address has no valid signature, or the artifact is deleted");
	}
	if (!fleet_artifact_is_signed(&found, q->expires, q->signature))
		return FAIL(err, ERROR_FORBIDDEN,
		            "the address has no valid signature, or the artifact is deleted");
	if (q->expires <= clock_unix_ms() / 1000) {
		(void)FAIL(err, ERROR_FORBIDDEN, "this address has expired");
		error_hint(err, "request a new address: POST " BASE "/ID/url");
		return -1;
	}
	api_audit_link(rq, &(struct api_audit_use){.action = "artifacts.download",
	                                           .target_kind = "artifacts",
	                                           .project_id = found.project_id,
	                                           .target_id = found.id});
	return send_content(rq, &found, reply, err);
}

#define TAG .tag = "artifacts"
const struct route artifacts_routes[] = {
        {HTTP_POST, "/api/sandbox/instances/:id/artifacts", SCOPE_SANDBOX_WRITE,
         ROUTE_SLOW | ROUTE_CANCEL, .body = &artifact_keep_request,
         .answer = &stored_artifact_shape, .status = 201, .handle = artifact_keep, TAG,
         .summary = "Keep a file of a sandbox as an artifact"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .query = &artifact_list_query,
         .answer = &artifact_list_shape, .handle = artifact_list, TAG,
         .summary = "List artifacts, newest first"},
        {HTTP_GET, BASE "/:id", SCOPE_SANDBOX_READ, .answer = &stored_artifact_shape,
         .handle = artifact_get, TAG, .summary = "Get an artifact"},
        {HTTP_GET, BASE "/:id/content", SCOPE_SANDBOX_READ, ROUTE_SLOW, .handle = artifact_content,
         TAG, .summary = "Download an artifact; supports Range"},
        {HTTP_POST, BASE "/:id/url", SCOPE_SANDBOX_WRITE, .body = &artifact_url_request,
         .answer = &stored_artifact_shape, .handle = artifact_url, TAG,
         .summary = "Make a signed address that opens an artifact without a key"},
        {HTTP_GET, BASE "/:id/download", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_SLOW,
         .query = &artifact_download_query, .handle = artifact_download, TAG,
         .summary = "Download an artifact by its signed address; supports Range"},
        {HTTP_DELETE, BASE "/:id", SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .status = 204,
         .handle = artifact_delete, TAG, .summary = "Delete an artifact"},
        {.path = NULL},
};
