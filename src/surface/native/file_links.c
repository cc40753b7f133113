/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/files/link — short-lived links to one file, which need no key. A link
 * is made by a caller that may read the file. */
#include "base/clock.h"
#include "base/path.h"
#include "calls/files.h"
#include "edge/api.h"
#include "edge/audit.h"
#include "edge/target.h"
#include "fleet/core/defaults.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/use.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/sandbox/file_link.h"
#include "http/server/shares.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"
#include "wire/agent.h"

#define LINK "/api/sandbox/instances/:id/files/link"
#define USER_MAX 64

struct file_link_body {
	const char *path, *user;
	int64_t expires_in_s;
};
static const struct json_member file_link_request_members[] = {
        JSON_TEXT_MEMBER(file_link_body, path, .flags = JSON_REQUIRED, .min = 1,
                         .max = PATH_SIZE_MAX - 1,
                         .about = "absolute path, or path below the default folder"),
        JSON_TEXT_MEMBER(file_link_body, user, .max = USER_MAX,
                         .about = "user that reads the file (default: the template's user)"),
        JSON_WHOLE_MEMBER(file_link_body, expires_in_s, .min = 1, .max = FLEET_FILE_LINK_MAX_S,
                          .about = "seconds (default 300)"),
};
static JSON_SHAPE(file_link_request, "FileLinkCreate", file_link_body, "A file to link to");

struct file_link_answer {
	const char *path, *url;
	int64_t expires_at;
};
static const struct json_member file_link_shape_members[] = {
        JSON_TEXT_MEMBER(file_link_answer, path, .about = "path and query on this server"),
        JSON_TEXT_MEMBER(file_link_answer, url, .flags = JSON_NULLABLE,
                         .about = "the same with this server's address, if that is known"),
        JSON_TIME_MEMBER(file_link_answer, expires_at),
};
static JSON_SHAPE(file_link_shape, "FileLink", file_link_answer,
                  "A link by which the file can be downloaded without a key");

struct file_link_query {
	const char *path, *user, *signature;
	int64_t expires;
};
static const struct json_member file_link_query_members[] = {
        JSON_TEXT_MEMBER(file_link_query, path, .flags = JSON_REQUIRED, .min = 1,
                         .max = PATH_SIZE_MAX - 1),
        JSON_TEXT_MEMBER(file_link_query, user, .flags = JSON_REQUIRED, .max = USER_MAX),
        JSON_WHOLE_MEMBER(file_link_query, expires, .flags = JSON_REQUIRED, .min = 0,
                          .about = "unix seconds"),
        JSON_TEXT_MEMBER(file_link_query, signature, .flags = JSON_REQUIRED,
                         .max = FLEET_FILE_LINK_TEXT_MAX),
};
static JSON_SHAPE(file_link_query, "FileLinkQuery", file_link_query, "Members of a link");

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '~' || c == '/';
}

static const char *escape_query(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(4 * PATH_SIZE_MAX);

	for (; *text; text++) {
		if (is_plain(*text))
			buf_add_byte(&out, *text);
		else
			buf_addf(&out, "%%%02X", (unsigned char)*text);
	}
	return arena_copy(a, buf_span(&out));
}

/* Makes the link without a call into the sandbox: a link to a missing file answers 404. */
static int link_post(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct file_link_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	struct fleet *fleet = api_of(rq)->fleet;
	int64_t seconds = b->expires_in_s ? b->expires_in_s : FLEET_FILE_LINK_USUAL_S;
	const char *address = api_server_address(rq);
	char signature[FLEET_FILE_LINK_TEXT_MAX];
	struct file_link_answer answer;
	struct fleet_file_link link;
	struct fleet_defaults defaults;
	struct sandbox_record r;
	struct request_sandbox sandbox;

	if (fleet_find(fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	sandbox = (struct request_sandbox){r.project_id, r.id};
	if (request_may_call(rq, &sandbox, err) < 0 ||
	    fleet_defaults(fleet, rq->arena, &r, NULL, &defaults, err) < 0 ||
	    path_resolve(rq->arena, path_or_root(defaults.workdir), span_of(b->path), &link.path,
	                 err) < 0)
		return -1;
	link.user = b->user ? b->user : defaults.user ? defaults.user : "";
	link.expires_at = clock_unix_ms() / 1000 + seconds;
	fleet_file_link_sign(fleet, &r, &link, signature);
	answer.path = arena_format(
	        rq->arena,
	        "/api/sandbox/instances/%s/files/link?path=%s&user=%s&expires=%lld"
	        "&signature=%s",
	        r.id, escape_query(rq->arena, link.path), escape_query(rq->arena, link.user),
	        (long long)link.expires_at, signature);
	answer.url = address ? arena_format(rq->arena, "%s%s", address, answer.path) : NULL;
	answer.expires_at = link.expires_at * 1000;
	reply_status(reply, 201);
	reply_json(reply, &file_link_shape, &answer);
	return 0;
}

/* Checks the signature before it wakes the sandbox. */
static int open_linked(struct request *rq, const struct fleet_file_link *link,
                       struct api_target *ret, struct error *err)
{
	const struct file_link_query *q = rq->query;
	const struct fleet_use use = {.reason = USAGE_FILE_OPS};
	const struct fleet_ref ref = {.id_or_name = request_param(rq, "id"), .use = &use};
	struct fleet *fleet = api_of(rq)->fleet;
	struct sandbox_record r;
	struct fleet_hold hold;

	if (fleet_find(fleet, rq->arena, &ref, &r, err) < 0)
		return err->code == ERROR_NOT_FOUND ? fleet_file_link_refuse(err) : -1;
	if (fleet_file_link_check(fleet, &r, link, q->signature, clock_unix_ms(), err) < 0 ||
	    fleet_hold(fleet, rq->arena, &ref, &r, &hold, err) < 0)
		return -1;
	return api_target_take(rq, &r, &hold, ret, err);
}

/* For the audit. */
static struct span describe_path(struct request *rq, const char *path)
{
	AUTO(buf_done) struct buf out = BUF(2 * PATH_SIZE_MAX);

	json_begin_object(&out, NULL);
	json_add_text(&out, "path", path);
	json_end_object(&out);
	return (struct span){arena_copy(rq->arena, buf_span(&out)), out.size};
}

static int link_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	const struct file_link_query *q = rq->query;
	const struct fleet_file_link link = {q->path, q->user, q->expires};
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	const struct files_call call = {.type = AGENT_READ,
	                                .path = {.path = q->path, .user = q->user}};

	if (open_linked(rq, &link, &t, err) < 0)
		return -1;
	api_audit_link(rq,
	               &(struct api_audit_use){"files.link.open", "instances", t.record->project_id,
	                                       t.record->id, describe_path(rq, q->path)});
	reply_header(reply, "Cache-Control", "no-store");
	reply_header(reply, "Referrer-Policy", "no-referrer");
	return files_download(rq, &t, &call, reply, err);
}

#define TAG .tag = "files"
const struct route file_links_routes[] = {
        {HTTP_POST, LINK, SCOPE_SANDBOX_WRITE, .body = &file_link_request,
         .answer = &file_link_shape, .status = 201, .handle = link_post, TAG,
         .summary = "Make a link by which a file can be downloaded without a key"},
        {HTTP_GET, LINK, SCOPE_NONE, ROUTE_PUBLIC | ROUTE_SLOW, .query = &file_link_query,
         .handle = link_get, TAG, .summary = "Download the file of a link; supports Range"},
        {.path = NULL},
};
