/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/connects — logins at OAuth services, whose tokens become credentials. */
#include "connect/connect.h"

#include <string.h>

#include "base/log.h"
#include "connect/preset.h"
#include "edge/api.h"
#include "edge/audit.h"
#include "edge/cookie.h"
#include "http/client/outbound.h"
#include "sign_in/token.h"
#include "surface/native/native.h"

#define BASE "/v1/connects"
#define CALLBACK BASE "/callback"
#define COOKIE "atoll_connect"
#define ROUND_TRIP_MS (INT64_C(15) * 60000)
#define ABOUT_MAX 500
#define SCOPES_MAX 64

static const char *const methods[] = {"code", "device", "client", NULL};
enum { OWNER_PROJECT, OWNER_USER };
static const char *const owners[] = {"project", "user", NULL};

struct connect_body {
	const char *name, *about, *preset, *issuer, *client;
	const char **hosts, **scopes;
	int method, consent, owner;
};
static const struct json_member connect_body_shape_members[] = {
        JSON_TEXT_MEMBER(connect_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = CREDENTIAL_NAME_MAX, .about = "of the credential to make",
                         .example = "github"),
        JSON_TEXT_MEMBER(connect_body, preset, .max = 64,
                         .about = "see /v1/credential-presets; or give an issuer",
                         .example = "github"),
        JSON_TEXT_MEMBER(connect_body, issuer, .max = OUTBOUND_URL_MAX,
                         .about = "a service that publishes its metadata, such as a GitLab of your "
                                  "own; its addresses replace those of the preset",
                         .example = "https://gitlab.example.com"),
        JSON_TEXT_MEMBER(connect_body, client, .flags = JSON_REQUIRED, .min = 1,
                         .max = CREDENTIAL_NAME_MAX,
                         .about = "a credential of the kind 'client': the application that is "
                                  "registered at the service",
                         .example = "github-app"),
        JSON_CHOICE_MEMBER(connect_body, method, .choices = methods,
                           .about = "code: in a browser (default); device: with a code to type; "
                                    "client: the application itself"),
        JSON_TEXT_LIST_MEMBER(connect_body, scopes, .max = SCOPES_MAX,
                              .about = "default: those of the preset"),
        JSON_TEXT_LIST_MEMBER(connect_body, hosts, .max = CREDENTIAL_HOSTS_MAX,
                              .about = "hosts that may get the credential (default: the "
                                       "preset's)"),
        JSON_TEXT_MEMBER(connect_body, about, .max = ABOUT_MAX, .about = "what it is for"),
        JSON_CHOICE_MEMBER(connect_body, consent, .choices = credential_consents,
                           .about = "as of a credential"),
        JSON_CHOICE_MEMBER(connect_body, owner, .choices = owners, .about = "as of a credential"),
};
static JSON_SHAPE(connect_body_shape, "ConnectCreate", connect_body, "A login to begin");

struct connect_answer {
	const char *id, *name, *preset, *state, *problem, *scopes;
	const char *url, *user_code, *verification, *verification_whole;
	int method, owner;
	int64_t interval_ms, expires_at, renews_at, created_at, updated_at;
};
static const struct json_member connect_shape_members[] = {
        JSON_TEXT_MEMBER(connect_answer, id),
        JSON_TEXT_MEMBER(connect_answer, name),
        JSON_TEXT_MEMBER(connect_answer, preset, .flags = JSON_NULLABLE),
        JSON_CHOICE_MEMBER(connect_answer, method, .choices = methods),
        JSON_CHOICE_MEMBER(connect_answer, owner, .choices = owners),
        JSON_TEXT_MEMBER(connect_answer, state,
                         .about = "pending, exchanging, done, failed or needs_login"),
        JSON_TEXT_MEMBER(connect_answer, problem, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(connect_answer, scopes, .about = "as the service grants them"),
        JSON_TEXT_MEMBER(connect_answer, url, .flags = JSON_OMIT_EMPTY,
                         .about = "once: the service's page to open in a browser"),
        JSON_TEXT_MEMBER(connect_answer, user_code, .flags = JSON_OMIT_EMPTY,
                         .about = "once: the code to type at verification_uri"),
        JSON_TEXT_MEMBER(connect_answer, verification, .name = "verification_uri",
                         .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(connect_answer, verification_whole, .name = "verification_uri_complete",
                         .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(connect_answer, interval_ms, .flags = JSON_OMIT_EMPTY,
                          .about = "how often the server asks for a device's tokens"),
        JSON_TIME_MEMBER(connect_answer, expires_at, .flags = JSON_NULLABLE,
                         .about = "of a pending one"),
        JSON_TIME_MEMBER(connect_answer, renews_at, .flags = JSON_NULLABLE,
                         .about = "when its tokens are renewed"),
        JSON_TIME_MEMBER(connect_answer, created_at),
        JSON_TIME_MEMBER(connect_answer, updated_at),
};
static JSON_SHAPE(connect_shape, "Connect", connect_answer, "A login at an OAuth service");
static const struct json_member connect_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &connect_shape),
};
static JSON_SHAPE(connect_list_shape, "ConnectList", list_answer, "Connects, newest first");
static const struct json_member preset_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &connect_preset_shape),
};
static JSON_SHAPE(preset_list_shape, "CredentialPresetList", list_answer, "Presets of credentials");

