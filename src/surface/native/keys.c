/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/keys — API keys. A key's text is returned only when it is made. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "edge/access_watch.h"
#include "edge/api.h"
#include "store/keys.h"
#include "store/members.h"
#include "surface/native/native.h"
#include "surface/native/user_name.h"

#define BASE "/api/sandbox/keys"

struct key_body {
	const char *name;
	const char *member;
	const char **scopes;
	int64_t expires_at, expires_in_ms;
};
static const struct json_member key_request_members[] = {
        JSON_TEXT_MEMBER(key_body, name, .flags = JSON_REQUIRED, .min = 1, .max = 100),
        JSON_TEXT_LIST_MEMBER(key_body, scopes, .max = 16,
                              .about = "scopes such as sandbox:read; default: all scopes of the "
                                       "caller that the member's role allows, except admin"),
        JSON_TEXT_MEMBER(key_body, member, .max = ACCOUNT_USER_MAX,
                         .about = "user that owns the key; the key is limited to the user's role "
                                  "and is revoked when the membership ends. Default: the caller, "
                                  "if it is a member, unless the key has the scope admin. Empty: "
                                  "the key belongs to the project"),
        JSON_TIME_MEMBER(key_body, expires_at, .flags = JSON_NULLABLE, .about = "default: never"),
        JSON_WHOLE_MEMBER(key_body, expires_in_ms, .min = 0, .max = ACCOUNT_KEY_LIFE_MAX_MS,
                          .about = "lifetime in ms, instead of expires_at; 0: never"),
};
static JSON_SHAPE(key_request, "KeyCreate", key_body, "A key to create");

struct key_rotate_body {
	int64_t grace_ms;
};
static const struct json_member rotate_request_members[] = {
        JSON_WHOLE_MEMBER(
                key_rotate_body, grace_ms, .min = 0, .max = ACCOUNT_KEY_GRACE_MAX_MS,
                .about = "how long the old text remains valid, at most 7 days; 0: not at all"),
};
static JSON_SHAPE(rotate_request, "KeyRotate", key_rotate_body, "Validity of the old text");

struct key_answer {
	const char *id, *name, *prefix, *project, *key, *e2b_key, *member, *role, *made_by;
	const char **scopes;
	int64_t created_at, expires_at, revoked_at, last_used_at;
};
#define KEY_ROWS                                                                                   \
	JSON_TEXT_MEMBER(key_answer, id), JSON_TEXT_MEMBER(key_answer, name),                      \
	        JSON_TEXT_MEMBER(key_answer, prefix,                                               \
	                         .about = "first characters of the key's text"),                   \
	        JSON_TEXT_MEMBER(key_answer, project), JSON_TEXT_LIST_MEMBER(key_answer, scopes),  \
	        JSON_TEXT_MEMBER(key_answer, member, .flags = JSON_NULLABLE),                      \
	        JSON_TEXT_MEMBER(key_answer, role, .flags = JSON_NULLABLE,                         \
	                         .about = "role of the member; it limits the scopes"),             \
	        JSON_TEXT_MEMBER(key_answer, made_by, .flags = JSON_NULLABLE,                      \
	                         .about = "user or key that made it; null: not known"),            \
	        JSON_TIME_MEMBER(key_answer, created_at),                                          \
	        JSON_TIME_MEMBER(key_answer, expires_at, .flags = JSON_NULLABLE),                  \
	        JSON_TIME_MEMBER(key_answer, revoked_at, .flags = JSON_NULLABLE),                  \
	        JSON_TIME_MEMBER(key_answer, last_used_at, .flags = JSON_NULLABLE)
static const struct json_member key_shape_members[] = {KEY_ROWS};
static JSON_SHAPE(key_shape, "Key", key_answer, "A key, without its text");
static const struct json_member key_made_shape_members[] = {
        KEY_ROWS,
        JSON_TEXT_MEMBER(key_answer, key, .about = "text of the key; returned only once"),
        JSON_TEXT_MEMBER(key_answer, e2b_key, .about = "the same key in the format of E2B's API"),
};
static JSON_SHAPE(key_made_shape, "KeyMade", key_answer, "A new key, with its text");

static const struct json_member key_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &key_shape),
};
static JSON_SHAPE(key_list_shape, "KeyList", list_answer, "Keys");

const char **api_scope_names(struct arena *a, int64_t scopes)
{
	const char **names = ARENA_ARRAY(a, const char *, 32);
	size_t count = 0;

	for (unsigned bit = 0; SCOPE_ALL >> bit; bit++) {
		if (scopes >> bit & 1)
			names[count++] = account_scope_name((enum account_scope)(1u << bit));
	}
	return names;
}

static void fill_key_answer(struct arena *a, const struct key_record *r, struct key_answer *ret)
{
	*ret = (struct key_answer){
	        .id = r->id,
	        .name = r->name,
	        .prefix = r->prefix,
	        .member = text_or_null(r->user_id),
	        .role = text_or_null(r->role),
	        .made_by = text_or_null(r->made_by),
	        .project = r->project_id,
	        .scopes = api_scope_names(a, r->scopes),
	        .created_at = r->created_at,
	        .expires_at = r->expires_at,
	        .revoked_at = r->revoked_at,
	        .last_used_at = r->last_used_at,
	};
}

