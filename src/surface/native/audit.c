/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/audit — the rows of the audit in pages, exports that verify without a server, and the key
 * that signs checkpoints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/log/log.h"
#include "edge/api.h"
#include "http/server/http.h"
#include "json/json.h"
#include "json/write.h"
#include "store/organizations.h"
#include "surface/native/audit_export.h"
#include "surface/native/native.h"

#define LIMIT_USUAL 100
#define LIMIT_MAX 1000
#define EXPORT_TYPE "application/x-ndjson"

static const char *const results[] = {"ok", "refused", "failed", "interrupted", NULL};

struct audit_item {
	int64_t sequence, at, status;
	const char *id, *server, *version, *project, *user, *key, *via, *address, *user_agent,
	        *action, *method, *path, *target_kind, *target, *conversation, *result, *request_id,
	        *hash;
	struct span before, after;
};
static const struct json_member audit_item_shape_members[] = {
        JSON_WHOLE_MEMBER(audit_item, sequence, .about = "number in the chain, without gaps"),
        JSON_TIME_MEMBER(audit_item, at),
        JSON_TEXT_MEMBER(audit_item, id),
        JSON_TEXT_MEMBER(audit_item, server, .about = "node that served the request"),
        JSON_TEXT_MEMBER(audit_item, version, .about = "of that server"),
        JSON_TEXT_MEMBER(audit_item, project),
        JSON_TEXT_MEMBER(audit_item, user),
        JSON_TEXT_MEMBER(audit_item, key, .about = "id of the key, or of the user of a session"),
        JSON_TEXT_MEMBER(audit_item, via,
                         .about = "key, session, link, token (of a sandbox or volume), sandbox "
                                  "(that uses a credential), public or "
                                  "system"),
        JSON_TEXT_MEMBER(audit_item, address),
        JSON_TEXT_MEMBER(audit_item, user_agent),
        JSON_TEXT_MEMBER(audit_item, action, .example = "instances.exec"),
        JSON_TEXT_MEMBER(audit_item, method),
        JSON_TEXT_MEMBER(audit_item, path),
        JSON_TEXT_MEMBER(audit_item, target_kind),
        JSON_TEXT_MEMBER(audit_item, target),
        JSON_TEXT_MEMBER(audit_item, conversation),
        JSON_TEXT_MEMBER(audit_item, result, .about = "ok, refused, failed or interrupted"),
        JSON_WHOLE_MEMBER(audit_item, status, .about = "of HTTP; 0: none"),
        JSON_TEXT_MEMBER(audit_item, request_id),
        JSON_RAW_MEMBER(audit_item, before, .flags = JSON_NULLABLE,
                        .about = "changed members of rows before; secrets are masked"),
        JSON_RAW_MEMBER(audit_item, after, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(audit_item, hash),
};
static JSON_SHAPE(audit_item_shape, "AuditRow", audit_item, "An event of the audit");

struct audit_answer {
	struct json_list items;
	int64_t next, oldest;
};
static const struct json_member audit_answer_shape_members[] = {
        JSON_LIST_MEMBER(audit_answer, items, &audit_item_shape),
        JSON_WHOLE_MEMBER(audit_answer, next,
                          .about = "value of before (or after) for the next page; 0: no page "
                                   "follows"),
        JSON_WHOLE_MEMBER(audit_answer, oldest,
                          .about = "rows up to this number were dropped by the retention"),
};
static JSON_SHAPE(audit_answer_shape, "AuditList", audit_answer, "Rows of the audit");

struct audit_query {
	int64_t after, before, limit, since, until;
	const char *organization, *user, *key, *target, *request, *action;
	int result;
	bool all;
	uint64_t present;
};
enum { AUDIT_AFTER, AUDIT_RESULT };
#define FILTER_ROWS                                                                                \
	[AUDIT_RESULT] = JSON_CHOICE_MEMBER(audit_query, result, .choices = results),              \
	JSON_BOOL_MEMBER(audit_query, all,                                                         \
	                 .about = "rows of all projects and of the server; for its operator"),     \
	JSON_TEXT_MEMBER(audit_query, organization, .min = 1, .max = 128,                          \
	                 .about = "rows of all its projects; for its owners and admins"),          \
	JSON_TEXT_MEMBER(audit_query, user, .min = 1, .max = 128),                                 \
	JSON_TEXT_MEMBER(audit_query, key, .min = 1, .max = 128, .about = "id of a key"),          \
	JSON_TEXT_MEMBER(audit_query, target, .min = 1, .max = 256,                                \
	                 .about = "id of a sandbox, a project, a user, …"),                        \
	JSON_TEXT_MEMBER(audit_query, request, .min = 1, .max = 64, .about = "X-Request-Id"),      \
	JSON_TEXT_MEMBER(audit_query, action, .min = 1, .max = 128,                                \
	                 .about = "an action, or its begin and *", .example = "projects.*"),       \
	JSON_TIME_MEMBER(audit_query, since), JSON_TIME_MEMBER(audit_query, until)
static const struct json_member audit_query_shape_members[] = {
        [AUDIT_AFTER] = JSON_WHOLE_MEMBER(audit_query, after, .min = 0,
                                          .about = "rows after this number, the oldest first; "
                                                   "without it the newest come first"),
        FILTER_ROWS,
        JSON_WHOLE_MEMBER(audit_query, before, .min = 0, .about = "rows before this number"),
        JSON_WHOLE_MEMBER(audit_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "rows per page (default 100)"),
};
static JSON_BITS_SHAPE(audit_query_shape, "AuditQuery", audit_query, "Filter of the audit");
static const struct json_member audit_export_query_members[] = {
        [AUDIT_AFTER] = JSON_WHOLE_MEMBER(audit_query, after, .min = 0,
                                          .about = "value of the header Atoll-Next-Page; without "
                                                   "it an export begins"),
        FILTER_ROWS,
        JSON_WHOLE_MEMBER(audit_query, before, .name = "from", .min = 0,
                          .about = "begin at the last checkpoint before this row"),
};
static JSON_BITS_SHAPE(audit_export_query, "AuditExportQuery", audit_query, "Filter of an export");

/* Its owners and admins, in a session; the server's operator. */
static int check_organization(struct request *rq, const char *id, struct error *err)
{
	const struct account_caller *caller = api_account(rq);
	struct organization_member member;

	if (caller->scopes & SCOPE_ADMIN)
		return 0;
	if (!caller->is_login || !caller->user_id[0] ||
	    store_organization_member_find(api_of(rq)->store, rq->arena, id, caller->user_id,
	                                   &member, err) < 0)
		return FAIL_MISSING(err, "organization", id);
	if (strcmp(member.role, "member") == 0)
		return FAIL(err, ERROR_FORBIDDEN,
		            "your role in the organization is 'member', 'admin' is needed");
	return 0;
}

static int make_filter(struct request *rq, struct audit_filter *ret, struct error *err)
{
	const struct audit_query *q = rq->query;

	if (q->all && q->organization)
		return FAIL(err, ERROR_INVALID, "all cannot be combined with organization");
	if (q->all && api_require(rq, SCOPE_ADMIN, err) < 0)
		return -1;
	if (q->organization ? check_organization(rq, q->organization, err) < 0
	                    : !q->all && api_require(rq, SCOPE_PROJECT_WRITE, err) < 0)
		return -1;
	*ret = (struct audit_filter){
	        .project_id = q->all || q->organization ? NULL : api_visible_project(rq),
	        .organization_id = q->organization,
	        .user_id = q->user,
	        .key_id = q->key,
	        .target_id = q->target,
	        .request_id = q->request,
	        .result = row_is_given(q->present, AUDIT_RESULT) ? results[q->result] : NULL,
	        .pattern = q->action,
	        .since = q->since,
	        .until = q->until,
	};
	return 0;
}

static const char *hex_of(struct arena *a, const unsigned char *bytes, size_t size)
{
	char *hex = arena_alloc(a, 2 * size + 1);

	hex_encode(bytes, size, hex);
	return hex;
}

static struct audit_item item_of(struct arena *a, const struct audit_record *record)
{
	const struct audit_row *r = &record->row;

	return (struct audit_item){
	        .sequence = r->sequence,
	        .at = r->at,
	        .status = r->status,
	        .id = r->id,
	        .server = r->node,
	        .version = r->version,
	        .project = r->project_id,
	        .user = r->user_id,
	        .key = r->key_id,
	        .via = r->via,
	        .address = r->address,
	        .user_agent = r->user_agent,
	        .action = r->action,
	        .method = r->method,
	        .path = r->path,
	        .target_kind = r->target_kind,
	        .target = r->target_id,
	        .conversation = r->conversation,
	        .result = r->result,
	        .request_id = r->request_id,
	        .hash = hex_of(a, record->hash, AUDIT_HASH_SIZE),
	        .before = span_of(r->before_json),
	        .after = span_of(r->after_json),
	};
}

static int audit_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	const struct audit_query *q = rq->query;
	bool is_oldest_first = row_is_given(q->present, AUDIT_AFTER);
	struct audit_page page = {.after = q->after,
	                          .before = q->before,
	                          .limit = q->limit ? q->limit : LIMIT_USUAL,
	                          .newest = !is_oldest_first};
	struct audit_answer out = {.next = 0};
	struct audit_head head;
	struct audit_list found;
	struct audit_item *items;

	if (make_filter(rq, &page.filter, err) < 0 ||
	    store_audit_head(api_of(rq)->store, rq->arena, &head, err) < 0 ||
	    store_audit_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct audit_item, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = item_of(rq->arena, &found.items[i]);
	out.items = (struct json_list){items, found.count, true};
	out.oldest = head.base;
	if ((int64_t)found.count == page.limit)
		out.next = items[found.count - 1].sequence;
	reply_json(reply, &audit_answer_shape, &out);
	return 0;
}

static int find_log(struct request *rq, struct audit_log **ret, struct error *err)
{
	*ret = api_of(rq)->audit;
	return *ret ? 0 : FAIL(err, ERROR_UNAVAILABLE, "this server keeps no audit");
}

static int audit_export_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	const struct audit_query *q = rq->query;
	bool begins = !row_is_given(q->present, AUDIT_AFTER);
	struct audit_export export = {.arena = rq->arena,
	                              .store = api_of(rq)->store,
	                              .begins = begins,
	                              .after = begins ? 0 : q->after,
	                              .from = q->before};
	char next[24];

	if (make_filter(rq, &export.filter, err) < 0 || find_log(rq, &export.log, err) < 0)
		return -1;
	export.out = reply_buf(reply, EXPORT_TYPE);
	if (audit_export_write(&export, err) < 0)
		return -1;
	if (begins)
		api_audit_event(rq, "audit.export");
	if (export.next == 0)
		return 0;
	(void)snprintf(next, sizeof(next), "%" PRId64, export.next);
	reply_header(reply, "Atoll-Next-Page", next);
	return 0;
}

