/* SPDX-License-Identifier: Apache-2.0 */
#include "store/approvals.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/random.h"
#include "json/json.h"
#include "json/write.h"
#include "store/column_rows.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "store/query.h"
#include "store/transaction_parts.h"

#define ACCESS_LIFE_MS (3600 * INT64_C(1000)) /* time to decide */

NAMES_OF(approval_state, APPROVAL_STATE_COUNT, "pending", "approved", "refused", "used", "expired")

struct approval_page {
	struct approval_filter filter;
	struct page_position position;
};

struct access_search {
	const char *sandbox_id, *prefix;
	int64_t now;
};

COLUMNS_OF(access_search);
COLUMNS_OF(approval_record);
COLUMNS_OF(approval_page);
COLUMNS_OF(approval_decision);

struct approval_insertion {
	const struct approval_record *record;
	unsigned pending_max;
};

static int tell_approval(struct store_connection *c, enum event_kind kind,
                         const struct approval_record *r, struct error *err)
{
	AUTO(buf_done) struct buf detail = BUF(16 * 1024);
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .kind = event_kind_name(kind),
	        .text = r->tool,
	};

	json_begin_object(&detail, NULL);
	json_add_text(&detail, "id", r->id);
	json_add_text(&detail, "tool", r->tool);
	json_add_text(&detail, "keyId", r->key_id);
	json_end_object(&detail);
	event.detail = buf_text(&detail);
	return event_add(c, &event, err);
}

static int tell_consent_request(struct store_connection *c, const struct approval_record *r,
                                struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf detail = BUF(4096);
	const struct json_value *input;
	struct event_record event = {
	        .at = clock_unix_ms(),
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .kind = event_kind_name(EVENT_CONSENT_REQUESTED),
	};

	if (json_load(&a, span_of(r->input), &input, err) < 0)
		return -1;
	json_begin_object(&detail, NULL);
	json_add_text(&detail, "conversationId", r->conversation_id);
	json_add_text(&detail, "approvalId", r->id);
	json_end_object(&detail);
	event.text = json_get_text(input, "credential", "");
	event.detail = buf_text(&detail);
	return event_add(c, &event, err);
}

static int run_insertion(struct store_connection *c, void *context, struct error *err)
{
	const struct approval_insertion *in = context;
	const struct approval_record *r = in->record;
	int64_t pending;

	if (project_lock(c, r->project_id, err) < 0 ||
	    query_count(c, QUERY_APPROVAL_COUNT,
	                LOOKUP(.project_id = r->project_id, .now = r->created_at), &pending,
	                err) < 0)
		return -1;
	if (pending >= in->pending_max)
		return FAIL(err, ERROR_LIMIT, "%u tool calls wait for approval already",
		            in->pending_max);
	if (query_run(c, QUERY_APPROVAL_INSERT, r, NULL, err) < 0 ||
	    tell_approval(c, EVENT_APPROVAL_PENDING, r, err) < 0)
		return -1;
	return strcmp(r->tool, CONSENT_TOOL) == 0 ? tell_consent_request(c, r, err) : 0;
}

int store_approval_insert(struct store *s, const struct approval_record *r, unsigned pending_max,
                          struct error *err)
{
	struct approval_insertion insertion = {r, pending_max};

	return store_change(s, run_insertion, &insertion, err);
}

/* A request is found again by its host, the first member: rules have no ports. */
static void write_access(struct buf *out, const struct access_request *r, bool is_whole)
{
	json_begin_object(out, NULL);
	json_add_text(out, "host", r->host);
	if (!is_whole)
		return;
	json_add_whole(out, "port", r->port);
	json_add_text(out, "reason", r->reason);
	json_end_object(out);
}

static int insert_access(struct store_connection *c, struct arena *a,
                         const struct access_request *request, struct approval_record *ret,
                         struct error *err)
{
	AUTO(buf_done) struct buf input = BUF(8 * 1024);
	const struct id id = id_new();
	int64_t pending;

	if (query_count(c, QUERY_APPROVAL_COUNT_OF_SANDBOX,
	                LOOKUP(.id = request->sandbox_id, .now = request->now), &pending, err) < 0)
		return -1;
	if (pending >= ACCESS_PENDING_MAX)
		return FAIL(err, ERROR_LIMIT, "%d requests for access wait already",
		            ACCESS_PENDING_MAX);
	write_access(&input, request, true);
	*ret = (struct approval_record){
	        .id = arena_text(a, id.text),
	        .project_id = request->project_id,
	        .key_id = request->key_id,
	        .conversation_id = request->conversation_id,
	        .origin_json = "",
	        .sandbox_id = request->sandbox_id,
	        .tool = ACCESS_TOOL,
	        .input = arena_copy(a, buf_span(&input)),
	        .note = "",
	        .decided_by = "",
	        .created_at = request->now,
	        .expires_at = request->now + ACCESS_LIFE_MS,
	};
	/* No call has this hash: such an approval is used by its decision. */
	random_bytes(ret->hash, sizeof(ret->hash));
	if (query_run(c, QUERY_APPROVAL_INSERT, ret, NULL, err) < 0)
		return -1;
	return tell_approval(c, EVENT_APPROVAL_PENDING, ret, err);
}

