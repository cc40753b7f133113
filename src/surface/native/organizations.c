/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/organizations — organisations above projects, and their members. An admin of the server makes
 * and deletes them; their owners and admins manage members, in a session of a browser. */
#include "store/organizations.h"

#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "edge/access_watch.h"
#include "edge/api.h"
#include "surface/native/native.h"
#include "surface/native/user_name.h"

#define BASE "/v1/organizations"
#define MEMBERS BASE "/:organization/members"

enum organization_role { ORGANIZATION_MEMBER, ORGANIZATION_ADMIN, ORGANIZATION_OWNER };
static const char *const role_names[] = {"member", "admin", "owner", NULL};

struct organization_body {
	const char *id, *name, *owner;
	int64_t created_at;
};
static const struct json_member organization_request_members[] = {
        JSON_TEXT_MEMBER(organization_body, name, .flags = JSON_REQUIRED, .min = 1, .max = 100),
        JSON_TEXT_MEMBER(organization_body, owner, .flags = JSON_REQUIRED, .max = ACCOUNT_USER_MAX,
                         .about = "address of the user that becomes the first owner",
                         .example = "ann@example.com"),
};
static JSON_SHAPE(organization_request, "OrganizationCreate", organization_body,
                  "An organisation to make");
static const struct json_member organization_change_members[] = {
        JSON_TEXT_MEMBER(organization_body, name, .flags = JSON_REQUIRED, .min = 1, .max = 100),
};
static JSON_SHAPE(organization_change, "OrganizationChange", organization_body, "A new name");
static const struct json_member organization_shape_members[] = {
        JSON_TEXT_MEMBER(organization_body, id),
        JSON_TEXT_MEMBER(organization_body, name),
        JSON_TIME_MEMBER(organization_body, created_at, .flags = JSON_NULLABLE,
                         .about = "null: it came with the server"),
};
static JSON_SHAPE(organization_shape, "Organization", organization_body, "Owns projects");
static const struct json_member organization_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &organization_shape),
};
static JSON_SHAPE(organization_list_shape, "OrganizationList", list_answer, "Organisations");

struct organization_member_body {
	const char *user;
	int role;
	int64_t created_at;
};
#define ROLE_ROW                                                                                   \
	JSON_CHOICE_MEMBER(organization_member_body, role, .flags = JSON_REQUIRED,                 \
	                   .choices = role_names,                                                  \
	                   .about = "owner and admin administer every project of the "             \
	                            "organisation; an owner manages owners and admins")
static const struct json_member organization_member_request_members[] = {
        JSON_TEXT_MEMBER(organization_member_body, user, .flags = JSON_REQUIRED,
                         .max = ACCOUNT_USER_MAX, .example = "ann@example.com"),
        ROLE_ROW,
};
static JSON_SHAPE(organization_member_request, "OrganizationMemberPut", organization_member_body,
                  "A member to add, or whose role to change");
static const struct json_member organization_member_shape_members[] = {
        JSON_TEXT_MEMBER(organization_member_body, user),
        ROLE_ROW,
        JSON_TIME_MEMBER(organization_member_body, created_at),
};
static JSON_SHAPE(organization_member_shape, "OrganizationMember", organization_member_body,
                  "A user with a role in the organisation");
static const struct json_member organization_member_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &organization_member_shape),
};
static JSON_SHAPE(organization_member_list_shape, "OrganizationMemberList", list_answer, "Members");

static int role_of(const char *name)
{
	for (int i = 0; role_names[i]; i++)
		if (strcmp(role_names[i], name) == 0)
			return i;
	return ORGANIZATION_MEMBER;
}

/* A user in no project sees organisations, too. Any other caller needs a scope. */
static int require_sight(const struct request *rq, struct error *err)
{
	return api_project(rq)[0] ? api_require(rq, SCOPE_SANDBOX_READ, err) : 0;
}

/* The organisation of the path, for a caller with this role or more. Others do not see it. A key of
 * a member has the scopes that it was given, and none over the organisation. */
static int open_organization(struct request *rq, enum organization_role least,
                             struct organization_record *ret, struct error *err)
{
	const char *id = request_param(rq, "organization");
	const struct account_caller *caller = api_account(rq);
	struct store *store = api_of(rq)->store;
	struct organization_member member;

	if (require_sight(rq, err) < 0)
		return -1;
	if (!(caller->scopes & SCOPE_ADMIN)) {
		if (!caller->is_login || !caller->user_id[0] ||
		    store_organization_member_find(store, rq->arena, id, caller->user_id, &member,
		                                   err) < 0)
			return FAIL_MISSING(err, "organization", id);
		if (role_of(member.role) < (int)least)
			return FAIL(err, ERROR_FORBIDDEN,
			            "your role in the organization is '%s', '%s' is needed",
			            member.role, role_names[least]);
	}
	return store_organization_find(store, rq->arena, id, ret, err);
}

static int reply_organization(struct reply *reply, const struct organization_record *r)
{
	const struct organization_body out = {
	        .id = r->id, .name = r->name, .created_at = r->created_at};

	reply_json(reply, &organization_shape, &out);
	return 0;
}

