/* SPDX-License-Identifier: Apache-2.0 */
/* /accounts/me — the caller, identified by its key. */
#include "edge/caller.h"
#include "json/json.h"
#include "store/keys.h"
#include "store/projects.h"
#include "surface/native/routes.h"

struct me_answer {
	const char *project, *project_name, *key, *key_name, *user, *role;
	const char **scopes;
	int64_t expires_at;
};
static const struct json_member me_shape_members[] = {
        JSON_TEXT_MEMBER(me_answer, project, .about = "project that the key acts in"),
        JSON_TEXT_MEMBER(me_answer, project_name),
        JSON_TEXT_MEMBER(me_answer, key, .about = "id of the key"),
        JSON_TEXT_MEMBER(me_answer, key_name),
        JSON_TEXT_LIST_MEMBER(me_answer, scopes, .about = "current scopes of the key"),
        JSON_TEXT_MEMBER(me_answer, user, .flags = JSON_NULLABLE,
                         .about = "member that owns the key"),
        JSON_TEXT_MEMBER(me_answer, role, .flags = JSON_NULLABLE,
                         .about = "current role of the member"),
        JSON_TIME_MEMBER(me_answer, expires_at, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(me_shape, "Me", me_answer, "The caller");

static int me_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct api_caller *caller = rq->caller;
	const struct account_caller *account = &caller->account;
	struct key_record key;
	struct project_record project;
	struct me_answer out;

	(void)body;
	if (store_key_find_by_hash(api_of(rq)->store, rq->arena, caller->key_hash, &key, err) < 0 ||
	    store_project_find(api_of(rq)->store, rq->arena, account->project_id, &project, err) <
	            0)
		return -1;
	out = (struct me_answer){
	        .project = project.id,
	        .project_name = project.name,
	        .key = key.id,
	        .key_name = key.name,
	        .scopes = api_scope_names(rq->arena, account->scopes),
	        .user = key.user_id[0] ? key.user_id : NULL,
	        .role = key.role[0] ? key.role : NULL,
	        .expires_at = key.expires_at,
	};
	reply_json(reply, &me_shape, &out);
	return 0;
}

const struct route me_routes[] = {
        {HTTP_GET, "/accounts/me", SCOPE_NONE, .answer = &me_shape, .handle = me_get,
         .tag = "accounts", .summary = "Get the caller: project, key, scopes and role"},
        {.path = NULL},
};