int access_request_run(struct store_connection *c, struct arena *a,
                       const struct access_request *request, struct approval_record *ret,
                       struct error *err)
{
	AUTO(buf_done) struct buf prefix = BUF(2048);
	struct access_search search = {.sandbox_id = request->sandbox_id, .now = request->now};
	int found;

	write_access(&prefix, request, false);
	search.prefix = buf_text(&prefix);
	if (project_lock(c, request->project_id, err) < 0)
		return -1;
	found = query_find(c, QUERY_APPROVAL_ACCESS, &search, INTO(a, ret), err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	return insert_access(c, a, request, ret, err);
}

struct access_insertion {
	struct arena *arena;
	const struct access_request *request;
	struct approval_record *ret;
};

static int run_access(struct store_connection *c, void *context, struct error *err)
{
	const struct access_insertion *in = context;

	return access_request_run(c, in->arena, in->request, in->ret, err);
}

int store_access_request(struct store *s, struct arena *a, const struct access_request *request,
                         struct approval_record *ret, struct error *err)
{
	struct access_insertion insertion = {a, request, ret};

	return store_change(s, run_access, &insertion, err);
}

static int find_approval(struct store *s, struct arena *a, enum query_name query, const void *takes,
                         struct approval_record *ret, struct error *err)
{
	return ROW_OR(store_find_query(s, query, takes, INTO(a, ret), err),
	              FAIL(err, ERROR_NOT_FOUND, "no such approval"));
}

int store_approval_find(struct store *s, struct arena *a, const char *project_id, const char *id,
                        struct approval_record *ret, struct error *err)
{
	return find_approval(s, a, QUERY_APPROVAL_FIND, LOOKUP(.project_id = project_id, .id = id),
	                     ret, err);
}

int store_approval_match(struct store *s, struct arena *a, const struct approval_record *wanted,
                         struct approval_record *ret, struct error *err)
{
	return find_approval(s, a, QUERY_APPROVAL_MATCH, wanted, ret, err);
}

int store_approval_list(struct store *s, struct arena *a, const struct approval_filter *filter,
                        struct approval_list *ret, struct error *err)
{
	struct approval_page page = {.filter = *filter};

	if (page_begin(&page.position, filter->page, filter->limit, err) < 0)
		return -1;
	return store_list_query(s, QUERY_APPROVAL_LIST, &page, PAGE_INTO(a, ret, &page.position),
	                        err);
}

static int run_decision(struct store_connection *c, void *context, struct error *err)
{
	static const enum event_kind decision_kinds[APPROVAL_STATE_COUNT] = {
	        [APPROVAL_APPROVED] = EVENT_APPROVAL_APPROVED,
	        [APPROVAL_REFUSED] = EVENT_APPROVAL_REFUSED,
	        [APPROVAL_USED] = EVENT_APPROVAL_USED,
	};
	const struct approval_decision *decision = context;
	AUTO(arena_done) struct arena arena = {0};
	struct approval_record r;

	if (ROW_OR(query_run(c, QUERY_APPROVAL_DECIDE, decision, NULL, err),
	           FAIL(err, ERROR_CONFLICT, "approval '%s' is not %s any more", decision->id,
	                approval_state_name(decision->from))) < 0 ||
	    ROW_OR(query_find(c, QUERY_APPROVAL_FIND,
	                      LOOKUP(.project_id = decision->project_id, .id = decision->id),
	                      INTO(&arena, &r), err),
	           FAIL(err, ERROR_NOT_FOUND, "no such approval")) < 0)
		return -1;
	return tell_approval(c, decision_kinds[decision->to], &r, err);
}

int store_approval_decide(struct store *s, const struct approval_decision *decision,
                          struct error *err)
{
	return store_change(s, run_decision, decision, err);
}

int store_approval_use(struct store *s, const struct approval_record *r, struct error *err)
{
	const struct approval_decision use = {
	        .project_id = r->project_id,
	        .id = r->id,
	        .from = APPROVAL_APPROVED,
	        .to = APPROVAL_USED,
	        .note = r->note,
	        .decided_by = r->decided_by,
	        .now = clock_unix_ms(),
	        .expires_at = r->expires_at,
	};

	return store_approval_decide(s, &use, err);
}

static int run_expiry(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	AUTO(arena_done) struct arena arena = {0};
	struct approval_list overdue;

	if (query_list(c, QUERY_APPROVAL_OVERDUE, lookup, LIST_INTO(&arena, &overdue), err) < 0)
		return -1;
	for (size_t i = 0; i < overdue.count; i++) {
		const struct approval_record *r = &overdue.items[i];
		int changed = query_run(c, QUERY_APPROVAL_EXPIRE,
		                        LOOKUP(.id = r->id, .now = lookup->now), NULL, err);

		if (changed < 0 ||
		    (changed > 0 && tell_approval(c, EVENT_APPROVAL_EXPIRED, r, err) < 0))
			return -1;
	}
	return 0;
}

int store_approval_expire(struct store *s, int64_t now, struct error *err)
{
	return store_change_lazily(s, run_expiry, LOOKUP(.now = now), err);
}

int store_approval_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_APPROVAL_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}
