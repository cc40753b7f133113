/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/users — people who sign in: for admins of the server, and for each user's own password. */
#include <string.h>

#include "account/password.h"
#include "base/clock.h"
#include "edge/access_watch.h"
#include "edge/api.h"
#include "edge/caller.h"
#include "edge/cookie.h"
#include "sign_in/sign_in.h"
#include "store/invitations.h"
#include "surface/native/login_list.h"
#include "surface/native/native.h"
#include "surface/native/user_name.h"

#define BASE "/v1/users"
#define LIMIT_DEFAULT 100

struct user_body {
	const char *email, *name, *password;
	bool is_admin, is_disabled;
	uint64_t present;
};
static const struct json_member user_request_members[] = {
        JSON_TEXT_MEMBER(user_body, email, .flags = JSON_REQUIRED, .max = ACCOUNT_USER_MAX,
                         .about = "kept in lower case; never changes",
                         .example = "ann@example.com"),
        JSON_TEXT_MEMBER(user_body, name, .max = 100, .about = "for people"),
        JSON_TEXT_MEMBER(user_body, password, .flags = JSON_SECRET, .min = PASSWORD_MIN,
                         .max = PASSWORD_MAX,
                         .about = "default: the answer has a link with which the user sets it"),
        JSON_BOOL_MEMBER(user_body, is_admin, .about = "an admin of the whole server"),
};
static JSON_SHAPE(user_request, "UserCreate", user_body, "A user to make");
enum { ROW_NAME, ROW_ADMIN, ROW_DISABLED };
static const struct json_member user_change_members[] = {
        JSON_TEXT_MEMBER(user_body, name, .max = 100),
        JSON_BOOL_MEMBER(user_body, is_admin),
        JSON_BOOL_MEMBER(user_body, is_disabled,
                         .about = "may not sign in; its sessions end, and its keys may do nothing"),
};
static JSON_BITS_SHAPE(user_change, "UserChange", user_body, "What to change of a user");

struct user_answer {
	const char *id, *email, *name, *issuer, *link;
	bool is_admin, is_disabled, has_password;
	int64_t created_at, last_used_at, link_expires_at;
};
#define USER_ROWS                                                                                  \
	JSON_TEXT_MEMBER(user_answer, id), JSON_TEXT_MEMBER(user_answer, email),                   \
	        JSON_TEXT_MEMBER(user_answer, name),                                               \
	        JSON_BOOL_MEMBER(user_answer, is_admin, .about = "an admin of the whole server"),  \
	        JSON_BOOL_MEMBER(user_answer, is_disabled),                                        \
	        JSON_BOOL_MEMBER(user_answer, has_password),                                       \
	        JSON_TEXT_MEMBER(user_answer, issuer, .flags = JSON_NULLABLE,                      \
	                         .about = "the provider of OpenID Connect by which the user "      \
	                                  "signed in last"),                                       \
	        JSON_TIME_MEMBER(user_answer, created_at),                                         \
	        JSON_TIME_MEMBER(user_answer, last_used_at, .flags = JSON_NULLABLE,                \
	                         .about = "when the user signed in last")
