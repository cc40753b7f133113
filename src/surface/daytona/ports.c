/* SPDX-License-Identifier: Apache-2.0 */
/* …/ports/:port — URLs of servers inside a sandbox; and /daytona/preview/ID/PORT, which leads to
 * them. A token in a header, the query or a cookie, or a key, authorizes the request. */
#include <string.h>

#include "base/clock.h"
#include "edge/hooks.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/preview.h"
#include "sandbox/preview.h"
#include "store/sandbox_record.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "surface/preview/live.h"
#include "surface/preview/serve.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define PREVIEW "/daytona/preview"
#define SIGNED_DEFAULT_S 60
#define TOKEN_HEADER "X-Daytona-Preview-Token"
#define TOKEN_QUERY "DAYTONA_SANDBOX_AUTH_KEY"
#define TOKEN_COOKIE "daytona-sandbox-auth-"
#define BODY_MAX_BYTES ((size_t)1 << 40)

/* A token for the port in the request's path. */
struct preview_pass {
	struct sandbox_record record;
	struct fleet_grant grant;
	const char *token;
};

static int make_pass(struct request *rq, int64_t life_ms, struct preview_pass *ret,
                     struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct fleet *fleet = api_of(rq)->fleet;
	char token[FLEET_GRANT_TEXT_MAX];

	ret->grant = (struct fleet_grant){
	        .expires_at = (clock_unix_ms() + life_ms) / 1000 * 1000,
	        .maker = *api_fleet_caller(rq),
	};
	if (preview_port_parse(request_param(rq, "port"), &ret->grant.port, err) < 0 ||
	    fleet_find(fleet, rq->arena, &ref, &ret->record, err) < 0 ||
	    fleet_preview_check(fleet, rq->arena, &ret->record, ret->grant.port, err) < 0 ||
	    fleet_grant_make(fleet, &ret->record, &ret->grant, token, err) < 0)
		return -1;
	ret->token = arena_text(rq->arena, token);
	return 0;
}

struct preview_url_answer {
	const char *sandbox, *url, *token;
	int64_t port;
};
#define URL_ROWS                                                                                   \
	JSON_TEXT_MEMBER(preview_url_answer, sandbox, .name = "sandboxId"),                        \
	        JSON_TEXT_MEMBER(preview_url_answer, url),                                         \
	        JSON_TEXT_MEMBER(preview_url_answer, token)
static const struct json_member url_shape_members[] = {URL_ROWS};
static JSON_SHAPE(url_shape, "DaytonaPreviewUrl", preview_url_answer,
                  "The URL of a server inside a sandbox");
static const struct json_member signed_shape_members[] = {
        URL_ROWS,
        JSON_WHOLE_MEMBER(preview_url_answer, port),
};
static JSON_SHAPE(signed_shape, "DaytonaSignedUrl", preview_url_answer,
                  "The URL of a server inside a sandbox");

/* The URL alone gives no access: clients send the token beside it. */
static int get_preview_url(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	struct preview_pass pass;
	struct preview_url_answer out;

	if (make_pass(rq, FLEET_GRANT_MAX_MS, &pass, err) < 0)
		return -1;
	out = (struct preview_url_answer){
	        .sandbox = pass.record.id,
	        .token = pass.token,
	        .url = arena_format(rq->arena, "%s" PREVIEW "/%s/%u", daytona_origin(rq),
	                            pass.record.id, pass.grant.port),
	};
	reply_json(reply, &url_shape, &out);
	return 0;
}

struct signed_url_query {
	int64_t expires;
};
static const struct json_member signed_query_members[] = {
        JSON_WHOLE_MEMBER(signed_url_query, expires, .name = "expiresInSeconds", .min = 1,
                          .max = FLEET_GRANT_MAX_MS / 1000),
};
static JSON_OPEN_SHAPE(signed_query, "DaytonaSignedQuery", signed_url_query,
                       "How long the URL is valid");

/* Everyone with this URL has access. */
static int get_signed_url(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct signed_url_query *q = rq->query;
	struct preview_pass pass;
	struct preview_url_answer out;

	if (make_pass(rq, (q->expires ? q->expires : SIGNED_DEFAULT_S) * 1000, &pass, err) < 0)
		return -1;
	out = (struct preview_url_answer){
	        .sandbox = pass.record.id,
	        .port = pass.grant.port,
	        .token = pass.token,
	        .url = arena_format(rq->arena, "%s" PREVIEW_BASE "%s/", daytona_origin(rq),
	                            pass.token),
	};
	reply_json(reply, &signed_shape, &out);
	return 0;
}