static int organizations_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                              struct error *err)
{
	const struct account_caller *caller = api_account(rq);
	const char *user = caller->is_login && caller->user_id ? caller->user_id : "";
	struct organization_list found;
	struct organization_body *items;

	if (require_sight(rq, err) < 0 ||
	    store_organization_list(api_of(rq)->store, rq->arena,
	                            caller->scopes & SCOPE_ADMIN ? NULL : user, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct organization_body, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = (struct organization_body){.id = found.items[i].id,
		                                      .name = found.items[i].name,
		                                      .created_at = found.items[i].created_at};
	reply_list(reply, &organization_list_shape, items, found.count);
	return 0;
}

static int organization_create(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct organization_body *b = body;
	struct id id = id_new();
	const struct organization_record r = {
	        .id = id.text, .name = b->name, .created_at = clock_unix_ms()};
	const char *owner;

	if (user_name_parse(rq, b->owner, &owner, err) < 0 ||
	    store_organization_insert(api_of(rq)->store, &r, owner, err) < 0)
		return -1;
	api_audit_subject(rq, r.id);
	reply_status(reply, 201);
	return reply_organization(reply, &r);
}

static int organization_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	struct organization_record r;

	if (open_organization(rq, ORGANIZATION_MEMBER, &r, err) < 0)
		return -1;
	return reply_organization(reply, &r);
}

static int organization_rename(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct organization_body *b = body;
	struct organization_record r;

	if (open_organization(rq, ORGANIZATION_OWNER, &r, err) < 0)
		return -1;
	r.name = b->name;
	r.updated_at = clock_unix_ms();
	if (store_organization_rename(api_of(rq)->store, &r, err) < 0)
		return -1;
	return reply_organization(reply, &r);
}

static int organization_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                               struct error *err)
{
	if (store_organization_remove(api_of(rq)->store, request_param(rq, "organization"), err) <
	    0)
		return -1;
	api_access_changed(api_of(rq));
	reply_status(reply, 204);
	return 0;
}

static int organization_members_list(struct request *rq, UNUSED const void *body,
                                     struct reply *reply, struct error *err)
{
	struct organization_member_list found;
	struct organization_member_body *items;
	struct organization_record r;

	if (open_organization(rq, ORGANIZATION_MEMBER, &r, err) < 0 ||
	    store_organization_member_list(api_of(rq)->store, rq->arena, r.id, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct organization_member_body, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = (struct organization_member_body){found.items[i].user_id,
		                                             role_of(found.items[i].role),
		                                             found.items[i].created_at};
	reply_list(reply, &organization_member_list_shape, items, found.count);
	return 0;
}

/* What a change needs: an owner for a role above member, before or after. */
static enum organization_role needed_role(struct request *rq, const char *user, int role)
{
	struct organization_member present;
	struct error ignored;

	if (store_organization_member_find(api_of(rq)->store, rq->arena,
	                                   request_param(rq, "organization"), user, &present,
	                                   &ignored) == 0 &&
	    role_of(present.role) > role)
		role = role_of(present.role);
	return role > ORGANIZATION_MEMBER ? ORGANIZATION_OWNER : ORGANIZATION_ADMIN;
}

static int organization_member_set(struct request *rq, const void *body, struct reply *reply,
                                   struct error *err)
{
	const struct organization_member_body *b = body;
	struct organization_member_body out = {b->user, b->role, clock_unix_ms()};
	struct organization_record r;
	struct organization_member member = {.role = role_names[b->role],
	                                     .created_at = out.created_at,
	                                     .updated_at = out.created_at};

	if (user_name_parse(rq, b->user, &member.user_id, err) < 0 ||
	    open_organization(rq, needed_role(rq, member.user_id, b->role), &r, err) < 0)
		return -1;
	out.user = member.user_id;
	member.organization_id = r.id;
	if (store_organization_member_put(api_of(rq)->store, &member, err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	api_audit_subject(rq, member.user_id);
	reply_json(reply, &organization_member_shape, &out);
	return 0;
}

static int organization_member_drop(struct request *rq, UNUSED const void *body,
                                    struct reply *reply, struct error *err)
{
	struct organization_record r;
	struct organization_member member = {.user_id = user_name_of_path(rq)};

	if (open_organization(rq, needed_role(rq, member.user_id, ORGANIZATION_MEMBER), &r, err) <
	    0)
		return -1;
	member.organization_id = r.id;
	if (store_organization_member_remove(api_of(rq)->store, &member, err) < 0)
		return -1;
	api_access_changed(api_of(rq));
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "organizations"
const struct route organizations_routes[] = {
        {HTTP_GET, BASE, SCOPE_NONE, .answer = &organization_list_shape,
         .handle = organizations_list, TAG,
         .summary = "List the session's organisations; all with the scope admin"},
        {HTTP_POST, BASE, SCOPE_ADMIN, .body = &organization_request, .answer = &organization_shape,
         .status = 201, .handle = organization_create, TAG, .summary = "Make an organisation"},
        {HTTP_GET, BASE "/:organization", SCOPE_NONE, .answer = &organization_shape,
         .handle = organization_get, TAG, .summary = "Get an organisation"},
        {HTTP_PATCH, BASE "/:organization", SCOPE_PROJECT_WRITE, .body = &organization_change,
         .answer = &organization_shape, .handle = organization_rename, TAG,
         .summary = "Rename an organisation, as its owner"},
        {HTTP_DELETE, BASE "/:organization", SCOPE_ADMIN, .status = 204,
         .handle = organization_delete, TAG, .summary = "Delete an organisation without projects"},
        {HTTP_GET, MEMBERS, SCOPE_NONE, .answer = &organization_member_list_shape,
         .handle = organization_members_list, TAG, .summary = "List an organisation's members"},
        {HTTP_PUT, MEMBERS, SCOPE_PROJECT_WRITE, .body = &organization_member_request,
         .answer = &organization_member_shape, .handle = organization_member_set, TAG,
         .summary = "Add a member to an organisation, or change the role"},
        {HTTP_DELETE, MEMBERS "/:user", SCOPE_PROJECT_WRITE, .status = 204,
         .handle = organization_member_drop, TAG,
         .summary = "Remove a member from an organisation"},
        {.path = NULL},
};
