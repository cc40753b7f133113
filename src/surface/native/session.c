/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/sign-in and /v1/session — how a person signs in from a browser, and the session that follows.
 * /v1/sessions lists and ends sessions. */
#include "account/password.h"
#include "config/config.h"
#include "edge/access_watch.h"
#include "edge/audit.h"
#include "edge/caller.h"
#include "edge/cookie.h"
#include "sign_in/oidc.h"
#include "store/projects.h"
#include "surface/native/login_list.h"
#include "surface/native/native.h"

struct sign_in_oidc {
	const char *name, *path;
};
static const struct json_member sign_in_oidc_shape_members[] = {
        JSON_TEXT_MEMBER(sign_in_oidc, name, .about = "what to call the provider"),
        JSON_TEXT_MEMBER(sign_in_oidc, path, .about = "page to open"),
};
static JSON_SHAPE(sign_in_oidc_shape, "SignInProvider", sign_in_oidc,
                  "A provider of OpenID Connect");

struct sign_in_answer {
	bool password, setup;
	struct sign_in_oidc oidc;
	const char *version, *console;
};
static const struct json_member sign_in_shape_members[] = {
        JSON_BOOL_MEMBER(sign_in_answer, password, .about = "a user may sign in by password"),
        JSON_OBJECT_MEMBER(sign_in_answer, oidc, &sign_in_oidc_shape, .flags = JSON_NULLABLE),
        JSON_BOOL_MEMBER(sign_in_answer, setup,
                         .about = "no user exists; a one-time link makes the first"),
        JSON_TEXT_MEMBER(sign_in_answer, version, .about = "of the server"),
        JSON_TEXT_MEMBER(sign_in_answer, console, .about = "address of the console"),
};
static JSON_SHAPE(sign_in_shape, "SignInWays", sign_in_answer, "How to sign in");

static int sign_in_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	const struct api *api = api_of(rq);
	struct sign_in_answer out = {.password = api->config->sign_in_password,
	                             .version = ATOLL_VERSION};
	int64_t users;

	if (store_user_count(api->store, &users, err) < 0)
		return -1;
	out.setup = users == 0;
	if (oidc_is_on(api->config))
		out.oidc = (struct sign_in_oidc){api->config->oidc_name, "/v1/sign-in/oidc"};
	out.console = arena_format(rq->arena, "%s/console/", api_public_address(rq));
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &sign_in_shape, &out);
	return 0;
}

struct setup_answer {
	const char *link;
	int64_t expires_at;
};
static const struct json_member setup_shape_members[] = {
        JSON_TEXT_MEMBER(setup_answer, link, .about = "works once; returned only here"),
        JSON_TIME_MEMBER(setup_answer, expires_at),
};
static JSON_SHAPE(setup_shape, "SetupLink", setup_answer, "The link that makes the first user");

static int setup_make(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct api *api = api_of(rq);
	struct setup_answer out;
	struct sign_in_token token;

	if (sign_in_make_setup(api->store, &token, &out.expires_at, err) < 0)
		return -1;
	out.link = sign_in_setup_link(rq->arena, api_public_address(rq), &token);
	reply_status(reply, 201);
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &setup_shape, &out);
	return 0;
}

struct offer_body {
	const char *email, *password, *key, *setup_token, *invitation, *name;
};
#define SECRET_ROW(member, max_, about_)                                                           \
	JSON_TEXT_MEMBER(offer_body, member, .flags = JSON_SECRET, .min = 1, .max = (max_),        \
	                 .about = (about_))
static const struct json_member offer_shape_members[] = {
        JSON_TEXT_MEMBER(offer_body, email, .max = ACCOUNT_USER_MAX, .example = "ann@example.com"),
        SECRET_ROW(password, 1024, "of the user"),
        SECRET_ROW(key, 128, "an API key, instead of a user: the session may do what the key may"),
        SECRET_ROW(setup_token, 128, "of the one-time link, with email, name and password"),
        SECRET_ROW(invitation, 128, "of an invitation's link, with name and password"),
        JSON_TEXT_MEMBER(offer_body, name, .max = 100, .about = "of a new user, for people"),
};
static JSON_SHAPE(offer_shape, "SignInOffer", offer_body, "Something to sign in with");

