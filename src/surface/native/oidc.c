/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/sign-in/oidc — a browser goes to the provider of OpenID Connect, and comes back. */
#include "sign_in/oidc.h"

#include <string.h>

#include "base/log.h"
#include "edge/access_watch.h"
#include "edge/api.h"
#include "edge/audit.h"
#include "edge/cookie.h"
#include "json/json.h"
#include "surface/native/native.h"

#define COOKIE "atoll_oidc"
#define ROUND_TRIP_MS (INT64_C(15) * 60000)
#define HOME "/console/"
#define RETURN_MAX 512
#define CALLBACK "/v1/sign-in/oidc/callback"

struct oidc_begin_query {
	const char *return_to;
};
static const struct json_member oidc_begin_query_members[] = {
        JSON_TEXT_MEMBER(oidc_begin_query, return_to, .max = RETURN_MAX,
                         .about = "page of the console to return to: a path below /console/"),
};
static JSON_SHAPE(oidc_begin_query, "OidcBegin", oidc_begin_query, "Where to return to");

/* Open: a provider may add members of its own. */
struct oidc_callback_query {
	const char *code, *state, *iss, *error;
};
static const struct json_member oidc_callback_query_members[] = {
        JSON_TEXT_MEMBER(oidc_callback_query, code, .max = 8192),
        JSON_TEXT_MEMBER(oidc_callback_query, state, .max = 1024),
        JSON_TEXT_MEMBER(oidc_callback_query, iss, .max = 2048),
        JSON_TEXT_MEMBER(oidc_callback_query, error, .max = 1024),
};
static JSON_OPEN_SHAPE(oidc_callback_query, "OidcCallback", oidc_callback_query,
                       "The provider's answer");

/* Only a path of the console, in characters that a cookie may have: no other page's address. */
static bool page_is_ours(const char *path)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                              "0123456789/_-.~?=&%#+:@";

	return path && strncmp(path, HOME, strlen(HOME)) == 0 && !strstr(path, "//") &&
	       !strstr(path, "..") && path[strspn(path, allowed)] == '\0' &&
	       strlen(path) <= RETURN_MAX;
}

static int reply_redirect(struct reply *reply, const char *location)
{
	reply_status(reply, 302);
	reply_header(reply, "Location", location);
	reply_header(reply, "Cache-Control", "no-store");
	reply_header(reply, "Referrer-Policy", "no-referrer");
	return 0;
}

static const char *make_redirect_uri(const struct request *rq)
{
	return arena_format(rq->arena, "%s" CALLBACK, api_public_address(rq));
}

static int oidc_start(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct oidc_begin_query *q = rq->query;
	struct sign_in_token browser;
	const struct oidc_question question = {&browser, make_redirect_uri(rq)};
	const char *location;

	sign_in_token_make(&browser);
	if (oidc_begin(api_of(rq)->sign_in, rq->arena, &question, &location, err) < 0)
		return -1;
	api_cookie_put(rq, reply, COOKIE,
	               arena_format(rq->arena, "%s.%s", browser.text,
	                            page_is_ours(q->return_to) ? q->return_to : HOME),
	               ROUND_TRIP_MS);
	return reply_redirect(reply, location);
}

/* A person sees a page, not JSON: the console tells what the code means. */
static int redirect_failure(struct request *rq, struct reply *reply, const struct error *err)
{
	log_warning("sign-in by the provider failed", TEXT("request", rq->id), FAILURE(err));
	api_audit_failure(rq, err);
	api_cookie_put(rq, reply, COOKIE, "", 0);
	return reply_redirect(reply, arena_format(rq->arena, "/console/sign-in?error=%s&request=%s",
	                                          error_kind_get(err->code)->name, rq->id));
}

static int finish_sign_in(struct request *rq, struct span cookie, struct reply *reply,
                          struct error *err)
{
	const struct oidc_callback_query *q = rq->query;
	const char *agent = request_header(rq, "User-Agent");
	struct sign_in_client client = {.address = api_client_address(rq),
	                                .user_agent = agent ? agent : ""};
	struct sign_in_token browser, old;
	const struct oidc_answer answer = {.client = &client,
	                                   .question = {&browser, make_redirect_uri(rq)},
	                                   .code = q->code,
	                                   .state = q->state,
	                                   .issuer = q->iss,
	                                   .error = q->error};
	struct sign_in_made made;
	struct error ignored;
	struct span secret;
	bool has_old = false;

	if (!span_split(&cookie, '.', &secret) || !sign_in_token_parse(secret, &browser))
		return FAIL(err, ERROR_FORBIDDEN, "this browser has begun no sign-in");
	if (api_cookie_read(rq, &old, &has_old, &ignored) == 0 && has_old)
		client.replaces = &old;
	if (oidc_finish(api_of(rq)->sign_in, rq->arena, &answer, &made, err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	api_audit_who(rq, made.who, "");
	api_audit_subject(rq, made.who);
	api_cookie_put(rq, reply, COOKIE, "", 0);
	api_cookie_put(rq, reply, API_COOKIE, made.token.text,
	               made.login.expires_at - made.login.created_at);
	return 0;
}

static int oidc_return(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct span cookie = api_cookie_value(rq, COOKIE), rest = cookie, secret;
	const char *page;

	if (api_audit_open(rq, err) < 0)
		return -1;
	if (finish_sign_in(rq, cookie, reply, err) < 0)
		return redirect_failure(rq, reply, err);
	(void)span_split(&rest, '.', &secret);
	page = arena_copy(rq->arena, rest);
	return reply_redirect(reply, page_is_ours(page) ? page : HOME);
}

#define TAG .tag = "session"
const struct route oidc_routes[] = {
        {HTTP_GET, "/v1/sign-in/oidc", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_SLOW,
         .query = &oidc_begin_query, .status = 302, .handle = oidc_start, TAG,
         .summary = "Go to the provider of OpenID Connect"},
        {HTTP_GET, CALLBACK, SCOPE_NONE, ROUTE_PUBLIC | ROUTE_SLOW, .query = &oidc_callback_query,
         .status = 302, .handle = oidc_return, TAG,
         .summary = "The provider's answer: sets the session's cookie and opens the console"},
        {.path = NULL},
};