struct audit_key_answer {
	const char *chain, *key, *hash, *signature;
	int64_t sequence, checkpoint, checkpoint_at, oldest;
};
static const struct json_member audit_key_shape_members[] = {
        JSON_TEXT_MEMBER(audit_key_answer, chain, .about = "id of the chain"),
        JSON_TEXT_MEMBER(audit_key_answer, key, .about = "public key, Ed25519, hexadecimal"),
        JSON_WHOLE_MEMBER(audit_key_answer, sequence, .about = "of the newest row"),
        JSON_WHOLE_MEMBER(audit_key_answer, oldest,
                          .about = "rows up to this number were dropped by the retention"),
        JSON_WHOLE_MEMBER(audit_key_answer, checkpoint,
                          .about = "row of the newest checkpoint; 0: none"),
        JSON_TIME_MEMBER(audit_key_answer, checkpoint_at, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(audit_key_answer, hash, .about = "of that row"),
        JSON_TEXT_MEMBER(audit_key_answer, signature),
};
static JSON_SHAPE(audit_key_shape, "AuditKey", audit_key_answer,
                  "The key that signs the audit, and the newest checkpoint");

static int audit_key_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	unsigned char key[AUDIT_KEY_SIZE];
	struct audit_checkpoint_record c = {0};
	struct audit_head head;
	struct audit_log *log;
	bool found;

	if (find_log(rq, &log, err) < 0 || audit_log_key(log, key, err) < 0 ||
	    store_audit_head(api_of(rq)->store, rq->arena, &head, err) < 0 ||
	    store_audit_checkpoint_before(api_of(rq)->store, rq->arena, head.sequence + 1, &c,
	                                  &found, err) < 0)
		return -1;
	reply_json(reply, &audit_key_shape,
	           &(struct audit_key_answer){
	                   .chain = head.chain,
	                   .key = hex_of(rq->arena, key, sizeof(key)),
	                   .sequence = head.sequence,
	                   .oldest = head.base,
	                   .checkpoint = found ? c.sequence : 0,
	                   .checkpoint_at = found ? c.at : 0,
	                   .hash = found ? hex_of(rq->arena, c.hash, AUDIT_HASH_SIZE) : "",
	                   .signature = found ? c.signature : "",
	           });
	return 0;
}

const struct route audit_routes[] = {
        {HTTP_GET, "/v1/audit", SCOPE_NONE, ROUTE_SLOW, .query = &audit_query_shape,
         .answer = &audit_answer_shape, .handle = audit_get, .tag = "audit",
         .summary = "Lists the audit: of the project, of an organisation, or of the server"},
        {HTTP_GET, "/v1/audit/export", SCOPE_NONE, ROUTE_SLOW, .query = &audit_export_query,
         .handle = audit_export_get, .tag = "audit",
         .summary = "Exports the audit as JSON lines that verify without the server"},
        {HTTP_GET, "/v1/audit/key", SCOPE_NONE, ROUTE_SLOW, .answer = &audit_key_shape,
         .handle = audit_key_get, .tag = "audit",
         .summary = "The key that signs the audit, and the newest checkpoint"},
        {0},
};