struct session_user {
	const char *id, *email, *name;
	bool is_admin;
};
static const struct json_member session_user_shape_members[] = {
        JSON_TEXT_MEMBER(session_user, id),
        JSON_TEXT_MEMBER(session_user, email),
        JSON_TEXT_MEMBER(session_user, name),
        JSON_BOOL_MEMBER(session_user, is_admin, .about = "an admin of the whole server"),
};
static JSON_SHAPE(session_user_shape, "LoginUser", session_user, "The user of a session");

struct session_project {
	const char *id, *name, *role;
	const char **scopes;
};
static const struct json_member session_project_shape_members[] = {
        JSON_TEXT_MEMBER(session_project, id),
        JSON_TEXT_MEMBER(session_project, name),
        JSON_TEXT_MEMBER(session_project, role, .flags = JSON_NULLABLE,
                         .about = "null: the scopes are those of an admin of the server or of "
                                  "a key"),
        JSON_TEXT_LIST_MEMBER(session_project, scopes),
};
static JSON_SHAPE(session_project_shape, "LoginProject", session_project,
                  "A project that a session may choose");

struct session_answer {
	const char *id, *kind, *csrf_token, *project;
	struct session_user user;
	const char **scopes;
	struct json_list projects;
	int64_t created_at, expires_at;
};
static const struct json_member session_shape_members[] = {
        JSON_TEXT_MEMBER(session_answer, id),
        JSON_TEXT_MEMBER(session_answer, kind, .about = "user or key"),
        JSON_OBJECT_MEMBER(session_answer, user, &session_user_shape, .flags = JSON_NULLABLE,
                           .about = "null: the session is a key's"),
        JSON_TEXT_MEMBER(session_answer, csrf_token,
                         .about = "for the header X-Atoll-CSRF, which every write needs"),
        JSON_TIME_MEMBER(session_answer, created_at),
        JSON_TIME_MEMBER(session_answer, expires_at, .about = "earlier without use"),
        JSON_TEXT_MEMBER(session_answer, project, .flags = JSON_NULLABLE,
                         .about = "project of requests that name none; null: a member of none"),
        JSON_LIST_MEMBER(session_answer, projects, &session_project_shape),
        JSON_TEXT_LIST_MEMBER(session_answer, scopes, .about = "in that project"),
};
static JSON_SHAPE(session_shape, "LoginSession", session_answer, "A session of a browser");

static int list_for_user(struct request *rq, const struct user_record *user,
                         struct session_answer *out, struct error *err)
{
	const struct membership_lookup lookup = {
	        .email = user->email, .is_admin = user->is_admin, .limit = STORE_MEMBERSHIPS_MAX};
	struct membership_list found;
	struct session_project *items;

	if (store_memberships(api_of(rq)->store, rq->arena, &lookup, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct session_project, found.count);
	for (size_t i = 0; i < found.count; i++) {
		const struct membership *m = &found.items[i];

		items[i] = (struct session_project){
		        .id = m->project_id,
		        .name = m->project_name,
		        .role = text_or_null(m->role),
		        .scopes = api_scope_names(rq->arena, sign_in_scopes(user, m)),
		};
	}
	out->projects = (struct json_list){items, found.count, .present = true};
	out->user = (struct session_user){user->id, user->email, user->name, user->is_admin};
	return 0;
}

static int list_for_key(struct request *rq, const struct key_record *key,
                        struct session_answer *out, struct error *err)
{
	struct session_project *item = ARENA_NEW(rq->arena, struct session_project);
	struct project_record project;

	if (store_project_find(api_of(rq)->store, rq->arena, key->project_id, &project, err) < 0)
		return -1;
	*item = (struct session_project){.id = project.id,
	                                 .name = project.name,
	                                 .role = text_or_null(key->role),
	                                 .scopes = api_scope_names(rq->arena, key->scopes)};
	out->projects = (struct json_list){item, 1, .present = true};
	return 0;
}

static int reply_session(struct request *rq, struct reply *reply, const struct sign_in_token *token,
                         struct error *err)
{
	char csrf[SIGN_IN_CSRF_SIZE + 1];
	struct sign_in_found found;
	struct session_answer out = {.csrf_token = csrf};
	const struct session_project *first;

