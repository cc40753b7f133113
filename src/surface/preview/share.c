/* SPDX-License-Identifier: Apache-2.0 */
/* Routes to previews: by key below a path, by grant below another path, and by host. */
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "config/config.h"
#include "edge/access.h"
#include "edge/api.h"
#include "edge/hooks.h"
#include "fleet/core/use.h"
#include "fleet/sandbox/preview.h"
#include "sandbox/preview.h"
#include "store/sandbox_record.h"
#include "surface/preview/hosts.h"
#include "surface/preview/routes.h"
#include "surface/preview/serve.h"

#define BODY_MAX_BYTES ((size_t)1 << 40)

/* The path from slash number `count` on: "/a/b/c", 2 -> "/c"; size 0 if it has fewer. */
static struct span skip_path_parts(struct span path, unsigned count)
{
	for (size_t i = 0; i < path.size; i++)
		if (path.data[i] == '/' && count-- == 0)
			return (struct span){path.data + i, path.size - i};
	return (struct span){NULL, 0};
}

/* Without a final '/', the page's relative links would resolve beside the prefix. */
static int redirect_to_folder(struct request *rq, struct reply *reply)
{
	const char *to =
	        arena_format(rq->arena, "%.*s/%s%.*s", (int)rq->raw_path.size, rq->raw_path.data,
	                     rq->raw_query.size ? "?" : "", (int)rq->raw_query.size,
	                     rq->raw_query.data ? rq->raw_query.data : "");

	reply_status(reply, 308);
	reply_header(reply, "Location", to);
	return 0;
}

/* The server in the sandbox sees the path after its first `parts` parts. */
static bool split_path(const struct request *rq, unsigned parts, struct preview_view *view)
{
	view->rest = skip_path_parts(rq->raw_path, parts);
	view->prefix = (struct span){rq->raw_path.data, rq->raw_path.size - view->rest.size};
	view->query = rq->raw_query;
	return view->rest.size > 0;
}

static int serve_by_key(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct fleet_use use;
	struct preview_view view = {.project_id = api_project(rq),
	                            .id_or_name = request_param(rq, "id"),
	                            .use = &use,
	                            .is_boxed = true};

	if (preview_port_parse(request_param(rq, "port"), &view.port, err) < 0 ||
	    api_describe_use(rq, &use, err) < 0)
		return -1;
	if (!split_path(rq, 6, &view))
		return redirect_to_folder(rq, reply);
	return preview_serve(rq, reply, &view, err);
}

int preview_grant_find(struct request *rq, struct span token, struct fleet_grant *ret,
                       struct error *err)
{
	return fleet_grant_read(api_of(rq)->fleet, token, clock_unix_ms(), ret, err);
}

/* A private link is as good as its maker's access. A public one has no maker. */
static int check_maker(struct request *rq, const struct fleet_grant *grant,
                       const struct sandbox_record *r, struct error *err)
{
	struct api_access *access;

	if (grant->is_shared)
		return 0;
	access = ARENA_NEW(rq->arena, struct api_access);
	*access = (struct api_access){.caller = grant->maker,
	                              .project = arena_text(rq->arena, r->project_id),
	                              .scope = SCOPE_SANDBOX_WRITE};
	if (api_access_check_for(rq, access, err) < 0)
		return api_access_is_lost(err) ? fleet_grant_refuse(err) : -1;
	api_access_hold(rq, access);
	return 0;
}

int preview_grant_check(struct request *rq, const struct fleet_grant *grant,
                        const struct sandbox_record *r, struct error *err)
{
	return fleet_grant_check(grant, r, err) < 0 ? -1 : check_maker(rq, grant, r, err);
}

static bool is_at_origin(const struct request *rq, const char *origin)
{
	const char *host = request_header(rq, "Host"), *slashes = strstr(origin, "//");

	return host && slashes && strcasecmp(host, slashes + 2) == 0;
}

static int serve_by_grant(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const char *origin = api_of(rq)->config->preview_origin;
	struct fleet_grant grant;
	struct preview_view view = {.grant = &grant};

	if (origin[0] && !is_at_origin(rq, origin)) {
		reply_status(reply, 307);
		reply_header(reply, "Location",
		             arena_format(rq->arena, "%s%.*s%s%.*s", origin, (int)rq->raw_path.size,
		                          rq->raw_path.data, rq->raw_query.size ? "?" : "",
		                          (int)rq->raw_query.size,
		                          rq->raw_query.data ? rq->raw_query.data : ""));
		return 0;
	}
	if (preview_grant_find(rq, span_of(request_param(rq, "token")), &grant, err) < 0)
		return preview_refuse(rq, reply, err);
	if (!split_path(rq, 4, &view))
		return redirect_to_folder(rq, reply);
	view.id_or_name = grant.sandbox_id;
	view.port = grant.port;
	view.is_boxed = !origin[0];
	return preview_serve(rq, reply, &view, err);
}

/* Finds the cookie that is a grant for this sandbox and port. A page on a sibling host may have set
 * other cookies of the same name. */
static bool grant_of_cookies(struct request *rq, const char *id, uint16_t port,
                             struct fleet_grant *ret)
{
	const char *header = request_header(rq, "Cookie");
	struct span rest = span_of(header), cookie, name;
	bool more = rest.size > 0;
	struct error ignored;

	while (more) {
		more = span_split(&rest, ';', &cookie);
		cookie = span_trim(cookie);
		if (span_split(&cookie, '=', &name) && span_equals_text(name, PREVIEW_COOKIE) &&
		    preview_grant_find(rq, cookie, ret, &ignored) == 0 &&
		    strcmp(ret->sandbox_id, id) == 0 && ret->port == port)
			return true;
	}
	return false;
}

