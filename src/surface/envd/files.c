/* SPDX-License-Identifier: Apache-2.0 */
/* GET and POST /files, authorized by the sandbox's token or by a signature made with it. */
#include "surface/envd/files.h"

#include <string.h>

#include "base/clock.h"
#include "calls/files.h"
#include "config/config.h"
#include "edge/api.h"
#include "edge/audit.h"
#include "edge/target.h"
#include "fleet/core/access.h"
#include "store/sandboxes.h"
#include "surface/envd/access.h"
#include "surface/envd/envd.h"
#include "surface/envd/routes.h"
#include "surface/envd/surface.h"
#include "wire/agent.h"

#define BODY_MAX_BYTES ((size_t)1 << 40)
#define PAGE 500
/* A signed URL without a sandbox is compared with at most this many sandboxes. */
#define SEARCHED_MAX 20000

static const struct json_member files_query_members[] = {
        JSON_TEXT_MEMBER(envd_files_query, path, .max = 4096),
        JSON_TEXT_MEMBER(envd_files_query, username, .max = 64),
        JSON_TEXT_MEMBER(envd_files_query, signature, .max = 64),
        JSON_TEXT_MEMBER(envd_files_query, signature_expiration, .max = 20),
};
static JSON_SHAPE(files_query, "EnvdFilesQuery", envd_files_query,
                  "A file and the user that accesses it");

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static struct signed_file signed_of(const struct request *rq, const struct envd_files_query *q)
{
	return (struct signed_file){
	        .path = text_or_empty(q->path),
	        .operation = rq->method == HTTP_POST ? "write" : "read",
	        .user = text_or_empty(q->username),
	        .expiration = q->signature_expiration,
	};
}

