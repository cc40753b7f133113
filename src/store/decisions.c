/* SPDX-License-Identifier: Apache-2.0 */
#include "store/decisions.h"

#include <string.h>

#include "base/bytes.h"
#include "json/write.h"
#include "sandbox/decision.h"
#include "store/approvals.h"
#include "store/column_rows.h"
#include "store/driver.h"
#include "store/event_rows.h"
#include "store/pages.h"
#include "store/transaction_parts.h"

struct decision_search {
	const char *project_id, *sandbox_id, *verdict, *code, *protocol, *host;
	int64_t after, before, limit;
};
struct decision_trim {
	const char *sandbox_id;
	int64_t count_max;
};
struct decision_owner {
	const char *project_id, *egress;
};

COLUMNS_OF(decision_record);
COLUMNS_OF(decision_search);
COLUMNS_OF(decision_trim);
COLUMNS_OF(decision_owner);

static int tell_decision(struct store_connection *c, const struct decision_record *r,
                         struct error *err)
{
	AUTO(buf_done) struct buf detail = BUF(4096);
	bool is_allowed = strcmp(r->verdict, decision_verdicts[DECISION_ALLOWED]) == 0;
	struct event_record event = {
	        .at = r->at,
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .kind = event_kind_name(is_allowed ? EVENT_EGRESS_ALLOWED : EVENT_EGRESS_DENIED),
	        .reason = r->code,
	        .text = *r->host ? r->host : r->address,
	};

	json_begin_object(&detail, NULL);
	json_add_text(&detail, "host", *r->host ? r->host : NULL);
	json_add_text(&detail, "address", *r->address ? r->address : NULL);
	json_add_whole(&detail, "port", r->port);
	json_add_text(&detail, "protocol", r->protocol);
	json_add_text(&detail, "decision", r->verdict);
	json_add_text(&detail, "code", r->code);
	json_add_text(&detail, "rule", *r->rule ? r->rule : NULL);
	json_add_text(&detail, "credential", *r->credential ? r->credential : NULL);
	json_add_whole(&detail, "count", r->count);
	json_end_object(&detail);
	event.detail = buf_text(&detail);
	return event_add(c, &event, err);
}

/* The kernel does not say which rule denies an address. */
static void find_rule(struct decision_record *r, const char *egress, struct arena *a)
{
	struct network_decision d = {.code = DECISION_ADDRESS_DENIED};

	if (*r->rule || strcmp(r->code, decision_codes[DECISION_ADDRESS_DENIED]) != 0 ||
	    !decision_set_address(&d, r->address))
		return;
	decision_find_rule(&d, egress);
	r->rule = arena_text(a, d.rule);
}

/* In the mode "ask" a refusal asks by itself. */
static int ask_for_host(struct store_connection *c, const struct decision_record *r,
                        struct arena *a, struct error *err)
{
	const struct access_request request = {
	        .project_id = r->project_id,
	        .sandbox_id = r->sandbox_id,
	        .key_id = "",
	        .conversation_id = "",
	        .host = *r->host ? r->host : r->address,
	        .reason = "refused in the mode \"ask\"",
	        .port = strcmp(r->protocol, decision_protocols[DECISION_DNS]) == 0 ? 0 : r->port,
	        .now = r->at,
	};
	struct approval_record ignored;

	if (strcmp(r->code, decision_codes[DECISION_HOST_NOT_ALLOWED]) != 0 &&
	    strcmp(r->code, decision_codes[DECISION_ADDRESS_DENIED]) != 0)
		return 0;
	if (access_request_run(c, a, &request, &ignored, err) == 0)
		return 0;
	if (err->code != ERROR_LIMIT)
		return -1;
	error_clear(err);
	return 0;
}

static int insert_row(struct store_connection *c, const struct decision_addition *item,
                      struct error *err)
{
	struct decision_record r = item->record;
	AUTO(arena_done) struct arena arena = {0};
	struct decision_owner owner;
	int found = query_find(c, QUERY_DECISION_OWNER, LOOKUP(.id = r.sandbox_id),
	                       INTO(&arena, &owner), err);

	if (found <= 0)
		return found;
	r.project_id = owner.project_id;
	find_rule(&r, owner.egress, &arena);
	if (r.count == 0)
		return query_run(c, QUERY_DECISION_ADD_BYTES, &r, NULL, err) < 0 ? -1 : 0;
	if (query_run(c, QUERY_DECISION_INSERT, &r, NULL, err) < 0)
		return -1;
	if (!item->tells)
		return 0;
	if (sandbox_egress_mode(owner.egress) == EGRESS_ASK && ask_for_host(c, &r, &arena, err) < 0)
		return -1;
	return tell_decision(c, &r, err);
}

static int insert_rows(struct store_connection *c, void *context, struct error *err)
{
	const struct decision_batch *batch = context;

	for (size_t i = 0; i < batch->count; i++)
		if (insert_row(c, &batch->items[i], err) < 0)
			return -1;
	return 0;
}

int store_decision_add(struct store *s, const struct decision_batch *batch, struct error *err)
{
	return store_change_lazily(s, insert_rows, batch, err);
}

static void reverse_rows(struct decision_list *list)
{
	for (size_t i = 0; i < list->count / 2; i++) {
		struct decision_record *other = &list->items[list->count - 1 - i];
		struct decision_record item = list->items[i];

		list->items[i] = *other;
		*other = item;
	}
}

int store_decision_list(struct store *s, struct arena *a, const struct decision_page *page,
                        struct decision_list *ret, struct error *err)
{
	const struct decision_search search = {
	        .project_id = page->project_id,
	        .sandbox_id = page->sandbox_id,
	        .verdict = page->verdict,
	        .code = page->code,
	        .protocol = page->protocol,
	        .host = page->host,
	        .after = page->after,
	        .before = page->before > 0 ? page->before : INT64_MAX,
	        .limit = list_limit(page->limit),
	};

	if (store_list_query(s, page->newest ? QUERY_DECISION_NEWEST : QUERY_DECISION_LIST, &search,
	                     LIST_INTO(a, ret), err) < 0)
		return -1;
	if (page->newest)
		reverse_rows(ret);
	return 0;
}

static const struct numbered_log decision_rows = {
        .bounds = QUERY_DECISION_BOUNDS,
        .gap = QUERY_DECISION_GAP,
        .purge = QUERY_DECISION_PURGE,
};

int store_decision_bounds(struct store *s, struct event_bounds *ret, struct error *err)
{
	return numbered_log_bounds(s, &decision_rows, ret, err);
}

int store_decision_purge(struct store *s, const struct event_retention *keep, bool *ret_more,
                         struct error *err)
{
	return numbered_log_purge(s, &decision_rows, keep, ret_more, err);
}

int store_decision_trim(struct store *s, const char *sandbox_id, int64_t count_max,
                        struct error *err)
{
	const struct decision_trim trim = {sandbox_id, count_max};

	return store_change_query_lazily(s, QUERY_DECISION_TRIM, &trim, err) < 0 ? -1 : 0;
}
