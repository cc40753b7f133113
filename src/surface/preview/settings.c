/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/preview — settings of previews; …/preview-tokens — links to ports. */
#include "base/clock.h"
#include "config/config.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/preview.h"
#include "json/json.h"
#include "store/sandbox_record.h"
#include "surface/preview/live.h"
#include "surface/preview/routes.h"
#include "surface/preview/serve.h"

#define BASE "/api/sandbox/instances/:id"

struct preview_answer {
	bool enabled, is_public, sharing_enabled, is_reachable;
	const char *ports, *domain;
};
static const struct json_member preview_shape_members[] = {
        JSON_BOOL_MEMBER(preview_answer, enabled),
        JSON_BOOL_MEMBER(preview_answer, is_public, .name = "public",
                         .about = "whether links may be given to people without a key"),
        JSON_TEXT_MEMBER(preview_answer, ports,
                         .about = "ports that the server and the template allow, or any"),
        JSON_BOOL_MEMBER(preview_answer, sharing_enabled, .name = "sharingEnabled",
                         .about = "whether the server allows links for people without a key"),
        JSON_BOOL_MEMBER(preview_answer, is_reachable, .name = "reachable",
                         .about = "false: the sandbox's network is blocked"),
        JSON_TEXT_MEMBER(preview_answer, domain, .flags = JSON_NULLABLE,
                         .about = "domain of preview hosts: PORT-ID.DOMAIN"),
};
static JSON_SHAPE(preview_shape, "Preview", preview_answer, "Preview settings of a sandbox");

static int reply_preview(struct request *rq, struct reply *reply, const struct sandbox_record *r,
                         struct error *err)
{
	const struct config *config = api_of(rq)->config;
	struct preview_answer out = {
	        .enabled = !r->preview_off,
	        .is_public = r->preview_public,
	        .sharing_enabled = config->preview_sharing,
	        .is_reachable = r->network != SANDBOX_NETWORK_BLOCKED,
	        .domain = config->preview_domain[0] ? config->preview_domain : NULL,
	};

	if (fleet_preview_ports(api_of(rq)->fleet, rq->arena, r, &out.ports, err) < 0)
		return -1;
	reply_json(reply, &preview_shape, &out);
	return 0;
}

static int preview_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record r;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_preview(rq, reply, &r, err);
}

struct preview_change_body {
	bool enabled, is_public, rotate;
	uint64_t present;
};
enum { CHANGE_ENABLED, CHANGE_PUBLIC };
static const struct json_member change_request_members[] = {
        [CHANGE_ENABLED] = JSON_BOOL_MEMBER(preview_change_body, enabled),
        [CHANGE_PUBLIC] = JSON_BOOL_MEMBER(preview_change_body, is_public, .name = "public"),
        JSON_BOOL_MEMBER(preview_change_body, rotate, .about = "revoke all existing links"),
};
static JSON_BITS_SHAPE(change_request, "PreviewChange", preview_change_body,
                       "Changes of the preview settings");

static int value_or_unset(const struct preview_change_body *b, unsigned member, bool value)
{
	return b->present >> member & 1 ? value : -1;
}

static int preview_change(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct preview_change_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_preview change = {
	        .enabled = value_or_unset(b, CHANGE_ENABLED, b->enabled),
	        .is_public = value_or_unset(b, CHANGE_PUBLIC, b->is_public),
	        .rotate = b->rotate,
	};
	struct sandbox_record before, after;

	if (b->present == 0)
		return FAIL(err, ERROR_INVALID, "give enabled, public or rotate");
	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &before, err) < 0 ||
	    fleet_preview_set(api_of(rq)->fleet, rq->arena, &ref, &change, &after, err) < 0)
		return -1;
	/* Streams that were opened by a revoked link end, too. */
	if (after.preview_generation != before.preview_generation)
		preview_live_cut(api_of(rq), after.id, !after.preview_off);
	return reply_preview(rq, reply, &after, err);
}

struct preview_link_body {
	int64_t port, ttl_seconds;
	bool is_private;
};
static const struct json_member link_request_members[] = {
        JSON_WHOLE_MEMBER(preview_link_body, port, .flags = JSON_REQUIRED, .min = 1, .max = 65535),
        JSON_WHOLE_MEMBER(preview_link_body, ttl_seconds, .name = "ttlSeconds", .min = 1,
                          .max = FLEET_GRANT_MAX_MS / 1000,
                          .about =
                                  "lifetime of the link (default: a day; a private link: an hour)"),
        JSON_BOOL_MEMBER(preview_link_body, is_private, .name = "private",
                         .about = "link for the caller's own browser: works without public "
                                  "previews"),
};
static JSON_SHAPE(link_request, "PreviewLink", preview_link_body, "A link to a port");