/* A cookie is also sent with requests of other pages, especially of other previews, whose hosts
 * belong to the same site. */
static int check_same_origin(const struct request *rq, struct error *err)
{
	const char *origin = request_header(rq, "Origin"), *host = request_header(rq, "Host");
	const char *site = request_header(rq, "Sec-Fetch-Site");
	const char *mode = request_header(rq, "Sec-Fetch-Mode"), *slashes;
	bool is_navigation = mode && strcmp(mode, "navigate") == 0;

	slashes = origin ? strstr(origin, "//") : NULL;
	if (origin && (!slashes || !host || strcasecmp(slashes + 2, host) != 0))
		return FAIL(err, ERROR_FORBIDDEN, "the request comes from another origin");
	if (site && !is_navigation && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return FAIL(err, ERROR_FORBIDDEN, "the request comes from another site");
	return 0;
}

struct span preview_take_query(struct request *rq, const char *wanted, struct span *ret_rest)
{
	AUTO(buf_done) struct buf rest = BUF(rq->raw_query.size + 1);
	struct span query = rq->raw_query, member, name, value, token = {NULL, 0};
	bool more = query.size > 0;

	while (more) {
		more = span_split(&query, '&', &member);
		value = member;
		(void)span_split(&value, '=', &name);
		if (span_equals_text(name, wanted)) {
			token = value;
			continue;
		}
		if (rest.size)
			buf_add_byte(&rest, '&');
		buf_add_span(&rest, member);
	}
	*ret_rest = (struct span){arena_copy(rq->arena, buf_span(&rest)), rest.size};
	return token;
}

/* Stores the grant as a cookie of this host and redirects to the address without it. */
static int keep_grant(struct request *rq, struct reply *reply, struct span token, struct span query)
{
	struct span path = rq->raw_path;

	/* "//host" would lead to another host. */
	while (path.size > 1 && (path.data[1] == '/' || path.data[1] == '\\'))
		span_skip(&path, 1);
	reply_status(reply, 302);
	reply_header(reply, "Set-Cookie",
	             arena_format(rq->arena, "%s=%.*s; Path=/; HttpOnly; %s", PREVIEW_COOKIE,
	                          (int)token.size, token.data,
	                          api_is_https(rq) ? "Secure; SameSite=None; Partitioned"
	                                           : "SameSite=Lax"));
	reply_header(reply, "Location",
	             arena_format(rq->arena, "%.*s%s%.*s", (int)path.size, path.data,
	                          query.size ? "?" : "", (int)query.size, query.data));
	reply_header(reply, "Cache-Control", "no-store");
	reply_header(reply, "Referrer-Policy", "no-referrer");
	return 0;
}

static int authorize_host_request(struct request *rq, const char *id, struct preview_view *view,
                                  struct fleet_grant *grant, struct error *err)
{
	struct account_key key;
	struct error ignored;
	struct span text = account_bearer(request_header(rq, "Authorization"),
	                                  request_header(rq, "X-API-Key"));

	view->id_or_name = arena_text(rq->arena, id);
	if (rq->caller || account_key_parse(text, &key, &ignored) == 0) {
		if (!rq->caller && api_authorize(rq, &preview_host_route, err) < 0)
			return -1;
		view->project_id = api_project(rq);
		return 0;
	}
	if (grant_of_cookies(rq, id, view->port, grant)) {
		view->grant = grant;
		return check_same_origin(rq, err);
	}
	view->is_traffic = true;
	view->traffic_token = span_of(request_header(rq, "E2b-Traffic-Access-Token"));
	return 0;
}

static int serve_by_host(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct preview_view view = {.rest = rq->raw_path, .query = rq->raw_query};
	struct span host = span_of(request_header(rq, "Host")), token, query;
	struct fleet_grant grant;
	char id[ID_SIZE + 1];

	if (preview_host_parse(api_of(rq)->config, host, id, &view.port, err) < 0)
		return preview_refuse(rq, reply, err);
	token = preview_take_query(rq, PREVIEW_COOKIE, &query);
	if (token.size && rq->method == HTTP_GET) {
		if (preview_grant_find(rq, token, &grant, err) < 0)
			return preview_refuse(rq, reply, err);
		return keep_grant(rq, reply, token, query);
	}
	if (authorize_host_request(rq, id, &view, &grant, err) < 0)
		return request_is_deferred(rq) ? -1 : preview_refuse(rq, reply, err);
	return preview_serve(rq, reply, &view, err);
}

#define FLAGS (ROUTE_STREAM_BODY | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_TRY | ROUTE_QUICK)
#define BY_KEY "/api/sandbox/instances/:id/preview/:port"
#define BY_GRANT "/api/sandbox/preview/:token"
#define ROW(path_, scope_, flags_, handle_)                                                        \
	{                                                                                          \
		.method = HTTP_ANY, .path = (path_), .scope = (scope_), .flags = FLAGS | (flags_), \
		.body_max = BODY_MAX_BYTES, .handle = (handle_), .tag = "previews",                \
		.summary = "A server inside a sandbox"                                             \
	}
const struct route preview_routes[] = {
        ROW(BY_KEY, SCOPE_SANDBOX_WRITE, 0, serve_by_key),
        ROW(BY_KEY "/*path", SCOPE_SANDBOX_WRITE, 0, serve_by_key),
        ROW(BY_GRANT, 0, ROUTE_PUBLIC, serve_by_grant),
        ROW(BY_GRANT "/*path", 0, ROUTE_PUBLIC, serve_by_grant),
        {.path = NULL},
};
/* Not in a route table: chosen by the host, for all paths. */
const struct route preview_host_route =
        ROW("/*path", SCOPE_SANDBOX_WRITE, ROUTE_PUBLIC, serve_by_host);