	if (sign_in_find_login(api_of(rq)->sign_in, rq->arena, token->hash, &found, err) < 0 ||
	    (found.login.kind == LOGIN_USER ? list_for_user(rq, &found.user, &out, err)
	                                    : list_for_key(rq, &found.key, &out, err)) < 0)
		return -1;
	sign_in_csrf(token, csrf);
	first = out.projects.count ? out.projects.items : NULL;
	out.id = found.login.id;
	out.kind = login_kind_name(found.login.kind);
	out.created_at = found.login.created_at;
	out.expires_at = found.login.expires_at;
	out.project = first ? first->id : NULL;
	out.scopes = first ? first->scopes : api_scope_names(rq->arena, SCOPE_NONE);
	reply_json(reply, &session_shape, &out);
	return 0;
}

/* For the audit. What is no address may be a password in the wrong field. */
static void tell_address(struct request *rq, const char *typed)
{
	char email[ACCOUNT_USER_MAX + 1];
	struct error ignored;

	if (typed && account_email_parse(typed, email, &ignored) == 0)
		api_audit_subject(rq, email);
}

static void tell_who(struct request *rq, const struct sign_in_made *made)
{
	bool is_key = made->login.kind == LOGIN_KEY;

	api_audit_who(rq, made->who, is_key ? made->login.owner_id : "");
	if (is_key)
		api_audit_project(rq, made->login.project_id);
	else
		api_audit_subject(rq, made->who);
}

static int session_begin(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct offer_body *b = body;
	const struct sign_in_offer offer = {
	        .email = b->email,
	        .password = b->password,
	        .key = b->key,
	        .setup_token = b->setup_token,
	        .invitation = b->invitation,
	        .name = b->name,
	};
	const char *agent = request_header(rq, "User-Agent");
	struct sign_in_client client = {.address = api_client_address(rq),
	                                .user_agent = agent ? agent : ""};
	struct sign_in_token old;
	struct sign_in_made made;
	struct error ignored;
	bool has_old = false;

	if (api_cookie_guard_sign_in(rq, err) < 0 || api_audit_open(rq, err) < 0)
		return -1;
	tell_address(rq, b->email);
	if (api_cookie_read(rq, &old, &has_old, &ignored) == 0 && has_old)
		client.replaces = &old;
	if (sign_in_begin(api_of(rq)->sign_in, rq->arena, &client, &offer, &made, err) < 0 ||
	    reply_session(rq, reply, &made.token, err) < 0)
		return -1;
	tell_who(rq, &made);
	if (has_old)
		api_access_changed(api_of(rq));
	reply_status(reply, 201);
	api_cookie_write(rq, reply, &made.token, made.login.expires_at - made.login.created_at);
	return 0;
}

static int session_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct sign_in_token token;
	bool found;

	if (api_cookie_read(rq, &token, &found, err) < 0)
		return -1;
	if (!found)
		return FAIL(err, ERROR_UNAUTHENTICATED, "the request has no session cookie");
	if (api_cookie_guard(rq, rq->route, &token, err) < 0)
		return -1;
	reply_header(reply, "Cache-Control", "no-store");
	return reply_session(rq, reply, &token, err);
}

/* For the audit. */
static void tell_owner(struct request *rq, const struct login_record *login)
{
	struct sign_in_made made = {.login = *login, .who = login->owner_id};
	struct user_record user;
	struct error ignored = {0};

	if (login->kind == LOGIN_KEY)
		made.who = "";
	else if (store_user_find(api_of(rq)->store, rq->arena, login->owner_id, &user, &ignored) ==
	         0)
		made.who = user.email;
	tell_who(rq, &made);
}

static int session_end(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct api *api = api_of(rq);
	struct login_record login;
	struct sign_in_token token;
	bool found;

	if (api_cookie_read(rq, &token, &found, err) < 0)
		return -1;
	if (found && api_cookie_guard(rq, rq->route, &token, err) < 0)
		return -1;
	if (api_audit_open(rq, err) < 0)
		return -1;
	if (found && store_login_find(api->store, rq->arena, token.hash, &login, err) == 0) {
		tell_owner(rq, &login);
		if (store_login_end(api->store, login.owner_id, login.id, err) < 0)
			return -1;
	}
	api_access_changed(api);
	api_cookie_write(rq, reply, NULL, 0);
	reply_status(reply, 204);
	return 0;
}

