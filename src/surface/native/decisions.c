/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/ID/egress/log — which connections the network rules of a sandbox allowed
 * and refused. */
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "json/json.h"
#include "sandbox/decision.h"
#include "store/decisions.h"
#include "store/events.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"

#define LIMIT_USUAL 100
#define LIMIT_MAX 1000

struct decision_answer {
	int64_t sequence, at, port, count, bytes_in, bytes_out;
	const char *sandbox, *decision, *code, *protocol, *host, *address, *rule, *credential;
};
static const struct json_member decision_shape_members[] = {
        JSON_WHOLE_MEMBER(decision_answer, sequence,
                          .about = "grows over all of the server's rows; for after="),
        JSON_TIME_MEMBER(decision_answer, at),
        JSON_TEXT_MEMBER(decision_answer, sandbox, .about = "its id"),
        JSON_TEXT_MEMBER(decision_answer, decision,
                         .about = "denied, allowed, or watched: refused by the rules, but let "
                                  "through by the mode watch"),
        JSON_TEXT_MEMBER(decision_answer, code,
                         .about = "why: ok, host-not-allowed, address-denied, range-refused, "
                                  "bad-request, limit or upstream-unreachable"),
        JSON_TEXT_MEMBER(decision_answer, rule, .flags = JSON_NULLABLE,
                         .about = "the entry of the rules that decided"),
        JSON_TEXT_MEMBER(decision_answer, credential, .flags = JSON_NULLABLE,
                         .about =
                                 "name of the credential that the request got, or was refused for"),
        JSON_TEXT_MEMBER(decision_answer, protocol, .about = "tls, http, dns, tcp, udp or other"),
        JSON_TEXT_MEMBER(decision_answer, host, .flags = JSON_NULLABLE,
                         .about = "null: only the address is known"),
        JSON_TEXT_MEMBER(decision_answer, address, .flags = JSON_NULLABLE,
                         .about = "null: a name that was refused before it was looked up"),
        JSON_WHOLE_MEMBER(decision_answer, port, .about = "0: none"),
        JSON_WHOLE_MEMBER(decision_answer, count,
                          .about = "equal decisions of about a second; a busy sandbox has rows "
                                   "without host and address for what is too much"),
        JSON_WHOLE_MEMBER(decision_answer, bytes_in,
                          .about = "received by the sandbox; known of connections by name, at "
                                   "their end"),
        JSON_WHOLE_MEMBER(decision_answer, bytes_out, .about = "sent by the sandbox"),
};
static JSON_SHAPE(decision_shape, "NetworkDecision", decision_answer,
                  "A connection that network rules decided on");

struct decision_list_answer {
	struct json_list items;
	int64_t after, oldest;
};
static const struct json_member decision_list_members[] = {
        JSON_LIST_MEMBER(decision_list_answer, items, &decision_shape),
        JSON_WHOLE_MEMBER(decision_list_answer, after, .about = "value of after for the next page"),
        JSON_WHOLE_MEMBER(decision_list_answer, oldest,
                          .about = "sequence of the oldest stored row; 0: there are no rows"),
};
static JSON_SHAPE(decision_list, "NetworkDecisionList", decision_list_answer,
                  "Network decisions, oldest first");

struct decision_query {
	int64_t after, last, limit;
	const char *host;
	int decision, code, protocol;
	uint64_t present;
};
enum { QUERY_AFTER, QUERY_LAST, QUERY_DECISION, QUERY_CODE, QUERY_PROTOCOL };
static const struct json_member decision_query_members[] = {
        [QUERY_AFTER] =
                JSON_WHOLE_MEMBER(decision_query, after, .min = 0,
                                  .about = "sequence of the last row that the client knows"),
        [QUERY_LAST] = JSON_WHOLE_MEMBER(
                decision_query, last, .min = 1, .max = LIMIT_MAX,
                .about = "return the newest rows, up to this number; instead of after"),
        [QUERY_DECISION] =
                JSON_CHOICE_MEMBER(decision_query, decision, .choices = decision_verdicts),
        [QUERY_CODE] = JSON_CHOICE_MEMBER(decision_query, code, .choices = decision_codes),
        [QUERY_PROTOCOL] =
                JSON_CHOICE_MEMBER(decision_query, protocol, .choices = decision_protocols),
        JSON_TEXT_MEMBER(decision_query, host, .min = 1, .max = SANDBOX_HOST_NAME_MAX,
                         .about = "a host name or an address"),
        JSON_WHOLE_MEMBER(decision_query, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "rows per page (default 100)"),
};
static JSON_BITS_SHAPE(decision_query, "NetworkDecisionQuery", decision_query,
                       "Filter for network decisions");