/* Tokens are not stored. To revoke one, all tokens of its sandbox are revoked. */
static int expire_links(struct request *rq, UNUSED const void *body, UNUSED struct reply *reply,
                        struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_preview change = {.enabled = -1, .is_public = -1, .rotate = true};
	struct api *api = api_of(rq);
	struct fleet_grant grant;
	struct sandbox_record r;

	if (fleet_find(api->fleet, rq->arena, &ref, &r, err) < 0 ||
	    preview_grant_find(rq, span_of(request_param(rq, "token")), &grant, err) < 0)
		return -1;
	if (strcmp(grant.sandbox_id, r.id) != 0)
		return FAIL(err, ERROR_NOT_FOUND, "the token belongs to another sandbox");
	if (fleet_preview_set(api->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	preview_live_cut(api, r.id, true);
	return 0;
}

static int set_public(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct span wanted = span_of(request_param(rq, "public"));
	struct fleet_preview change = {.enabled = -1};
	struct sandbox_record r;

	change.is_public = span_equals_text(wanted, "true");
	if (!change.is_public && !span_equals_text(wanted, "false"))
		return FAIL(err, ERROR_INVALID, "public: must be true or false");
	if (fleet_preview_set(api_of(rq)->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	if (!change.is_public)
		preview_live_cut(api_of(rq), r.id, true);
	return daytona_sandbox_reply(rq, reply, &r, err);
}

static struct span cookie_of(struct request *rq)
{
	const char *wanted = arena_format(rq->arena, TOKEN_COOKIE "%s", request_param(rq, "id"));
	struct span rest = span_of(request_header(rq, "Cookie")), cookie, name;
	bool more = rest.size > 0;

	while (more) {
		more = span_split(&rest, ';', &cookie);
		cookie = span_trim(cookie);
		if (span_split(&cookie, '=', &name) && span_equals_text(name, wanted))
			return cookie;
	}
	return (struct span){NULL, 0};
}

/* Authorizes the request by a token for this port, or by a key. */
static int authorize_view(struct request *rq, struct preview_view *view, struct fleet_grant *grant,
                          struct error *err)
{
	const char *header = request_header(rq, TOKEN_HEADER);
	struct span token = preview_take_query(rq, TOKEN_QUERY, &view->query);

	if (header)
		token = span_of(header);
	if (token.size == 0)
		token = cookie_of(rq);
	if (token.size == 0) {
		if (!rq->caller && api_authorize(rq, rq->route, err) < 0)
			return -1;
		view->project_id = api_project(rq);
		return 0;
	}
	if (preview_grant_find(rq, token, grant, err) < 0)
		return -1;
	if (strcmp(grant->sandbox_id, view->id_or_name) != 0 || grant->port != view->port)
		return FAIL(err, ERROR_UNAUTHENTICATED, "the token is for another preview");
	view->grant = grant;
	return 0;
}

/* The path behind "/daytona/preview/ID/PORT"; "/" if it is empty. */
static struct span rest_of(struct span path)
{
	unsigned slashes = 5;

	for (size_t i = 0; i < path.size; i++)
		if (path.data[i] == '/' && --slashes == 0)
			return (struct span){path.data + i, path.size - i};
	return SPAN("/");
}

static int serve_preview(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct fleet_grant grant;
	struct preview_view view = {
	        .id_or_name = request_param(rq, "id"),
	        .rest = rest_of(rq->raw_path),
	        .is_boxed = true,
	};

	if (preview_port_parse(request_param(rq, "port"), &view.port, err) < 0)
		return preview_refuse(rq, reply, err);
	if (authorize_view(rq, &view, &grant, err) < 0)
		return request_is_deferred(rq) ? -1 : preview_refuse(rq, reply, err);
	view.prefix =
	        span_of(arena_format(rq->arena, PREVIEW "/%s/%u", view.id_or_name, view.port));
	return preview_serve(rq, reply, &view, err);
}

#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
#define SEEN                                                                                       \
	SCOPE_SANDBOX_WRITE,                                                                       \
	        ROUTE_STREAM_BODY | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_TRY | ROUTE_QUICK |      \
	                ROUTE_PUBLIC,                                                              \
	        .body_max = BODY_MAX_BYTES, .handle = serve_preview, TAG,                          \
	        .summary = "A server inside a sandbox"
const struct route daytona_ports_routes[] = {
        {HTTP_GET, SANDBOX "/ports/:port/preview-url", WRITE, .handle = get_preview_url, TAG,
         .summary = "Get the URL of a port, and its token"},
        {HTTP_GET, SANDBOX "/ports/:port/signed-preview-url", WRITE, .query = &signed_query,
         .handle = get_signed_url, TAG, .summary = "Get a URL that needs no token or key"},
        {HTTP_POST, SANDBOX "/ports/:port/signed-preview-url/:token/expire", WRITE,
         .handle = expire_links, TAG, .summary = "Revoke all URLs of the sandbox"},
        {HTTP_POST, SANDBOX "/public/:public", WRITE, .handle = set_public, TAG,
         .summary = "Set whether the sandbox's ports are public"},
        {HTTP_ANY, PREVIEW "/:id/:port", SEEN},
        {HTTP_ANY, PREVIEW "/:id/:port/*path", SEEN},
        {.path = NULL},
};