static const struct json_member user_shape_members[] = {USER_ROWS};
static JSON_SHAPE(user_shape, "User", user_answer, "A user");
static const struct json_member user_made_shape_members[] = {
        USER_ROWS,
        JSON_TEXT_MEMBER(user_answer, link, .flags = JSON_NULLABLE,
                         .about = "with which the user sets a password, once; returned only here; "
                                  "null: the request had a password"),
        JSON_TIME_MEMBER(user_answer, link_expires_at, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(user_made_shape, "UserMade", user_answer, "A user, with a link");
static const struct json_member user_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &user_shape),
        JSON_TEXT_MEMBER(list_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(user_list_shape, "UserList", list_answer, "Users");

struct user_list_query {
	const char *page;
	int64_t limit;
};
static const struct json_member user_list_query_members[] = {
        JSON_TEXT_MEMBER(user_list_query, page, .max = ACCOUNT_USER_MAX,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(user_list_query, limit, .min = 0, .max = 1000,
                          .about = "items per page (default 100)"),
};
static JSON_SHAPE(user_list_query, "UserListQuery", user_list_query, "A page of users");

static struct user_answer make_user_answer(const struct user_record *r)
{
	return (struct user_answer){
	        .id = r->id,
	        .email = r->email,
	        .name = r->name,
	        .issuer = text_or_null(r->issuer),
	        .is_admin = r->is_admin,
	        .is_disabled = r->disabled_at != 0,
	        .has_password = r->password[0] != '\0',
	        .created_at = r->created_at,
	        .last_used_at = r->last_used_at,
	};
}

static int reply_user(struct reply *reply, const struct user_record *r)
{
	const struct user_answer out = make_user_answer(r);

	reply_json(reply, &user_shape, &out);
	return 0;
}

/* The user of the path, by id or address. A caller who is no admin of the server finds itself. */
static int find_user(struct request *rq, struct user_record *ret, struct error *err)
{
	const char *wanted = user_name_of_path(rq);
	struct store *store = api_of(rq)->store;
	int result;

	if (strchr(wanted, '@'))
		result = store_user_find_by_email(store, rq->arena, wanted, ret, err);
	else
		result = store_user_find(store, rq->arena, wanted, ret, err);
	if (result < 0)
		return -1;
	if (api_account(rq)->scopes & SCOPE_ADMIN || strcmp(ret->id, api_key_id(rq)) == 0)
		return 0;
	return FAIL_MISSING(err, "user", wanted);
}

static int users_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct user_list_query *q = rq->query;
	size_t limit = q->limit ? (size_t)q->limit : LIMIT_DEFAULT;
	/* One more tells whether there is another page. */
	const struct user_page page = {q->page ? q->page : "", (int64_t)limit + 1};
	const char *next_page = NULL;
	struct user_answer *items;
	struct user_list found;

	if (store_user_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	if (found.count > limit) {
		found.count = limit;
		next_page = found.items[limit - 1].email;
	}
	items = ARENA_ARRAY(rq->arena, struct user_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_user_answer(&found.items[i]);
	reply_page(reply, &user_list_shape, (struct json_list){items, found.count, true},
	           next_page);
	return 0;
}

/* Adds a link with which the user sets a password. */
static int add_link(struct request *rq, const struct user_record *user, struct user_answer *out,
                    struct error *err)
{
	const struct api *api = api_of(rq);
	struct invitation_record invitation = {.project_id = "",
	                                       .email = user->email,
	                                       .role = "",
	                                       .invited_by = api_caller_name(rq)};
	struct sign_in_token token;

	if (sign_in_invite(api->sign_in, rq->arena, &invitation, &token, err) < 0)
		return -1;
	out->link = sign_in_join_link(rq->arena, api_public_address(rq), &token);
	out->link_expires_at = invitation.expires_at;
	return 0;
}

static int reply_made(struct reply *reply, const struct user_answer *out)
{
	reply_status(reply, 201);
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &user_made_shape, out);
	return 0;
}

static int user_create(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct user_body *b = body;
	const struct user_record wanted = {
	        .email = b->email, .name = b->name ? b->name : "", .is_admin = b->is_admin};
	struct user_record made;
	struct user_answer out;

	if (sign_in_add_user(api_of(rq)->sign_in, rq->arena, &wanted, b->password, &made, err) < 0)
		return -1;
	api_audit_subject(rq, made.email);
	out = make_user_answer(&made);
	if (!b->password && add_link(rq, &made, &out, err) < 0)
		return -1;
	return reply_made(reply, &out);
}

static int user_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	struct user_record found;

	return find_user(rq, &found, err) < 0 ? -1 : reply_user(reply, &found);
}

static int edit_user(struct user_record *r, const void *context, UNUSED struct error *err)
{
	const struct user_body *b = context;

	if (row_is_given(b->present, ROW_NAME))
		r->name = b->name;
	if (row_is_given(b->present, ROW_ADMIN))
		r->is_admin = b->is_admin;
	if (row_is_given(b->present, ROW_DISABLED) && b->is_disabled != (r->disabled_at != 0))
		r->disabled_at = b->is_disabled ? clock_unix_ms() : 0;
	r->updated_at = clock_unix_ms();
	return 0;
}

static int user_edit(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct user_body *b = body;
	struct user_record found;
	struct user_edit edit = {.edit = edit_user, .context = b};

	if (find_user(rq, &found, err) < 0)
		return -1;
	edit.id = found.id;
	edit.ends_logins_but = b->is_disabled ? "" : NULL;
	if (store_user_edit(api_of(rq)->store, rq->arena, &edit, &found, err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	api_audit_subject(rq, found.email);
	return reply_user(reply, &found);
}

static int user_remove(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	struct user_record found;

	if (find_user(rq, &found, err) < 0 ||
	    store_user_remove(api_of(rq)->store, found.id, clock_unix_ms(), err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	api_audit_subject(rq, found.email);
	reply_status(reply, 204);
	return 0;
}

static int user_link(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	struct user_record found;
	struct user_answer out;

	if (find_user(rq, &found, err) < 0)
		return -1;
	out = make_user_answer(&found);
	api_audit_subject(rq, found.email);
	return add_link(rq, &found, &out, err) < 0 ? -1 : reply_made(reply, &out);
}

struct password_body {
	const char *old, *new;
};
static const struct json_member password_request_members[] = {
        JSON_TEXT_MEMBER(password_body, old, .flags = JSON_SECRET, .max = 1024,
                         .about = "required, but for an admin who sets another user's"),
        JSON_TEXT_MEMBER(password_body, new, .flags = JSON_SECRET | JSON_REQUIRED,
                         .min = PASSWORD_MIN, .max = PASSWORD_MAX,
                         .about = "at least 4 different characters, not the e-mail address"),
};
static JSON_SHAPE(password_request, "PasswordChange", password_body, "A new password");

static int password_set(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct password_body *b = body;
	const struct api_caller *caller = rq->caller;
	struct api *api = api_of(rq);
	struct sign_in_password change = {
	        .new = b->new, .kept = "", .address = api_client_address(rq)};
	struct user_record user;
	struct login_record login;
	bool is_self;

	if (find_user(rq, &user, err) < 0)
		return -1;
	is_self = caller->is_login && strcmp(user.id, api_key_id(rq)) == 0;
	if (is_self && !b->old)
		return FAIL(err, ERROR_INVALID, "old: the present password is needed");
	change.user_id = user.id;
	change.old = is_self ? b->old : NULL;
	if (is_self) {
		if (store_login_find(api->store, rq->arena, caller->key_hash, &login, err) < 0)
			return -1;
		change.kept = login.id;
	}
	if (sign_in_set_password(api->sign_in, rq->arena, &change, err) < 0)
		return -1;
	api_access_changed(api);
	api_audit_subject(rq, user.email);
	reply_status(reply, 204);
	return 0;
}

static int user_sessions(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct user_record user;

	return find_user(rq, &user, err) < 0 ? -1 : login_list_reply(rq, reply, user.id, err);
}

static int user_sessions_end(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	struct api *api = api_of(rq);
	struct user_record user;

	if (find_user(rq, &user, err) < 0 || store_login_end_all(api->store, user.id, err) < 0)
		return -1;
	api_access_changed(api);
	api_audit_subject(rq, user.email);
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "users"
const struct route users_routes[] = {
        {HTTP_GET, BASE, SCOPE_ADMIN, .query = &user_list_query, .answer = &user_list_shape,
         .handle = users_list, TAG, .summary = "List the users of the server"},
        {HTTP_POST, BASE, SCOPE_ADMIN, ROUTE_SLOW, .body = &user_request,
         .answer = &user_made_shape, .status = 201, .handle = user_create, TAG,
         .summary = "Make a user"},
        {HTTP_GET, BASE "/:user", SCOPE_NONE, .answer = &user_shape, .handle = user_get, TAG,
         .summary = "Get a user by id or address; without the scope admin oneself"},
        {HTTP_PATCH, BASE "/:user", SCOPE_ADMIN, .body = &user_change, .answer = &user_shape,
         .handle = user_edit, TAG, .summary = "Rename, disable or promote a user"},
        {HTTP_DELETE, BASE "/:user", SCOPE_ADMIN, .status = 204, .handle = user_remove, TAG,
         .summary = "Remove a user with its memberships, and revoke the keys of these"},
        {HTTP_POST, BASE "/:user/link", SCOPE_ADMIN, .answer = &user_made_shape, .status = 201,
         .handle = user_link, TAG,
         .summary = "Make a link with which the user sets a password, once"},
        {HTTP_POST, BASE "/:user/password", SCOPE_NONE, ROUTE_SLOW, .body = &password_request,
         .status = 204, .handle = password_set, TAG,
         .summary = "Set a password; ends the user's other sessions"},
        {HTTP_GET, BASE "/:user/sessions", SCOPE_ADMIN, .answer = &login_list_shape,
         .handle = user_sessions, TAG, .summary = "List a user's sessions in browsers"},
        {HTTP_DELETE, BASE "/:user/sessions", SCOPE_ADMIN, .status = 204,
         .handle = user_sessions_end, TAG, .summary = "End all sessions of a user"},
        {.path = NULL},
};