static bool is_signed_by(struct request *rq, const struct signed_file *file, const char *id,
                         const char *signature)
{
	char token[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(api_of(rq)->fleet, id, FLEET_ACCESS_AGENT, token);
	return signature_matches(file, token, span_of(signature));
}

static int check_signature(struct request *rq, const char *id, struct error *err)
{
	const struct envd_files_query *q = rq->query;
	const struct signed_file file = signed_of(rq, q);

	if (!q->signature)
		return FAIL(err, ERROR_UNAUTHENTICATED, "missing signature query parameter");
	if (!is_signed_by(rq, &file, id, q->signature))
		return FAIL(err, ERROR_UNAUTHENTICATED, "invalid signature");
	return signature_check_time(&file, clock_unix_ms() / 1000, err);
}

enum coding { CODING_IDENTITY, CODING_GZIP, CODING_NONE };

static bool is_refused(struct span weight)
{
	weight = span_trim(weight);
	if (!span_starts_with(weight, "q=0"))
		return false;
	for (size_t i = 3; i < weight.size; i++)
		if (weight.data[i] != '.' && weight.data[i] != '0')
			return false;
	return true;
}

/* On one machine compression takes longer than sending the file as it is. The file is compressed
 * only if gzip is the sole coding in the header, as the SDK sends it on request, or if the client
 * refuses the identity coding. */
static enum coding choose_coding(const char *accept)
{
	struct span rest = span_of(accept), item, name;
	bool takes_gzip = false, refuses_identity = false, names_identity = false;
	unsigned count = 0;

	while (rest.size > 0) {
		bool is_off;

		(void)span_split(&rest, ',', &item);
		is_off = span_split(&item, ';', &name) && is_refused(item);
		name = span_trim(name);
		count++;
		takes_gzip |=
		        !is_off && (span_equals_text(name, "gzip") || span_equals_text(name, "*"));
		names_identity |= span_equals_text(name, "identity");
		refuses_identity |= is_off && (span_equals_text(name, "identity") ||
		                               (span_equals_text(name, "*") && !names_identity));
	}
	if (refuses_identity)
		return takes_gzip ? CODING_GZIP : CODING_NONE;
	return takes_gzip && count == 1 && !strchr(accept, '*') ? CODING_GZIP : CODING_IDENTITY;
}

static int refuse_codings(struct reply *reply)
{
	reply_status(reply, 406);
	envd_write_message(reply_buf(reply, "application/json"), 406,
	                   "no acceptable encoding found, supported: [identity, gzip]");
	return 0;
}

static int download_file(struct request *rq, struct api_target *t, const struct envd_files_query *q,
                         struct reply *reply, struct error *err)
{
	enum coding coding = choose_coding(request_header(rq, "Accept-Encoding"));
	struct files_call call = {
	        .type = AGENT_READ, .folder_is_invalid = true, .as_gzip = coding == CODING_GZIP};
	const char *user;

	if (!q->path || !q->path[0])
		return FAIL(err, ERROR_INVALID, "path is missing");
	if (coding == CODING_NONE)
		return refuse_codings(reply);
	if (envd_user_find(rq, t, q->username, &user, err) < 0)
		return -1;
	call.path = envd_path_of(q->path, user);
	return files_download(rq, t, &call, reply, err);
}

static int serve_file(struct request *rq, struct reply *reply, const char *id, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	const struct envd_files_query *q = rq->query;
	int opened = envd_target_hold(rq, reply, id, &t, err);

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	/* An upload has the row of a write. */
	if (rq->method == HTTP_GET && !request_header(rq, "X-Access-Token"))
		api_audit_link(rq, &(struct api_audit_use){.action = "files.link.open",
		                                           .target_kind = "instances",
		                                           .project_id = t.record->project_id,
		                                           .target_id = t.record->id});
	return rq->method == HTTP_POST ? envd_upload(rq, &t, q, reply, err)
	                               : download_file(rq, &t, q, reply, err);
}

static int handle_files(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct envd_address address;
	int found;

	found = envd_address_require(rq, reply, &address, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	if (request_header(rq, "X-Access-Token") ? envd_token_check(rq, address.id, err) < 0
	                                         : check_signature(rq, address.id, err) < 0)
		return -1;
	return serve_file(rq, reply, address.id, err);
}

/* Finds the sandbox whose token made the signature, by trying all of them. No other token matches.
 */
static int find_signer(struct request *rq, const struct signed_file *file, const char *signature,
                       const char **ret, struct error *err)
{
	struct sandbox_filter filter = {.state = -1, .limit = PAGE};
	AUTO(arena_done) struct arena page = {0};
	struct sandbox_list list;

	for (unsigned seen = 0; seen < SEARCHED_MAX; seen += PAGE) {
		if (store_sandbox_list(api_of(rq)->store, &page, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++) {
			if (!is_signed_by(rq, file, list.items[i].id, signature))
				continue;
			*ret = arena_text(rq->arena, list.items[i].id);
			return 0;
		}
		if (!list.next_page)
			break;
		filter.page = arena_text(rq->arena, list.next_page);
		arena_reset(&page);
	}
	return FAIL(err, ERROR_UNAUTHENTICATED, "invalid signature");
}

static int search_signer(struct request *rq, const char **ret, struct error *err)
{
	const struct envd_files_query *q = rq->query;
	const struct signed_file file = signed_of(rq, q);
	struct api *api = api_of(rq);
	int result;

	if (!q->signature)
		return FAIL(err, ERROR_UNAUTHENTICATED, "missing signature query parameter");
	if (signature_check_time(&file, clock_unix_ms() / 1000, err) < 0)
		return -1;
	/* Callers without access may start searches: a search is refused if a quarter of the
	 * workers search already. */
	if (atomic_fetch_add(&api->envd->searches, 1) > (unsigned)api->config->workers / 4)
		result = FAIL(err, ERROR_UNAVAILABLE,
		              "too many requests with signatures are being checked");
	else
		result = find_signer(rq, &file, q->signature, ret, err);
	atomic_fetch_sub(&api->envd->searches, 1);
	return result;
}

static int handle_signed_files(struct request *rq, UNUSED const void *body, struct reply *reply,
                               struct error *err)
{
	const char *id;

	if (request_may_block(rq, err) < 0 || search_signer(rq, &id, err) < 0)
		return -1;
	return serve_file(rq, reply, id, err);
}

#define FLAGS (ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN)
#define ROW(method_, flags_, handle_)                                                              \
	{                                                                                          \
		.method = (method_), .path = "/files", .flags = FLAGS | (flags_),                  \
		.body_max = BODY_MAX_BYTES, .query = &files_query, .handle = (handle_),            \
		.tag = ENVD_TAG, .summary = "The content of a file"                                \
	}
const struct route envd_file_routes[] = {
        ROW(HTTP_GET, 0, handle_files),
        ROW(HTTP_POST, ROUTE_STREAM_BODY, handle_files),
        {.path = NULL},
};
const struct route envd_signed_routes[] = {
        ROW(HTTP_GET, 0, handle_signed_files),
        ROW(HTTP_POST, ROUTE_STREAM_BODY, handle_signed_files),
        {.path = NULL},
};