static struct connect_answer answer_of(const struct connect_record *r)
{
	bool is_pending = r->state == CONNECT_PENDING;

	return (struct connect_answer){
	        .id = r->id,
	        .name = r->name,
	        .preset = text_or_null(r->preset),
	        .method = (int)r->method,
	        .owner = r->owner_id[0] ? OWNER_USER : OWNER_PROJECT,
	        .state = connect_state_name(r->state),
	        .problem = text_or_null(r->problem),
	        .scopes = r->scopes,
	        .interval_ms = is_pending ? r->interval_ms : 0,
	        .expires_at = is_pending ? r->expires_at : 0,
	        .renews_at = is_pending ? 0 : r->due_at,
	        .created_at = r->created_at,
	        .updated_at = r->updated_at,
	};
}

static struct connect_context context_of(struct request *rq)
{
	return (struct connect_context){api_of(rq)->config, api_of(rq)->store, rq->arena};
}

/* Whose credential it makes; the same rights as to store one by hand. */
static int decide_owner(struct request *rq, const struct connect_body *b, const char **ret,
                        struct error *err)
{
	*ret = "";
	if (b->owner == OWNER_PROJECT)
		return api_require(rq, SCOPE_PROJECT_WRITE, err);
	*ret = api_user_id(rq);
	if ((*ret)[0])
		return 0;
	(void)FAIL(err, ERROR_INVALID, "owner: this key belongs to no user");
	return FAIL_HINT(err, "sign in, use a key of a member, or make it for the project");
}

static const char *redirect_uri(const struct request *rq)
{
	return arena_format(rq->arena, "%s" CALLBACK, api_public_address(rq));
}

static int connect_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct connect_body *b = body;
	const struct connect_context context = context_of(rq);
	struct connect_request request = {
	        .project_id = api_project(rq),
	        .caller = api_user_id(rq),
	        .name = b->name,
	        .about = b->about ? b->about : "",
	        .preset = b->preset,
	        .issuer = b->issuer,
	        .client = b->client,
	        .hosts = (const char *const *)b->hosts,
	        .scopes = (const char *const *)b->scopes,
	        .method = (enum connect_method)b->method,
	        .consent = (enum credential_consent)b->consent,
	        .redirect_uri = redirect_uri(rq),
	};
	struct connect_begun begun;
	struct connect_answer answer;
	struct sign_in_token browser;

	sign_in_token_make(&browser);
	/* Of a caller with a key it is not known which browser opens the page. */
	if (api_account(rq)->is_login && b->method == CONNECT_CODE)
		request.browser = browser.text;
	if (decide_owner(rq, b, &request.owner_id, err) < 0 ||
	    connect_begin(&context, &request, &begun, err) < 0)
		return -1;
	if (request.browser)
		api_cookie_put(rq, reply, COOKIE, browser.text, ROUND_TRIP_MS);
	api_audit_subject(rq, begun.record.id);
	answer = answer_of(&begun.record);
	answer.url = begun.url;
	answer.user_code = begun.user_code;
	answer.verification = begun.verification;
	answer.verification_whole = begun.verification_whole;
	reply_status(reply, 201);
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &connect_shape, &answer);
	return 0;
}

static int find_connect(struct request *rq, struct connect_record *ret, struct error *err)
{
	const struct connect_ref ref = {api_project(rq), api_user_id(rq),
	                                request_param(rq, "connect")};

	return store_connect_find(api_of(rq)->store, rq->arena, &ref, ret, err);
}

static int connect_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct connect_answer answer;
	struct connect_record r;

	if (find_connect(rq, &r, err) < 0)
		return -1;
	answer = answer_of(&r);
	reply_json(reply, &connect_shape, &answer);
	return 0;
}

