/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/projects/:project/members — users and their roles in a project. */
#include <string.h>

#include "base/clock.h"
#include "edge/access_watch.h"
#include "edge/api.h"
#include "store/members.h"
#include "surface/native/native.h"
#include "surface/native/user_name.h"

struct member_record;

#define BASE "/v1/projects/:project/members"

struct member_body {
	const char *user, *role;
	int64_t created_at, updated_at;
};
static const struct json_member member_request_members[] = {
        JSON_TEXT_MEMBER(member_body, user, .flags = JSON_REQUIRED, .max = ACCOUNT_USER_MAX,
                         .about = "id, compared exactly, or e-mail address, kept in lower "
                                  "case",
                         .example = "ann@example.com"),
        JSON_TEXT_MEMBER(member_body, role, .flags = JSON_REQUIRED, .max = 16,
                         .about = "viewer, member or admin"),
};
static JSON_SHAPE(member_request, "MemberAdd", member_body, "A member to add");
static const struct json_member role_request_members[] = {
        JSON_TEXT_MEMBER(member_body, role, .flags = JSON_REQUIRED, .max = 16,
                         .about = "viewer, member or admin"),
};
static JSON_SHAPE(role_request, "MemberChange", member_body, "A member's new role");
static const struct json_member member_shape_members[] = {
        JSON_TEXT_MEMBER(member_body, user),
        JSON_TEXT_MEMBER(member_body, role),
        JSON_TIME_MEMBER(member_body, created_at),
        JSON_TIME_MEMBER(member_body, updated_at),
};
static JSON_SHAPE(member_shape, "Member", member_body, "A user with a role in the project");

static const struct json_member member_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &member_shape),
};
static JSON_SHAPE(member_list_shape, "MemberList", list_answer, "Members");

static struct member_body make_member_answer(const struct member_record *r)
{
	return (struct member_body){r->user_id, r->role, r->created_at, r->updated_at};
}

static int members_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct member_list found;
	struct member_body *items;
	const char *project;

	(void)body;
	if (api_path_project(rq, &project, err) < 0 ||
	    store_member_list(api_of(rq)->store, rq->arena, project, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct member_body, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_member_answer(&found.items[i]);
	reply_list(reply, &member_list_shape, items, found.count);
	return 0;
}

/* Fills a record from the path and the role. */
static int parse_member(struct request *rq, const struct member_body *b, struct member_record *ret,
                        struct error *err)
{
	enum account_role role;

	*ret = (struct member_record){.created_at = clock_unix_ms()};
	ret->updated_at = ret->created_at;
	if (account_role_parse(b->role, &role, err) < 0 ||
	    api_path_project(rq, &ret->project_id, err) < 0)
		return -1;
	ret->role = account_role_name(role);
	return 0;
}

static int member_add(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct member_body *b = body;
	struct member_record record;
	struct member_body out;

	if (parse_member(rq, b, &record, err) < 0 ||
	    user_name_parse(rq, b->user, &record.user_id, err) < 0)
		return -1;
	if (store_member_insert(api_of(rq)->store, &record, err) < 0)
		return -1;
	api_audit_subject(rq, record.user_id);
	out = make_member_answer(&record);
	reply_status(reply, 201);
	reply_json(reply, &member_shape, &out);
	return 0;
}

static int member_change(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	struct member_record record;
	struct member_body out;

	if (parse_member(rq, body, &record, err) < 0)
		return -1;
	record.user_id = user_name_of_path(rq);
	if (store_member_set_role(api_of(rq)->store, &record, err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	if (store_member_find(api_of(rq)->store, rq->arena, record.project_id, record.user_id,
	                      &record, err) < 0)
		return -1;
	api_audit_subject(rq, record.role);
	out = make_member_answer(&record);
	reply_json(reply, &member_shape, &out);
	return 0;
}

/* A row from before addresses were kept in lower case is found by its exact text. */
static int remove_named(struct request *rq, const char *project, struct error *err)
{
	const char *exact = request_param(rq, "user"), *name = user_name_of_path(rq);
	struct store *store = api_of(rq)->store;
	int64_t now = clock_unix_ms();

	if (store_member_remove(store, project, name, now, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND || strcmp(exact, name) == 0)
		return -1;
	return store_member_remove(store, project, exact, now, err);
}

static int member_remove(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const char *project;

	(void)body;
	if (api_path_project(rq, &project, err) < 0 || remove_named(rq, project, err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "members"
const struct route members_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &member_list_shape, .handle = members_list,
         TAG, .summary = "List a project's members"},
        {HTTP_POST, BASE, SCOPE_PROJECT_WRITE, .body = &member_request, .answer = &member_shape,
         .status = 201, .handle = member_add, TAG, .summary = "Add a member"},
        {HTTP_PATCH, BASE "/:user", SCOPE_PROJECT_WRITE, .body = &role_request,
         .answer = &member_shape, .handle = member_change, TAG,
         .summary = "Change a member's role; the scopes of the member's keys follow it"},
        {HTTP_DELETE, BASE "/:user", SCOPE_PROJECT_WRITE, .status = 204, .handle = member_remove,
         TAG, .summary = "Remove a member and revoke the member's keys"},
        {.path = NULL},
};
