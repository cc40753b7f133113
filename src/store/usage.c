/* SPDX-License-Identifier: Apache-2.0 */
#include "store/usage.h"

#include "store/column_rows.h"
#include "sandbox/events.h"
#include "store/event_rows.h"
#include "store/query.h"
#include "store/quotas.h"
#include "store/transaction_parts.h"
#include "store/touches.h"

WORDS_OF(sandbox_state, SANDBOX_STATE_COUNT)
WORDS_OF(usage_reason, USAGE_REASON_COUNT)
TEXTS_OF(usage_group, USAGE_GROUP_COUNT, [USAGE_BY_PROJECT] = "project", [USAGE_BY_KEY] = "key",
         [USAGE_BY_SANDBOX] = "sandbox", [USAGE_BY_RUN] = "run", [USAGE_BY_REASON] = "reason",
         [USAGE_BY_DAY] = "day", [USAGE_BY_TEMPLATE] = "template", [USAGE_BY_USER] = "user",
         [USAGE_BY_NOTHING] = "total", [USAGE_BY_CONVERSATION] = "conversation",
         [USAGE_BY_LABEL] = "label")
WORDS_OF(budget_scope, BUDGET_SCOPE_COUNT)
WORDS_OF(budget_window, BUDGET_WINDOW_COUNT)

struct meter_mark {
	const char *id;
	int64_t seen_metered_ms, seen_stored_at;
	int64_t metered_ms, metered_cpu_us, unbilled_nano, stored_mib, stored_at;
};

struct sent_mark {
	const char *id;
	int64_t seen_egress, seen_changed_at, egress_seen;
};

struct spending {
	struct usage_record row;
	int64_t day, month; /* of the row's hour */
};

COLUMNS_OF(meter_record);
COLUMNS_OF(meter_page);
COLUMNS_OF(meter_mark);
COLUMNS_OF(sent_mark);
COLUMNS_OF(usage_record);
COLUMNS_OF(usage_query);
COLUMNS_OF(usage_sum);
COLUMNS_OF(balance_record);
COLUMNS_OF(deposit_record);
COLUMNS_OF(budget_record);
COLUMNS_OF(spending);
COLUMNS_OF(egress_day);

#define PAGE_MAX 1000

struct usage_clock meter_clock(const struct meter_record *r)
{
	return (struct usage_clock){.is_active = r->actual == SANDBOX_STARTED,
	                            .changed_at = r->active_changed_at,
	                            .active_ms = r->active_ms,
	                            .metered_ms = r->metered_ms};
}

int store_meter_list(struct store *s, struct arena *a, const struct meter_page *page,
                     struct meter_list *ret, struct error *err)
{
	struct meter_page bounded = *page;

	if (bounded.limit > PAGE_MAX)
		bounded.limit = PAGE_MAX;
	return store_list_query(s, QUERY_METER_LIST, &bounded, LIST_INTO(a, ret), err);
}

int store_meter_find(struct store *s, struct arena *a, const char *id, struct meter_record *ret,
                     struct error *err)
{
	return ROW_OR(store_find_query(s, QUERY_METER_FIND, LOOKUP(.id = id), INTO(a, ret), err),
	              FAIL_MISSING(err, "sandbox", id));
}

int store_storage_list(struct store *s, struct arena *a, int64_t before, unsigned limit,
                       struct meter_list *ret, struct error *err)
{
	const struct meter_page page = {.before = before,
	                                .limit = limit > PAGE_MAX ? PAGE_MAX : limit};

	return store_list_query(s, QUERY_STORAGE_LIST, &page, LIST_INTO(a, ret), err);
}

struct write {
	const struct usage_part *parts;
	size_t count;
};

/* Returns 1 when the row equals `seen`. */
static int mark_metered(struct store_connection *c, const struct usage_part *part,
                        struct error *err)
{
	const struct meter_mark takes = {
	        .id = part->seen->id,
	        .seen_metered_ms = part->seen->metered_ms,
	        .seen_stored_at = part->seen->stored_at,
	        .metered_ms = part->metered_ms,
	        .metered_cpu_us = part->metered_cpu_us,
	        .unbilled_nano = part->unbilled_nano,
	        .stored_mib = part->stored_mib,
	        .stored_at = part->stored_at,
	};

	return query_run(c, QUERY_METER_MARK, &takes, NULL, err);
}

static int spend_balance(struct store_connection *c, const struct usage_record *row,
                         struct error *err)
{
	const struct balance_record spent = {.project_id = row->project_id,
	                                     .spent_micro = row->usd_micro};
	const struct spending spending = {
	        .row = *row,
	        .day = budget_window_start(BUDGET_DAY, row->hour),
	        .month = budget_window_start(BUDGET_MONTH, row->hour),
	};

	if (row->usd_micro == 0)
		return 0;
	if (query_run(c, QUERY_BALANCE_ADD, &spent, NULL, err) < 0 ||
	    query_run(c, QUERY_BUDGET_SPEND, &spending, NULL, err) < 0)
		return -1;
	return 0;
}