static int connects_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct connect_ref owner = {api_project(rq), api_user_id(rq), ""};
	struct connect_answer *items;
	struct connect_list found;

	if (store_connect_list(api_of(rq)->store, rq->arena, &owner, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct connect_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = answer_of(&found.items[i]);
	reply_list(reply, &connect_list_shape, items, found.count);
	return 0;
}

struct connect_delete_query {
	bool force;
};
static const struct json_member delete_query_members[] = {
        JSON_BOOL_MEMBER(connect_delete_query, force,
                         .about = "remove it even if the service does not revoke its tokens"),
};
static JSON_SHAPE(delete_query, "ConnectDelete", connect_delete_query, "How to remove a connect");

static int connect_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct connect_delete_query *q = rq->query;
	const struct connect_context context = context_of(rq);
	struct connect_record r;

	if (find_connect(rq, &r, err) < 0 ||
	    (!r.owner_id[0] && api_require(rq, SCOPE_PROJECT_WRITE, err) < 0) ||
	    connect_remove(&context, &r, q->force, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

/* Open: a service may add members of its own. */
struct connect_callback_query {
	const char *code, *state, *iss, *error;
};
static const struct json_member callback_query_members[] = {
        JSON_TEXT_MEMBER(connect_callback_query, code, .max = 8192),
        JSON_TEXT_MEMBER(connect_callback_query, state, .max = 256),
        JSON_TEXT_MEMBER(connect_callback_query, iss, .max = OUTBOUND_URL_MAX),
        JSON_TEXT_MEMBER(connect_callback_query, error, .max = 1024),
};
static JSON_OPEN_SHAPE(callback_query, "ConnectCallback", connect_callback_query,
                       "The service's answer");

/* A person reads this: no JSON, and nothing of the address. */
static int reply_words(struct reply *reply, int status, const char *text)
{
	reply_status(reply, status);
	reply_header(reply, "Cache-Control", "no-store");
	reply_header(reply, "Referrer-Policy", "no-referrer");
	buf_add_text(reply_buf(reply, "text/plain; charset=utf-8"), text);
	return 0;
}

static int connect_callback(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct connect_callback_query *q = rq->query;
	const struct connect_context context = context_of(rq);
	const struct span cookie = api_cookie_value(rq, COOKIE);
	const struct connect_return answer = {
	        .code = q->code,
	        .state = q->state,
	        .issuer = q->iss,
	        .error = q->error,
	        .browser = cookie.size > 0 ? arena_copy(rq->arena, cookie) : NULL,
	};
	struct connect_record r;

	if (api_audit_open(rq, err) < 0)
		return -1;
	if (connect_finish(&context, &answer, &r, err) == 0) {
		api_audit_project(rq, r.project_id);
		api_audit_subject(rq, r.id);
		api_cookie_put(rq, reply, COOKIE, "", 0);
		return reply_words(reply, 200,
		                   arena_format(rq->arena,
		                                "The credential '%s' is connected. This window can "
		                                "be closed.\n",
		                                r.name));
	}
	log_warning("a connect failed", TEXT("request", rq->id), FAILURE(err));
	return reply_words(
	        reply, 403,
	        arena_format(rq->arena, "The login failed: %s.\nRequest %s\n", err->text, rq->id));
}

static int presets_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct json_list all;

	if (connect_presets(rq->arena, &all, err) < 0)
		return -1;
	reply_list(reply, &preset_list_shape, all.items, all.count);
	return 0;
}

#define TAG .tag = "credentials"
const struct route connects_routes[] = {
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_LONG, .body = &connect_body_shape,
         .answer = &connect_shape, .status = 201, .handle = connect_create, TAG,
         .summary = "Begin a login at an OAuth service, which makes a credential"},
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &connect_list_shape, .handle = connects_list,
         TAG, .summary = "List the connects of the project and of the caller's user"},
        {HTTP_GET, CALLBACK, SCOPE_NONE, ROUTE_PUBLIC | ROUTE_SLOW, .query = &callback_query,
         .handle = connect_callback, TAG,
         .summary = "The service's answer: the browser comes back with a code"},
        {HTTP_GET, BASE "/:connect", SCOPE_SANDBOX_READ, .answer = &connect_shape,
         .handle = connect_get, TAG, .summary = "Get a connect"},
        {HTTP_DELETE, BASE "/:connect", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_LONG,
         .query = &delete_query, .status = 204, .handle = connect_delete, TAG,
         .summary = "Revoke the tokens at the service, and delete connect and credential"},
        {HTTP_GET, "/v1/credential-presets", SCOPE_SANDBOX_READ, .answer = &preset_list_shape,
         .handle = presets_list, TAG,
         .summary = "List the services whose hosts and OAuth servers are known"},
        {.path = NULL},
};
