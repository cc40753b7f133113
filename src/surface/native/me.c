/* SPDX-License-Identifier: Apache-2.0 */
/* /accounts/me — the caller, identified by its key or its session. */
#include "edge/caller.h"
#include "json/json.h"
#include "sign_in/sign_in.h"
#include "store/keys.h"
#include "store/projects.h"
#include "surface/native/native.h"

struct me_answer {
	const char *project, *project_name, *key, *key_name, *user, *role;
	const char **scopes;
	int64_t expires_at;
};
static const struct json_member me_shape_members[] = {
        JSON_TEXT_MEMBER(me_answer, project, .about = "project that the key acts in"),
        JSON_TEXT_MEMBER(me_answer, project_name),
        JSON_TEXT_MEMBER(me_answer, key, .flags = JSON_NULLABLE,
                         .about = "id of the key; null: a session of a user"),
        JSON_TEXT_MEMBER(me_answer, key_name, .flags = JSON_NULLABLE),
        JSON_TEXT_LIST_MEMBER(me_answer, scopes, .about = "current scopes of the key or session"),
        JSON_TEXT_MEMBER(me_answer, user, .flags = JSON_NULLABLE,
                         .about = "the session's user, or the member that owns the key"),
        JSON_TEXT_MEMBER(
                me_answer, role, .flags = JSON_NULLABLE,
                .about = "current role of the member; null: none, or an admin of the server"),
        JSON_TIME_MEMBER(me_answer, expires_at, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(me_shape, "Me", me_answer, "The caller");

/* The caller's user: what is known of the key's answer stays empty. */
static int fill_user(struct request *rq, const struct user_record *user, int64_t expires_at,
                     struct me_answer *out, struct error *err)
{
	const struct membership_lookup lookup = {.email = user->email,
	                                         .is_admin = user->is_admin,
	                                         .project_id = api_project(rq),
	                                         .limit = 1};
	struct membership_list found;

	if (store_memberships(api_of(rq)->store, rq->arena, &lookup, &found, err) < 0)
		return -1;
	out->user = user->email;
	out->role = found.count && found.items[0].role[0] ? found.items[0].role : NULL;
	out->expires_at = expires_at;
	return 0;
}

static void fill_key(const struct key_record *key, struct me_answer *out)
{
	out->key = key->id;
	out->key_name = key->name;
	out->user = key->user_id[0] ? key->user_id : NULL;
	out->role = key->role[0] ? key->role : NULL;
	out->expires_at = key->expires_at;
}

static int fill_caller(struct request *rq, struct me_answer *out, struct error *err)
{
	const struct api_caller *caller = rq->caller;
	struct sign_in_found found;
	struct key_record key;

	if (!caller->is_login) {
		if (store_key_find_by_hash(api_of(rq)->store, rq->arena, caller->key_hash, &key,
		                           err) < 0)
			return -1;
		fill_key(&key, out);
		return 0;
	}
	if (sign_in_find_login(api_of(rq)->sign_in, rq->arena, caller->key_hash, &found, err) < 0)
		return -1;
	if (found.login.kind == LOGIN_USER)
		return fill_user(rq, &found.user, found.login.expires_at, out, err);
	fill_key(&found.key, out);
	return 0;
}

static int me_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct account_caller *account = api_account(rq);
	struct me_answer out = {.scopes = api_scope_names(rq->arena, account->scopes)};
	struct project_record project;

	(void)body;
	if (!account->project_id[0])
		return sign_in_refuse_without_project(err);
	if (store_project_find(api_of(rq)->store, rq->arena, account->project_id, &project, err) <
	            0 ||
	    fill_caller(rq, &out, err) < 0)
		return -1;
	out.project = project.id;
	out.project_name = project.name;
	reply_json(reply, &me_shape, &out);
	return 0;
}

const struct route me_routes[] = {
        {HTTP_GET, "/accounts/me", SCOPE_NONE, .answer = &me_shape, .handle = me_get,
         .tag = "accounts", .summary = "Get the caller: project, key, scopes and role"},
        {.path = NULL},
};