int usage_rows_add(struct store_connection *c, const struct usage_record *rows, size_t count,
                   struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (query_run(c, QUERY_USAGE_ADD, &rows[i], NULL, err) < 0 ||
		    spend_balance(c, &rows[i], err) < 0)
			return -1;
	return 0;
}

/* Returns 1 when the counter was the one of `seen`, in the same start or resume. */
static int mark_sent(struct store_connection *c, const struct usage_part *part, struct error *err)
{
	const struct sent_mark takes = {.id = part->seen->id,
	                                .seen_egress = part->seen->egress_seen,
	                                .seen_changed_at = part->seen->active_changed_at,
	                                .egress_seen = part->egress_seen};

	return query_run(c, QUERY_SENT_MARK, &takes, NULL, err);
}

static int add_sent(struct store_connection *c, const struct usage_part *part, bool *ret_is_written,
                    struct error *err)
{
	const struct egress_day sent = {.project_id = part->seen->project_id,
	                                .key_id = part->seen->key_id,
	                                .day = part->sent_day,
	                                .bytes = part->sent_bytes};
	bool is_same = part->egress_seen == part->seen->egress_seen;
	int marked = is_same ? 1 : mark_sent(c, part, err);

	if (marked < 0)
		return -1;
	*ret_is_written = marked > 0;
	if (sent.bytes <= 0 || marked == 0)
		return 0;
	return query_run(c, QUERY_EGRESS_ADD, &sent, NULL, err) < 0 ? -1 : 0;
}

static int run_write(struct store_connection *c, void *context, struct error *err)
{
	const struct write *write = context;

	for (size_t i = 0; i < write->count; i++) {
		const struct usage_part *part = &write->parts[i];
		int marked = mark_metered(c, part, err);
		bool ignored;

		if (marked < 0 || add_sent(c, part, &ignored, err) < 0)
			return -1;
		if (marked > 0 && usage_rows_add(c, part->rows, part->row_count, err) < 0)
			return -1;
	}
	return 0;
}

int store_usage_write(struct store *s, const struct usage_part *parts, size_t count,
                      struct error *err)
{
	struct write write = {parts, count};

	if (count == 0)
		return 0;
	return store_change(s, run_write, &write, err);
}

struct sent_write {
	const struct usage_part *part;
	bool *is_written;
};

static int run_sent_write(struct store_connection *c, void *context, struct error *err)
{
	const struct sent_write *write = context;

	return add_sent(c, write->part, write->is_written, err);
}

int store_sent_write(struct store *s, const struct usage_part *part, bool *ret_is_written,
                     struct error *err)
{
	bool is_written = false;
	struct sent_write write = {part, &is_written};

	if (store_change(s, run_sent_write, &write, err) < 0)
		return -1;
	*ret_is_written = is_written;
	return 0;
}

int store_sent_restart(struct store *s, const char *id, struct error *err)
{
	return store_change_query(s, QUERY_SENT_RESTART, LOOKUP(.id = id), err) < 0 ? -1 : 0;
}

int store_usage_purge(struct store *s, int64_t before, struct error *err)
{
	return store_change_query(s, QUERY_USAGE_PURGE, LOOKUP(.now = before), err) < 0 ? -1 : 0;
}

int store_usage_sum(struct store *s, struct arena *a, const struct usage_query *query,
                    struct usage_sums *ret, struct error *err)
{
	return store_list_query(s, QUERY_USAGE_SUM, query, LIST_INTO(a, ret), err);
}

int store_balance_find(struct store *s, struct arena *a, const char *project_id,
                       struct balance_record *ret, struct error *err)
{
	int found = store_find_query(s, QUERY_BALANCE_FIND, LOOKUP(.id = project_id), INTO(a, ret),
	                             err);

	if (found == 0)
		*ret = (struct balance_record){.project_id = project_id};
	return found < 0 ? -1 : 0;
}

struct depositing {
	const struct deposit_record *wanted;
	struct deposit_record *ret;
	struct arena *arena;
	bool is_new;
};

static int run_deposit(struct store_connection *c, void *context, struct error *err)
{
	struct depositing *d = context;
	const struct balance_record deposited = {.project_id = d->wanted->project_id,
	                                         .deposited_micro = d->wanted->usd_micro};
	int added = query_run(c, QUERY_DEPOSIT_INSERT, d->wanted, NULL, err);

	if (added < 0 ||
	    query_find(c, QUERY_DEPOSIT_FIND, d->wanted, INTO(d->arena, d->ret), err) < 0)
		return -1;
	d->is_new = added > 0;
	if (d->is_new)
		return query_run(c, QUERY_BALANCE_ADD, &deposited, NULL, err) < 0 ? -1 : 0;
	if (d->ret->usd_micro != d->wanted->usd_micro)
		return FAIL(err, ERROR_CONFLICT,
		            "deposit '%s' has been booked already, with another amount",
		            d->wanted->id);
	return 0;
}