static int keys_list(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct key_list found;
	struct key_answer *items;

	(void)body;
	if (store_key_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct key_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		fill_key_answer(rq->arena, &found.items[i], &items[i]);
	reply_list(reply, &key_list_shape, items, found.count);
	return 0;
}

static bool has_scope(const char *const *names, const char *wanted)
{
	for (; names && *names; names++)
		if (strcmp(*names, wanted) == 0)
			return true;
	return false;
}

/* The member that owns the key. A person's key ends with the person's membership, unless the
 * request says that it belongs to the project. */
static int find_key_member(struct request *rq, const struct key_body *b, struct key_record *r,
                           struct member_record *ret, struct error *err)
{
	const char *user = api_user_id(rq);
	bool is_own = !b->member && user && !has_scope(b->scopes, "admin");

	*ret = (struct member_record){.user_id = ""};
	if (is_own)
		ret->user_id = user;
	else if (b->member && b->member[0] &&
	         user_name_parse(rq, b->member, &ret->user_id, err) < 0)
		return -1;
	if (!ret->user_id[0] || store_member_find(api_of(rq)->store, rq->arena, r->project_id,
	                                          ret->user_id, ret, err) == 0)
		return 0;
	if (!is_own || err->code != ERROR_NOT_FOUND)
		return -1;
	/* An admin of the server or of the organisation is no member. */
	error_clear(err);
	ret->user_id = "";
	return 0;
}

static int grant_scopes(struct request *rq, const struct key_body *b, struct key_record *r,
                        struct error *err)
{
	struct account_grant wanted = {.own = api_account(rq)->scopes, .names = b->scopes};
	struct member_record member;
	unsigned scopes;

	if (find_key_member(rq, b, r, &member, err) < 0)
		return -1;
	if (member.user_id[0]) {
		wanted.has_member = true;
		if (account_role_parse(member.role, &wanted.role, err) < 0)
			return -1;
		r->user_id = member.user_id;
		r->role = member.role;
	}
	if (account_scopes_grant(&wanted, &scopes, err) < 0)
		return -1;
	r->scopes = scopes;
	return 0;
}

/* The only answer with the text of a key. */
static int reply_new_key(struct request *rq, struct reply *reply, const struct key_record *r,
                         const struct account_key *key)
{
	char e2b[ACCOUNT_KEY_E2B_SIZE + 1];
	struct key_answer answer;

	fill_key_answer(rq->arena, r, &answer);
	account_key_write_e2b(key, e2b);
	answer.key = key->text;
	answer.e2b_key = e2b;
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &key_made_shape, &answer);
	return 0;
}

static int key_create(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct key_body *b = body;
	struct id id = id_new();
	struct account_key key;
	struct key_record record = {
	        .id = id.text,
	        .project_id = api_project(rq),
	        .name = b->name,
	        .made_by = api_caller_name(rq),
	        .created_at = clock_unix_ms(),
	};
	const struct account_term term = {b->expires_at, b->expires_in_ms, record.created_at};

	if (account_term_resolve(&term, &record.expires_at, err) < 0 ||
	    grant_scopes(rq, b, &record, err) < 0)
		return -1;
	account_key_generate(&key);
	record.prefix = key.prefix;
	memcpy(record.hash, key.hash, sizeof(record.hash));
	if (store_key_insert(api_of(rq)->store, &record, err) < 0)
		return -1;
	api_audit_subject(rq, record.id);
	reply_status(reply, 201);
	return reply_new_key(rq, reply, &record, &key);
}

static int key_rotate(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct key_rotate_body *b = body;
	struct api *api = api_of(rq);
	struct account_key key;
	struct key_record record;
	struct key_rotation rotation = {
	        .project_id = api_project(rq),
	        .id = request_param(rq, "key"),
	        .now = clock_unix_ms(),
	};

	rotation.until = rotation.now + b->grace_ms;
	account_key_generate(&key);
	rotation.prefix = key.prefix;
	memcpy(rotation.hash, key.hash, sizeof(rotation.hash));
	if (store_key_rotate(api->store, rq->arena, &rotation, &record, err) < 0)
		return -1;
	api_access_changed(api);
	return reply_new_key(rq, reply, &record, &key);
}

static int key_revoke(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct api *api = api_of(rq);

	(void)body;
	if (store_key_revoke(api->store, api_project(rq), request_param(rq, "key"), clock_unix_ms(),
	                     err) < 0)
		return -1;
	api_access_changed(api);
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "keys"
const struct route keys_routes[] = {
        {HTTP_GET, BASE, SCOPE_KEY_WRITE, .answer = &key_list_shape, .handle = keys_list, TAG,
         .summary = "List the project's keys, including revoked keys"},
        {HTTP_POST, BASE, SCOPE_KEY_WRITE, .body = &key_request, .answer = &key_made_shape,
         .status = 201, .handle = key_create, TAG, .summary = "Create a key"},
        {HTTP_DELETE, BASE "/:key", SCOPE_KEY_WRITE, .status = 204, .handle = key_revoke, TAG,
         .summary = "Revoke a key immediately"},
        {HTTP_POST, BASE "/:key/rotate", SCOPE_KEY_WRITE, .body = &rotate_request,
         .answer = &key_made_shape, .handle = key_rotate, TAG,
         .summary = "Replace the text of a key"},
        {.path = NULL},
};
