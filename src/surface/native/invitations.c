/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/projects/:project/invitations — links by which people join a project, once. */
#include "account/password.h"
#include "base/clock.h"
#include "edge/api.h"
#include "sign_in/sign_in.h"
#include "store/invitations.h"
#include "surface/native/native.h"

#define BASE "/v1/projects/:project/invitations"

struct invitation_body {
	const char *email, *role;
};
static const struct json_member invitation_request_members[] = {
        JSON_TEXT_MEMBER(invitation_body, email, .flags = JSON_REQUIRED, .max = ACCOUNT_USER_MAX,
                         .example = "ann@example.com"),
        JSON_TEXT_MEMBER(invitation_body, role, .flags = JSON_REQUIRED, .max = 16,
                         .about = "viewer, member or admin"),
};
static JSON_SHAPE(invitation_request, "InvitationCreate", invitation_body, "Whom to invite");

struct invitation_answer {
	const char *id, *email, *role, *invited_by, *link;
	int64_t created_at, expires_at;
};
#define INVITATION_ROWS                                                                            \
	JSON_TEXT_MEMBER(invitation_answer, id), JSON_TEXT_MEMBER(invitation_answer, email),       \
	        JSON_TEXT_MEMBER(invitation_answer, role),                                         \
	        JSON_TEXT_MEMBER(invitation_answer, invited_by, .about = "a user or a key"),       \
	        JSON_TIME_MEMBER(invitation_answer, created_at),                                   \
	        JSON_TIME_MEMBER(invitation_answer, expires_at)
static const struct json_member invitation_shape_members[] = {INVITATION_ROWS};
static JSON_SHAPE(invitation_shape, "Invitation", invitation_answer, "An invitation");
static const struct json_member invitation_made_shape_members[] = {
        INVITATION_ROWS,
        JSON_TEXT_MEMBER(invitation_answer, link, .about = "works once; returned only here"),
};
static JSON_SHAPE(invitation_made_shape, "InvitationMade", invitation_answer,
                  "An invitation, with its link");
static const struct json_member invitation_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &invitation_shape),
};
static JSON_SHAPE(invitation_list_shape, "InvitationList", list_answer, "Invitations");

static struct invitation_answer make_invitation_answer(const struct invitation_record *r)
{
	return (struct invitation_answer){.id = r->id,
	                                  .email = r->email,
	                                  .role = r->role,
	                                  .invited_by = r->invited_by,
	                                  .created_at = r->created_at,
	                                  .expires_at = r->expires_at};
}

static int invitations_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	struct invitation_list found;
	struct invitation_answer *items;
	const char *project;

	if (api_path_project(rq, &project, err) < 0 ||
	    store_invitation_list(api_of(rq)->store, rq->arena, project, clock_unix_ms(), &found,
	                          err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct invitation_answer, found.count);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_invitation_answer(&found.items[i]);
	reply_list(reply, &invitation_list_shape, items, found.count);
	return 0;
}

static int invitation_create(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	const struct invitation_body *b = body;
	const struct api *api = api_of(rq);
	char email[ACCOUNT_USER_MAX + 1];
	struct invitation_record record = {.email = email, .invited_by = api_caller_name(rq)};
	struct invitation_answer out;
	struct sign_in_token token;
	enum account_role role;

	if (account_role_parse(b->role, &role, err) < 0 ||
	    account_email_parse(b->email, email, err) < 0 ||
	    api_path_project(rq, &record.project_id, err) < 0)
		return -1;
	record.role = account_role_name(role);
	if (sign_in_invite(api->sign_in, rq->arena, &record, &token, err) < 0)
		return -1;
	api_audit_subject(rq, email);
	out = make_invitation_answer(&record);
	out.link = sign_in_join_link(rq->arena, api_public_address(rq), &token);
	reply_status(reply, 201);
	reply_header(reply, "Cache-Control", "no-store");
	reply_json(reply, &invitation_made_shape, &out);
	return 0;
}

static int invitation_remove(struct request *rq, UNUSED const void *body, struct reply *reply,
                             struct error *err)
{
	const char *project;

	if (api_path_project(rq, &project, err) < 0 ||
	    store_invitation_remove(api_of(rq)->store, project, request_param(rq, "invitation"),
	                            err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "members"
const struct route invitations_routes[] = {
        {HTTP_GET, BASE, SCOPE_PROJECT_WRITE, .answer = &invitation_list_shape,
         .handle = invitations_list, TAG, .summary = "List a project's open invitations"},
        {HTTP_POST, BASE, SCOPE_PROJECT_WRITE, .body = &invitation_request,
         .answer = &invitation_made_shape, .status = 201, .handle = invitation_create, TAG,
         .summary = "Invite a person by a link; a newer link replaces an older one"},
        {HTTP_DELETE, BASE "/:invitation", SCOPE_PROJECT_WRITE, .status = 204,
         .handle = invitation_remove, TAG, .summary = "Withdraw an invitation"},
        {.path = NULL},
};