int store_deposit_add(struct store *s, struct arena *a, const struct deposit_record *r,
                      struct deposit_record *ret, bool *ret_is_new, struct error *err)
{
	struct depositing d = {.wanted = r, .ret = ret, .arena = a};

	if (store_change(s, run_deposit, &d, err) < 0)
		return -1;
	*ret_is_new = d.is_new;
	return 0;
}

int64_t budget_spent(const struct budget_record *r, int64_t now)
{
	return r->window_at >= budget_window_start(r->span, now) ? r->spent_micro : 0;
}

static int tell_budget(struct store_connection *c, enum event_kind kind,
                       const struct budget_record *r, struct error *err)
{
	const struct event_subject subject = {.project_id = r->project_id,
	                                      .sandbox_id = r->scope == BUDGET_SANDBOX ? r->subject
	                                                                               : NULL,
	                                      .name = r->id};

	return event_add_about(c, kind, &subject, err);
}

static int find_budget(struct store_connection *c, const struct record_lookup *lookup,
                       struct arena *a, struct budget_record *ret, struct error *err)
{
	return ROW_OR(query_find(c, QUERY_BUDGET_FIND, lookup, INTO(a, ret), err),
	              FAIL_MISSING(err, "budget", lookup->id));
}

struct budgeting {
	const struct budget_record *record;
	unsigned max;
};

static int run_budget_insert(struct store_connection *c, void *context, struct error *err)
{
	const struct budgeting *b = context;
	int64_t held;

	if (query_count(c, QUERY_BUDGET_COUNT, LOOKUP(.project_id = b->record->project_id), &held,
	                err) < 0)
		return -1;
	if (held >= b->max)
		return FAIL(err, ERROR_LIMIT, "the project has %u budgets already", b->max);
	if (query_run(c, QUERY_BUDGET_INSERT, b->record, NULL, err) < 0 ||
	    query_run(c, QUERY_BUDGET_RECOUNT, b->record, NULL, err) < 0)
		return -1;
	return tell_budget(c, EVENT_BUDGET_CREATED, b->record, err);
}

int store_budget_insert(struct store *s, const struct budget_record *r, unsigned max,
                        struct error *err)
{
	struct budgeting b = {r, max};

	return store_change(s, run_budget_insert, &b, err);
}

int store_budget_list(struct store *s, struct arena *a, const char *project_id,
                      struct budget_list *ret, struct error *err)
{
	return store_list_query(s, QUERY_BUDGET_LIST, LOOKUP(.project_id = project_id),
	                        LIST_INTO(a, ret), err);
}

struct budget_change {
	struct arena *arena;
	struct budget_record record;
};

static int run_budget_update(struct store_connection *c, void *context, struct error *err)
{
	struct budget_change *change = context;

	if (query_run(c, QUERY_BUDGET_UPDATE, &change->record, NULL, err) < 0 ||
	    find_budget(c, LOOKUP(.project_id = change->record.project_id, .id = change->record.id),
	                change->arena, &change->record, err) < 0)
		return -1;
	return tell_budget(c, EVENT_BUDGET_UPDATED, &change->record, err);
}

int store_budget_update(struct store *s, struct arena *a, struct budget_record *r,
                        struct error *err)
{
	struct budget_change change = {.arena = a, .record = *r};

	if (store_change(s, run_budget_update, &change, err) < 0)
		return -1;
	*r = change.record;
	return 0;
}

static int run_budget_removal(struct store_connection *c, void *context, struct error *err)
{
	const struct record_lookup *lookup = context;
	AUTO(arena_done) struct arena arena = {0};
	struct budget_record r;

	if (find_budget(c, lookup, &arena, &r, err) < 0 ||
	    query_run(c, QUERY_BUDGET_REMOVE, lookup, NULL, err) < 0)
		return -1;
	return tell_budget(c, EVENT_BUDGET_DELETED, &r, err);
}

int store_budget_remove(struct store *s, const char *project_id, const char *id, struct error *err)
{
	return store_change(s, run_budget_removal, LOOKUP(.project_id = project_id, .id = id), err);
}

struct budget_notice {
	struct touch mark;
	const struct budget_notification *takes;
	bool is_first;
};

static int run_telling(struct store_connection *c, void *context, struct error *err)
{
	struct budget_notice *telling = context;
	bool is_over = telling->takes->level == BUDGET_EXCEEDED;
	int count = query_run(c, is_over ? QUERY_BUDGET_EXCEED : QUERY_BUDGET_WARN, &telling->mark,
	                      NULL, err);

	telling->is_first = count > 0;
	if (count <= 0)
		return count;
	return event_add(c, telling->takes->event, err);
}

int store_budget_notify(struct store *s, const struct budget_notification *telling,
                        bool *ret_is_first, struct error *err)
{
	struct budget_notice context = {.mark = {.id = telling->id, .at = telling->window_at},
	                                .takes = telling};

	if (store_change(s, run_telling, &context, err) < 0)
		return -1;
	*ret_is_first = context.is_first;
	return 0;
}