struct preview_link_answer {
	const char *token, *path, *url, *host_url;
	int64_t port, expires_at;
	bool is_private;
};
static const struct json_member link_shape_members[] = {
        JSON_TEXT_MEMBER(preview_link_answer, token),
        JSON_TEXT_MEMBER(preview_link_answer, path, .about = "path on this server"),
        JSON_TEXT_MEMBER(preview_link_answer, url),
        JSON_TEXT_MEMBER(preview_link_answer, host_url, .name = "hostUrl", .flags = JSON_NULLABLE,
                         .about = "address with an origin of its own; null if the server has no "
                                  "preview domain"),
        JSON_WHOLE_MEMBER(preview_link_answer, port),
        JSON_BOOL_MEMBER(preview_link_answer, is_private, .name = "private"),
        JSON_TIME_MEMBER(preview_link_answer, expires_at, .name = "expiresAt"),
};
static JSON_SHAPE(link_shape, "PreviewLinkMade", preview_link_answer, "A link to a preview");

static struct preview_link_answer
make_link_answer(struct request *rq, const struct fleet_grant *grant, const char *token)
{
	const struct config *config = api_of(rq)->config;
	const char *host = request_header(rq, "Host");
	const char *scheme = api_is_https(rq) ? "https" : "http";
	struct preview_link_answer out = {.token = arena_text(rq->arena, token),
	                                  .port = grant->port,
	                                  .is_private = !grant->is_shared,
	                                  .expires_at = grant->expires_at};

	out.path = arena_format(rq->arena, PREVIEW_BASE "%s/", token);
	out.url = config->preview_origin[0]
	                  ? arena_format(rq->arena, "%s%s", config->preview_origin, out.path)
	                  : arena_format(rq->arena, "%s://%s%s", scheme, host ? host : "localhost",
	                                 out.path);
	if (config->preview_domain[0])
		out.host_url =
		        arena_format(rq->arena, "%s://%u-%s.%s/?" PREVIEW_COOKIE "=%s", scheme,
		                     grant->port, grant->sandbox_id, config->preview_domain, token);
	return out;
}

static int link_make(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct preview_link_body *b = body;
	const struct fleet_ref ref = api_path_ref(rq);
	struct fleet *fleet = api_of(rq)->fleet;
	int64_t ttl_ms = b->ttl_seconds * 1000;
	struct fleet_grant grant = {.port = (uint16_t)b->port,
	                            .is_shared = !b->is_private,
	                            .maker = *api_fleet_caller(rq)};
	char token[FLEET_GRANT_TEXT_MAX];
	struct sandbox_record r;
	struct preview_link_answer out;

	if (ttl_ms == 0)
		ttl_ms = b->is_private ? FLEET_GRANT_PRIVATE_MS : FLEET_GRANT_DEFAULT_MS;
	grant.expires_at = (clock_unix_ms() + ttl_ms) / 1000 * 1000;
	if (fleet_find(fleet, rq->arena, &ref, &r, err) < 0 ||
	    fleet_preview_check(fleet, rq->arena, &r, grant.port, err) < 0 ||
	    fleet_grant_make(fleet, &r, &grant, token, err) < 0)
		return -1;
	memcpy(grant.sandbox_id, r.id, strlen(r.id) + 1);
	out = make_link_answer(rq, &grant, token);
	reply_status(reply, 201);
	reply_json(reply, &link_shape, &out);
	return 0;
}

#define TAG .tag = "previews"
const struct route preview_settings_routes[] = {
        {HTTP_GET, BASE "/preview", SCOPE_SANDBOX_READ, .answer = &preview_shape,
         .handle = preview_get, TAG, .summary = "Get the preview settings of a sandbox"},
        {HTTP_PATCH, BASE "/preview", SCOPE_SANDBOX_WRITE, ROUTE_NEEDS_BODY,
         .body = &change_request, .answer = &preview_shape, .handle = preview_change, TAG,
         .summary = "Change the preview settings of a sandbox, or revoke all links"},
        {HTTP_POST, BASE "/preview-tokens", SCOPE_SANDBOX_WRITE, .body = &link_request,
         .answer = &link_shape, .status = 201, .handle = link_make, TAG,
         .summary = "Create a link to a port of a sandbox"},
        {.path = NULL},
};
