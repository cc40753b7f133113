/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/consents — which credentials persons allowed in sandboxes; and the end of it. */
#include "base/clock.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "grant/grant.h"
#include "json/json.h"
#include "store/consents.h"
#include "store/sandbox_record.h"
#include "surface/tools/routes.h"
#include "http/server/http.h"

struct consent_answer {
	const char *id, *sandbox, *conversation, *credential, *hosts, *state, *approval,
	        *decided_by;
	int64_t version, expires_at, revoked_at, created_at;
};
static const char *const consent_states[] = {"active", "expired", "revoked", NULL};
static const struct json_member consent_shape_members[] = {
        JSON_TEXT_MEMBER(consent_answer, id),
        JSON_TEXT_MEMBER(consent_answer, sandbox, .name = "sandboxId"),
        JSON_TEXT_MEMBER(consent_answer, conversation, .name = "conversationId",
                         .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(consent_answer, credential),
        JSON_WHOLE_MEMBER(consent_answer, version, .about = "of the credential"),
        JSON_TEXT_MEMBER(consent_answer, hosts, .about = "separated by blanks"),
        JSON_TEXT_MEMBER(consent_answer, state, .choices = consent_states),
        JSON_TEXT_MEMBER(consent_answer, approval, .name = "approvalId", .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(consent_answer, decided_by, .name = "decidedBy"),
        JSON_TIME_MEMBER(consent_answer, expires_at, .name = "expiresAt", .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(consent_answer, revoked_at, .name = "revokedAt", .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(consent_answer, created_at, .name = "createdAt"),
};
static JSON_SHAPE(consent_shape, "Consent", consent_answer,
                  "A person's consent to the use of a credential in a sandbox");
struct consent_items {
	struct json_list items;
};
static const struct json_member consent_list_shape_members[] = {
        JSON_LIST_MEMBER(consent_items, items, &consent_shape),
};
static JSON_SHAPE(consent_list_shape, "ConsentList", consent_items, "Consents, newest first");
struct consent_query {
	const char *sandbox, *conversation, *credential;
};
static const struct json_member consent_query_members[] = {
        JSON_TEXT_MEMBER(consent_query, sandbox, .max = 128, .about = "id or name (default: any)"),
        JSON_TEXT_MEMBER(consent_query, conversation, .max = 256, .about = "default: any"),
        JSON_TEXT_MEMBER(consent_query, credential, .max = 64, .about = "name (default: any)"),
};
static JSON_SHAPE(consent_query, "ConsentQuery", consent_query, "Which consents");

static const char *state_of(const struct consent_record *r)
{
	if (r->revoked_at)
		return consent_states[2];
	return consent_states[r->expires_at && r->expires_at <= clock_unix_ms()];
}

static struct consent_answer answer_of(const struct consent_record *r)
{
	return (struct consent_answer){
	        .id = r->id,
	        .sandbox = r->sandbox_id,
	        .conversation = text_or_null(r->conversation_id),
	        .credential = r->credential_name,
	        .version = r->credential_version,
	        .hosts = r->hosts,
	        .state = state_of(r),
	        .approval = text_or_null(r->approval_id),
	        .decided_by = r->decided_by,
	        .expires_at = r->expires_at,
	        .revoked_at = r->revoked_at,
	        .created_at = r->created_at,
	};
}

static int consents_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	const struct consent_query *q = rq->query;
	const struct fleet_ref filter = {.project_id = api_project(rq), .id_or_name = q->sandbox};
	struct consent_ref ref = {.project_id = api_project(rq),
	                          .conversation_id = q->conversation,
	                          .credential_name = q->credential};
	struct consent_answer *items;
	struct consent_items out;
	struct consent_list found;

	if (api_resolve_sandbox_id(rq, &filter, &ref.sandbox_id, err) < 0 ||
	    store_consent_list(api_of(rq)->store, rq->arena, &ref, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct consent_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = answer_of(&found.items[i]);
	out.items = (struct json_list){items, found.count, true};
	reply_json(reply, &consent_list_shape, &out);
	return 0;
}

struct consents_revoked {
	int64_t revoked;
};
static const struct json_member revoked_shape_members[] = {
        JSON_WHOLE_MEMBER(consents_revoked, revoked, .about = "number of consents that ended"),
};
static JSON_SHAPE(revoked_shape, "ConsentsRevoked", consents_revoked, "What was revoked");

/* Holds when the answer comes: the proxy has new sets by then. */
static int revoke_consents(struct request *rq, struct consent_ref *ref, struct reply *reply,
                           struct error *err)
{
	struct consents_revoked out;
	int count;

	ref->project_id = api_project(rq);
	ref->credential_name = request_param(rq, "credential");
	ref->now = clock_unix_ms();
	count = store_consent_revoke(api_of(rq)->store, ref, err);
	if (count < 0 || grants_refresh(api_of(rq)->grants, err) < 0)
		return -1;
	out.revoked = count;
	reply_json(reply, &revoked_shape, &out);
	return 0;
}

static int conversation_revoke(struct request *rq, UNUSED const void *body, struct reply *reply,
                               struct error *err)
{
	struct consent_ref ref = {.conversation_id = request_param(rq, "conversation")};

	return revoke_consents(rq, &ref, reply, err);
}

static int sandbox_revoke(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct fleet_ref sandbox = api_path_ref(rq);
	struct sandbox_record record;
	struct consent_ref ref = {.sandbox_id = NULL};

	if (fleet_find(api_of(rq)->fleet, rq->arena, &sandbox, &record, err) < 0)
		return -1;
	ref.sandbox_id = record.id;
	return revoke_consents(rq, &ref, reply, err);
}

#define TAG .tag = "credentials"
const struct route consents_routes[] = {
        {HTTP_GET, "/v1/consents", SCOPE_SANDBOX_READ, .query = &consent_query,
         .answer = &consent_list_shape, .handle = consents_list, TAG,
         .summary = "List the consents to credentials"},
        {HTTP_POST, "/v1/conversations/:conversation/credentials/:credential/revoke",
         SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &revoked_shape, .handle = conversation_revoke,
         TAG, .summary = "End a conversation's use of a credential, immediately"},
        {HTTP_POST, "/api/sandbox/instances/:id/credentials/:credential/revoke",
         SCOPE_SANDBOX_WRITE, ROUTE_SLOW, .answer = &revoked_shape, .handle = sandbox_revoke, TAG,
         .summary = "End a sandbox's use of a credential, immediately"},
        {.path = NULL},
};