struct login_answer {
	const char *id, *address, *user_agent;
	int64_t created_at, last_used_at, expires_at;
	bool is_current;
};
static const struct json_member login_shape_members[] = {
        JSON_TEXT_MEMBER(login_answer, id),
        JSON_TIME_MEMBER(login_answer, created_at),
        JSON_TIME_MEMBER(login_answer, last_used_at),
        JSON_TEXT_MEMBER(login_answer, address, .about = "from which it was begun"),
        JSON_TEXT_MEMBER(login_answer, user_agent, .about = "what the browser says of itself"),
        JSON_BOOL_MEMBER(login_answer, is_current, .about = "it is the session of this request"),
        JSON_TIME_MEMBER(login_answer, expires_at),
};
static JSON_SHAPE(login_shape, "LoginSessionSummary", login_answer, "One of the caller's sessions");
static const struct json_member login_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &login_shape),
};
JSON_SHAPE(login_list_shape, "LoginSessionList", list_answer, "Sessions");

int login_list_reply(struct request *rq, struct reply *reply, const char *owner_id,
                     struct error *err)
{
	const struct api_caller *caller = rq->caller;
	struct login_list found;
	struct login_answer *items;

	if (store_login_list(api_of(rq)->store, rq->arena, owner_id, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct login_answer, found.count);
	for (size_t i = 0; i < found.count; i++) {
		const struct login_record *r = &found.items[i];

		items[i] = (struct login_answer){
		        .id = r->id,
		        .address = r->address,
		        .user_agent = r->user_agent,
		        .created_at = r->created_at,
		        .last_used_at = r->last_used_at,
		        .expires_at = r->expires_at,
		        .is_current =
		                caller->is_login && account_hash_equals(r->hash, caller->key_hash),
		};
	}
	reply_list(reply, &login_list_shape, items, found.count);
	return 0;
}

static int sessions_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	return login_list_reply(rq, reply, api_key_id(rq), err);
}

static int sessions_end(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	struct api *api = api_of(rq);

	if (store_login_end(api->store, api_key_id(rq), request_param(rq, "session"), err) < 0)
		return -1;
	api_access_changed(api);
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "session"
const struct route session_routes[] = {
        {HTTP_GET, "/v1/sign-in", SCOPE_NONE, ROUTE_PUBLIC, .answer = &sign_in_shape,
         .handle = sign_in_get, TAG, .summary = "Get the ways to sign in"},
        {HTTP_POST, "/v1/sign-in/setup", SCOPE_ADMIN, .answer = &setup_shape, .status = 201,
         .handle = setup_make, TAG,
         .summary = "Make the one-time link of the first user, while no user exists"},
        {HTTP_POST, "/v1/session", SCOPE_NONE,
         ROUTE_PUBLIC | ROUTE_SLOW | ROUTE_PLAIN | ROUTE_NEEDS_BODY, .body = &offer_shape,
         .answer = &session_shape, .status = 201, .handle = session_begin, TAG,
         .summary = "Sign in: answers with a session and sets its cookie"},
        {HTTP_GET, "/v1/session", SCOPE_NONE, ROUTE_PUBLIC | ROUTE_PLAIN, .answer = &session_shape,
         .handle = session_get, TAG, .summary = "Get the session of the cookie"},
        {HTTP_DELETE, "/v1/session", SCOPE_NONE, ROUTE_PUBLIC, .status = 204, .handle = session_end,
         TAG, .summary = "Sign out"},
        {HTTP_GET, "/v1/sessions", SCOPE_NONE, .answer = &login_list_shape, .handle = sessions_list,
         TAG, .summary = "List the caller's sessions in browsers"},
        {HTTP_DELETE, "/v1/sessions/:session", SCOPE_NONE, .status = 204, .handle = sessions_end,
         TAG, .summary = "End one of the caller's sessions"},
        {.path = NULL},
};