static const char *choice_of(const struct decision_query *q, unsigned row, int value,
                             const char *const *names)
{
	return row_is_given(q->present, row) ? names[value] : NULL;
}

static struct decision_page page_of(const struct decision_query *q)
{
	bool newest = row_is_given(q->present, QUERY_LAST);

	return (struct decision_page){
	        .verdict = choice_of(q, QUERY_DECISION, q->decision, decision_verdicts),
	        .code = choice_of(q, QUERY_CODE, q->code, decision_codes),
	        .protocol = choice_of(q, QUERY_PROTOCOL, q->protocol, decision_protocols),
	        .host = q->host,
	        .after = q->after,
	        .limit = newest     ? q->last
	                 : q->limit ? q->limit
	                            : LIMIT_USUAL,
	        .newest = newest,
	};
}

static struct decision_answer answer_of(const struct decision_record *r)
{
	return (struct decision_answer){
	        .sequence = r->sequence,
	        .at = r->at,
	        .sandbox = r->sandbox_id,
	        .decision = r->verdict,
	        .code = r->code,
	        .rule = text_or_null(r->rule),
	        .credential = text_or_null(r->credential),
	        .protocol = r->protocol,
	        .host = text_or_null(r->host),
	        .address = text_or_null(r->address),
	        .port = r->port,
	        .count = r->count,
	        .bytes_in = r->bytes_in,
	        .bytes_out = r->bytes_out,
	};
}

/* The rows of a deleted sandbox are found by its id. */
static int find_sandbox(struct request *rq, struct decision_page *page, struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), request_param(rq, "id")};
	struct sandbox_record r = {.id = ref.id_or_name};

	page->project_id = api_visible_project(rq);
	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0) {
		struct decision_page any = {
		        .project_id = page->project_id, .sandbox_id = r.id, .limit = 1};
		struct decision_list found = {.count = 0};
		struct error failed = {0};

		if (err->code != ERROR_NOT_FOUND ||
		    store_decision_list(api_of(rq)->store, rq->arena, &any, &found, &failed) < 0 ||
		    found.count == 0)
			return -1;
		error_clear(err);
	}
	page->sandbox_id = r.id;
	return 0;
}

static int egress_log_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	const struct decision_query *q = rq->query;
	struct decision_page page = page_of(q);
	struct decision_list_answer out = {.after = q->after};
	struct decision_answer *items;
	struct decision_list found;
	struct event_bounds bounds;

	if (page.newest && (row_is_given(q->present, QUERY_AFTER) || q->limit))
		return FAIL(err, ERROR_INVALID, "last cannot be combined with after or limit");
	if (find_sandbox(rq, &page, err) < 0 ||
	    store_decision_bounds(api_of(rq)->store, &bounds, err) < 0)
		return -1;
	page.before = bounds.newest + 1;
	if (store_decision_list(api_of(rq)->store, rq->arena, &page, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct decision_answer, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = answer_of(&found.items[i]);
	out.items = (struct json_list){items, found.count, true};
	out.oldest = bounds.oldest;
	if (found.count > 0)
		out.after = items[found.count - 1].sequence;
	reply_json(reply, &decision_list, &out);
	return 0;
}

const struct route decisions_routes[] = {
        {HTTP_GET, "/api/sandbox/instances/:id/egress/log", SCOPE_SANDBOX_READ,
         .query = &decision_query, .answer = &decision_list, .handle = egress_log_get,
         .tag = "sandboxes", .summary = "List what the network rules of a sandbox decided"},
        {.path = NULL},
};
