/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/usage, /v1/balance, /v1/budgets — usage, cost and spending limits. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "edge/csv.h"
#include "fleet/core/sandboxes.h"
#include "fleet/usage/usage.h"
#include "store/usage.h"
#include "surface/native/native.h"

#define LIMIT_MAX 10000
#define LABEL_NAME_MAX 128
#define GIB_MIB 1024.0

static const char *const groups[] = {
        [USAGE_BY_PROJECT] = "project",   [USAGE_BY_KEY] = "key",
        [USAGE_BY_SANDBOX] = "sandbox",   [USAGE_BY_RUN] = "run",
        [USAGE_BY_REASON] = "reason",     [USAGE_BY_DAY] = "day",
        [USAGE_BY_TEMPLATE] = "template", [USAGE_BY_USER] = "user",
        [USAGE_BY_NOTHING] = "total",     [USAGE_BY_CONVERSATION] = "conversation",
        [USAGE_BY_LABEL] = "label",       [USAGE_GROUP_COUNT] = NULL,
};
static const char *const formats[] = {"json", "csv", NULL};

struct usage_query_params {
	const char *from, *to;
	int group_by, format;
	const char *key, *sandbox, *run, *conversation, *label, *page;
	int64_t limit;
	uint64_t present;
};
enum usage_query_row { SUMS_FROM, SUMS_TO, SUMS_GROUP_BY, SUMS_FORMAT };
static const struct json_member sums_query_members[] = {
        [SUMS_FROM] = JSON_TEXT_MEMBER(usage_query_params, from, .max = 40,
                                       .about = "RFC 3339 time or date, rounded down to the full "
                                                "hour (default: the start of this month)"),
        [SUMS_TO] =
                JSON_TEXT_MEMBER(usage_query_params, to, .max = 40,
                                 .about = "only hours that begin before this time (default: now)"),
        [SUMS_GROUP_BY] = JSON_CHOICE_MEMBER(usage_query_params, group_by, .choices = groups,
                                             .about = "grouping of the items (default day)"),
        [SUMS_FORMAT] =
                JSON_CHOICE_MEMBER(usage_query_params, format, .choices = formats,
                                   .about = "csv: the next page is in the header Atoll-Next-Page"),
        JSON_TEXT_MEMBER(usage_query_params, key, .max = 64,
                         .about = "id of a key; only its usage"),
        JSON_TEXT_MEMBER(usage_query_params, sandbox, .max = 64,
                         .about = "name or id of a sandbox; only its usage; the id of a deleted "
                                  "sandbox works, too"),
        JSON_TEXT_MEMBER(usage_query_params, run, .max = USAGE_RUN_MAX, .about = "only this run"),
        JSON_TEXT_MEMBER(usage_query_params, conversation, .min = 1, .max = USAGE_CONVERSATION_MAX,
                         .about = "only this conversation"),
        JSON_TEXT_MEMBER(usage_query_params, label, .min = 1, .max = LABEL_NAME_MAX,
                         .about = "with group_by=label: name of the label whose values group"),
        JSON_TEXT_MEMBER(usage_query_params, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(usage_query_params, limit, .min = 1, .max = LIMIT_MAX,
                          .about = "items per page (default 1000)"),
};
static JSON_BITS_SHAPE(sums_query, "UsageQuery", usage_query_params, NULL);

struct usage_sum_answer {
	const char *group, *name;
	double seconds, cpu_seconds, vcpu_seconds, memory_gib_seconds, storage_gib_months, usd;
	int64_t usd_micro;
};
static const struct json_member sum_shape_members[] = {
        JSON_TEXT_MEMBER(usage_sum_answer, group,
                         .about = "id, template, user, run, conversation, reason, day or value of "
                                  "the label"),
        JSON_TEXT_MEMBER(usage_sum_answer, name, .flags = JSON_NULLABLE,
                         .about = "name of the project, key or sandbox, also of a deleted one "
                                  "while lists can show it; null: not known"),
        JSON_NUMBER_MEMBER(usage_sum_answer, seconds, .about = "time that sandboxes were started"),
        JSON_NUMBER_MEMBER(usage_sum_answer, cpu_seconds, .about = "processor time, as sampled"),
        JSON_NUMBER_MEMBER(usage_sum_answer, vcpu_seconds,
                           .about = "vCPUs of the sandboxes multiplied by their time"),
        JSON_NUMBER_MEMBER(usage_sum_answer, memory_gib_seconds,
                           .about = "memory limits of the sandboxes multiplied by their time"),
        JSON_NUMBER_MEMBER(usage_sum_answer, storage_gib_months,
                           .about = "stored files; a month has 730 hours"),
        JSON_NUMBER_MEMBER(usage_sum_answer, usd, .about = "US dollars"),
        JSON_WHOLE_MEMBER(usage_sum_answer, usd_micro, .about = "exact amount in micro-dollars"),
};
static JSON_SHAPE(sum_shape, "UsageSum", usage_sum_answer, "Usage of one group");

struct usage_answer {
	int64_t from, to;
	const char *group_by;
	struct json_list items;
	const char *next_page;
};
static const struct json_member sums_shape_members[] = {
        JSON_TIME_MEMBER(usage_answer, from),
        JSON_TIME_MEMBER(usage_answer, to),
        JSON_TEXT_MEMBER(usage_answer, group_by),
        JSON_LIST_MEMBER(usage_answer, items, &sum_shape),
        JSON_TEXT_MEMBER(usage_answer, next_page, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(sums_shape, "Usage", usage_answer, "One page of usage");

/* A date without a time means its midnight. */
static int parse_time(struct arena *a, const char *name, const char *text, int64_t *ret,
                      struct error *err)
{
	const char *whole = strchr(text, 'T') ? text : arena_format(a, "%sT00:00:00Z", text);

	if (json_time_parse(span_of(whole), ret))
		return 0;
	error_set(err, ERROR_INVALID, 0, HERE, "%s: '%s' is not a time", name, text);
	error_hint(err, "2026-11-21 or 2026-11-21T15:00:00Z");
	return -1;
}

static int parse_period(struct request *rq, const struct usage_query_params *q,
                        struct usage_query *ret, struct error *err)
{
	int64_t now = clock_unix_ms();

	ret->from = budget_window_start(BUDGET_MONTH, now);
	ret->to = now - now % USAGE_HOUR_MS + USAGE_HOUR_MS;
	if ((q->from && parse_time(rq->arena, "from", q->from, &ret->from, err) < 0) ||
	    (q->to && parse_time(rq->arena, "to", q->to, &ret->to, err) < 0))
		return -1;
	ret->from -= ret->from % USAGE_HOUR_MS;
	if (ret->from >= ret->to)
		return FAIL(err, ERROR_INVALID, "from is not before to");
	return 0;
}

/* A page is named by the last item of the page before: "DAY-NAME". */
static int parse_page(const char *page, struct usage_query *ret, struct error *err)
{
	struct span rest = span_of(page), day;

	ret->after_day = -1;
	ret->after_name = "";
	if (!page)
		return 0;
	if (!span_split(&rest, '-', &day) ||
	    span_parse_whole(day, 0, INT64_MAX, &ret->after_day, err) < 0)
		return FAIL(err, ERROR_INVALID,
		            "page '%.60s' is not a next_page of an earlier reply", page);
	ret->after_name = rest.data;
	return 0;
}

static const char *format_group(struct arena *a, enum usage_group group,
                                const struct usage_sum *sum)
{
	AUTO(buf_done) struct buf day = BUF(64);

	if (group != USAGE_BY_DAY)
		return sum->name;
	clock_format(&day, sum->day);
	return arena_copy(a, (struct span){buf_text(&day), strlen("2026-11-21")});
}

static struct usage_sum_answer make_sum_answer(struct arena *a, enum usage_group group,
                                               const struct usage_sum *s)
{
	return (struct usage_sum_answer){
	        .group = format_group(a, group, s),
	        .name = text_or_null(s->title),
	        .seconds = (double)s->active_ms / 1e3,
	        .cpu_seconds = (double)s->cpu_us / 1e6,
	        .vcpu_seconds = s->vcpu_ms / 1e3,
	        .memory_gib_seconds = s->memory_mib_ms / GIB_MIB / 1e3,
	        .storage_gib_months = (double)s->storage_mib_s / GIB_MIB / (double)PRICE_MONTH_S,
	        .usd = money_to_usd(s->usd_micro),
	        .usd_micro = s->usd_micro,
	};
}

static void write_csv(struct reply *reply, const struct usage_answer *sums)
{
	static const char *const numbers[] = {"seconds",
	                                      "cpu_seconds",
	                                      "vcpu_seconds",
	                                      "memory_gib_seconds",
	                                      "storage_gib_months",
	                                      "usd"};
	struct buf *out = reply_buf(reply, "text/csv; charset=utf-8; header=present");
	const struct usage_sum_answer *items = sums->items.items;

	csv_text(out, sums->group_by);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		csv_text(out, numbers[i]);
	csv_end(out);
	for (size_t i = 0; i < sums->items.count; i++) {
		csv_text(out, items[i].group);
		csv_number(out, items[i].seconds, 3);
		csv_number(out, items[i].cpu_seconds, 3);
		csv_number(out, items[i].vcpu_seconds, 3);
		csv_number(out, items[i].memory_gib_seconds, 3);
		csv_number(out, items[i].storage_gib_months, 9);
		csv_number(out, items[i].usd, 6);
		csv_end(out);
	}
	reply_header(reply, "Content-Disposition", "attachment; filename=\"usage.csv\"");
	if (sums->next_page)
		reply_header(reply, "Atoll-Next-Page", sums->next_page);
}

static int check_label(const struct usage_query *query, struct error *err)
{
	if ((query->group == USAGE_BY_LABEL) == (query->label != NULL))
		return 0;
	return FAIL(err, ERROR_INVALID, "label: is given if, and only if, group_by is 'label'");
}

static int usage_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct usage_query_params *q = rq->query;
	const struct fleet_ref sandbox = {api_visible_project(rq), q->sandbox};
	bool is_grouped = row_is_given(q->present, SUMS_GROUP_BY);
	struct usage_query query = {
	        .project_id = sandbox.project_id,
	        .key_id = q->key,
	        .run = q->run,
	        .conversation = q->conversation,
	        .label = q->label,
	        .group = is_grouped ? (enum usage_group)q->group_by : USAGE_BY_DAY,
	};
	size_t limit = q->limit ? (size_t)q->limit : 1000;
	struct usage_sums sums;
	struct usage_sum_answer *items;
	struct usage_answer out;

	(void)body;
	query.limit = (int64_t)limit + 1; /* one more tells whether there is another page */
	if (check_label(&query, err) < 0 || parse_period(rq, q, &query, err) < 0 ||
	    parse_page(q->page, &query, err) < 0 ||
	    api_resolve_sandbox_id(rq, &sandbox, &query.sandbox_id, err) < 0 ||
	    fleet_usage_sum(api_of(rq)->fleet, rq->arena, &query, &sums, err) < 0)
		return -1;
	out = (struct usage_answer){query.from, query.to, groups[query.group], {0}, NULL};
	if (sums.count > limit) {
		const struct usage_sum *last = &sums.items[limit - 1];

		out.next_page = arena_format(rq->arena, "%" PRId64 "-%s", last->day, last->name);
		sums.count = limit;
	}
	items = ARENA_ARRAY(rq->arena, struct usage_sum_answer, sums.count + 1);
	for (size_t i = 0; i < sums.count; i++)
		items[i] = make_sum_answer(rq->arena, query.group, &sums.items[i]);
	out.items = (struct json_list){items, sums.count, true};
	if (row_is_given(q->present, SUMS_FORMAT) && q->format == 1)
		write_csv(reply, &out);
	else
		reply_json(reply, &sums_shape, &out);
	return 0;
}

struct balance_answer {
	const char *project;
	double deposited_usd, spent_usd, balance_usd;
	int64_t balance_usd_micro;
};
static const struct json_member balance_shape_members[] = {
        JSON_TEXT_MEMBER(balance_answer, project),
        JSON_NUMBER_MEMBER(balance_answer, deposited_usd),
        JSON_NUMBER_MEMBER(balance_answer, spent_usd),
        JSON_NUMBER_MEMBER(balance_answer, balance_usd,
                           .about = "negative if more was spent than deposited"),
        JSON_WHOLE_MEMBER(balance_answer, balance_usd_micro,
                          .about = "exact amount in micro-dollars"),
};
static JSON_SHAPE(balance_shape, "Balance", balance_answer, "The balance of a project");

static int balance_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct balance_record r;
	struct balance_answer out;

	(void)body;
	if (store_balance_find(api_of(rq)->store, rq->arena, api_project(rq), &r, err) < 0)
		return -1;
	out = (struct balance_answer){
	        .project = api_project(rq),
	        .deposited_usd = money_to_usd(r.deposited_micro),
	        .spent_usd = money_to_usd(r.spent_micro),
	        .balance_usd = money_to_usd(r.deposited_micro - r.spent_micro),
	        .balance_usd_micro = r.deposited_micro - r.spent_micro,
	};
	reply_json(reply, &balance_shape, &out);
	return 0;
}

struct deposit_body {
	const char *id, *note;
	double usd;
	const char *project;
	int64_t created_at;
};
static const struct json_member deposit_request_members[] = {
        JSON_TEXT_MEMBER(deposit_body, id, .flags = JSON_REQUIRED, .min = 1, .max = 128,
                         .about = "id chosen by the caller; a repeated id is booked once"),
        JSON_NUMBER_MEMBER(deposit_body, usd, .flags = JSON_REQUIRED, .min = 0,
                           .max = MONEY_MAX_USD, .about = "US dollars"),
        JSON_TEXT_MEMBER(deposit_body, note, .max = 256),
};
static JSON_SHAPE(deposit_request, "DepositCreate", deposit_body, "A deposit to book");
static const struct json_member deposit_shape_members[] = {
        JSON_TEXT_MEMBER(deposit_body, id), JSON_TEXT_MEMBER(deposit_body, project),
        JSON_NUMBER_MEMBER(deposit_body, usd), JSON_TEXT_MEMBER(deposit_body, note),
        JSON_TIME_MEMBER(deposit_body, created_at)};
static JSON_SHAPE(deposit_shape, "Deposit", deposit_body, "A deposit");

static int deposit_create(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct deposit_body *b = body;
	struct deposit_record booked, wanted = {.project_id = api_project(rq),
	                                        .id = b->id,
	                                        .note = b->note,
	                                        .key_id = api_key_id(rq),
	                                        .created_at = clock_unix_ms()};
	struct deposit_body out;
	bool is_new;

	if (money_of_usd(b->usd, &wanted.usd_micro, err) < 0)
		return FAIL_CONTEXT(err, "usd");
	if (wanted.usd_micro == 0)
		return FAIL(err, ERROR_INVALID, "usd: less than a micro-dollar");
	if (store_deposit_add(api_of(rq)->store, rq->arena, &wanted, &booked, &is_new, err) < 0)
		return -1;
	out = (struct deposit_body){.id = booked.id,
	                            .note = booked.note,
	                            .usd = money_to_usd(booked.usd_micro),
	                            .project = booked.project_id,
	                            .created_at = booked.created_at};
	reply_status(reply, is_new ? 201 : 200);
	reply_json(reply, &deposit_shape, &out);
	return 0;
}

static const char *const scopes[] = {
        [BUDGET_PROJECT] = "project", [BUDGET_KEY] = "key",
        [BUDGET_SANDBOX] = "sandbox", [BUDGET_RUN] = "run",
        [BUDGET_LABEL] = "label",     [BUDGET_CONVERSATION] = "conversation",
        [BUDGET_SCOPE_COUNT] = NULL};
static const char *const windows[] = {
        [BUDGET_TOTAL] = "total", [BUDGET_DAY] = "day", [BUDGET_MONTH] = "month", NULL};

struct budget_body {
	int scope, window;
	const char *subject;
	double limit_usd, warn_at, spent_usd;
	const char *id, *level;
	int64_t since, created_at;
	uint64_t present;
};
enum budget_row { BUDGET_ROW_SCOPE, BUDGET_ROW_WINDOW, BUDGET_ROW_WARN_AT };
static const struct json_member budget_request_members[] = {
        [BUDGET_ROW_SCOPE] =
                JSON_CHOICE_MEMBER(budget_body, scope, .choices = scopes,
                                   .about = "what the budget covers (default project)"),
        [BUDGET_ROW_WINDOW] =
                JSON_CHOICE_MEMBER(budget_body, window, .choices = windows,
                                   .about = "period in UTC; total never restarts (default month)"),
        [BUDGET_ROW_WARN_AT] = JSON_NUMBER_MEMBER(
                budget_body, warn_at, .min = 0, .max = 1,
                .about = "fraction of the limit at which a warning is sent (default 0.8)"),
        JSON_TEXT_MEMBER(budget_body, subject, .max = BUDGET_SUBJECT_MAX,
                         .about = "id of the key, name or id of the sandbox, run of the header "
                                  "Atoll-Run, NAME=VALUE of a label, or conversation of the header "
                                  "Atoll-Conversation or of tool calls"),
        JSON_NUMBER_MEMBER(budget_body, limit_usd, .flags = JSON_REQUIRED, .min = 0,
                           .max = MONEY_MAX_USD, .about = "US dollars"),
};
static JSON_BITS_SHAPE(budget_request, "BudgetCreate", budget_body, "A spending limit");
enum budget_update_row { BUDGET_UPDATE_LIMIT, BUDGET_UPDATE_WARN_AT };
static const struct json_member budget_update_request_members[] = {
        [BUDGET_UPDATE_LIMIT] = JSON_NUMBER_MEMBER(budget_body, limit_usd, .min = 0,
                                                   .max = MONEY_MAX_USD, .about = "US dollars"),
        [BUDGET_UPDATE_WARN_AT] =
                JSON_NUMBER_MEMBER(budget_body, warn_at, .min = 0, .max = 1,
                                   .about = "fraction of the limit at which a warning is sent"),
};
static JSON_BITS_SHAPE(budget_update_request, "BudgetUpdate", budget_body, "Changes of a budget");
static const struct json_member budget_shape_members[] = {
        JSON_TEXT_MEMBER(budget_body, id),
        JSON_CHOICE_MEMBER(budget_body, scope, .choices = scopes),
        JSON_TEXT_MEMBER(budget_body, subject,
                         .about =
                                 "id of the project, key or sandbox; or the run, NAME=VALUE of the "
                                 "label, or the conversation"),
        JSON_CHOICE_MEMBER(budget_body, window, .choices = windows),
        JSON_NUMBER_MEMBER(budget_body, limit_usd),
        JSON_NUMBER_MEMBER(budget_body, warn_at),
        JSON_NUMBER_MEMBER(budget_body, spent_usd, .about = "spent in the current period"),
        JSON_TEXT_MEMBER(budget_body, level, .about = "fine, warned or exceeded"),
        JSON_TIME_MEMBER(budget_body, since, .flags = JSON_NULLABLE,
                         .about = "start of the current period"),
        JSON_TIME_MEMBER(budget_body, created_at),
};
static JSON_SHAPE(budget_shape, "Budget", budget_body, "A spending limit and the amount spent");

static struct budget_body make_budget_answer(const struct budget_record *r, int64_t now)
{
	int64_t spent = budget_spent(r, now);
	enum budget_level level = budget_level(r->limit_micro, r->warn_percent, spent);

	return (struct budget_body){
	        .id = r->id,
	        .scope = (int)r->scope,
	        .subject = r->subject,
	        .window = (int)r->span,
	        .limit_usd = money_to_usd(r->limit_micro),
	        .warn_at = (double)r->warn_percent / 100,
	        .spent_usd = money_to_usd(spent),
	        .level = budget_level_name(level),
	        .since = budget_window_start(r->span, now),
	        .created_at = r->created_at,
	};
}

static const struct json_member budgets_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &budget_shape),
};
static JSON_SHAPE(budgets_shape, "BudgetList", list_answer, "Budgets, oldest first");

static int budgets_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct budget_list found;
	struct budget_body *items;

	(void)body;
	if (store_budget_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct budget_body, found.count + 1);
	for (size_t i = 0; i < found.count; i++)
		items[i] = make_budget_answer(&found.items[i], clock_unix_ms());
	reply_list(reply, &budgets_shape, items, found.count);
	return 0;
}

static int budget_create(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct budget_body *b = body;
	bool has_window = row_is_given(b->present, BUDGET_ROW_WINDOW);
	bool has_warning = row_is_given(b->present, BUDGET_ROW_WARN_AT);
	struct fleet_budget request = {
	        .project_id = api_project(rq),
	        .scope = row_is_given(b->present, BUDGET_ROW_SCOPE) ? (enum budget_scope)b->scope
	                                                            : BUDGET_PROJECT,
	        .subject = b->subject,
	        .window = has_window ? (enum budget_window)b->window : BUDGET_MONTH,
	        .warn_percent = has_warning ? llround(b->warn_at * 100) : 80,
	};
	struct budget_record made;
	struct budget_body out;

	if (money_of_usd(b->limit_usd, &request.limit_micro, err) < 0)
		return FAIL_CONTEXT(err, "limit_usd");
	if (request.limit_micro == 0)
		return FAIL(err, ERROR_INVALID, "limit_usd: less than a micro-dollar");
	if (fleet_budget_create(api_of(rq)->fleet, rq->arena, &request, &made, err) < 0)
		return -1;
	out = make_budget_answer(&made, clock_unix_ms());
	reply_status(reply, 201);
	reply_json(reply, &budget_shape, &out);
	return 0;
}

static int budget_patch(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct budget_body *b = body;
	bool has_limit = row_is_given(b->present, BUDGET_UPDATE_LIMIT);
	bool has_warning = row_is_given(b->present, BUDGET_UPDATE_WARN_AT);
	struct fleet_budget request = {.project_id = api_project(rq),
	                               .warn_percent =
	                                       has_warning ? llround(b->warn_at * 100) : -1};
	struct budget_record updated;
	struct budget_body out;

	if (!has_limit && !has_warning)
		return FAIL(err, ERROR_INVALID, "neither limit_usd nor warn_at is given");
	if (has_limit && money_of_usd(b->limit_usd, &request.limit_micro, err) < 0)
		return FAIL_CONTEXT(err, "limit_usd");
	if (has_limit && request.limit_micro == 0)
		return FAIL(err, ERROR_INVALID, "limit_usd: less than a micro-dollar");
	if (fleet_budget_update(api_of(rq)->fleet, rq->arena, request_param(rq, "budget"), &request,
	                        &updated, err) < 0)
		return -1;
	out = make_budget_answer(&updated, clock_unix_ms());
	reply_json(reply, &budget_shape, &out);
	return 0;
}

static int budget_delete(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	(void)body;
	if (fleet_budget_remove(api_of(rq)->fleet, api_project(rq), request_param(rq, "budget"),
	                        err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

#define TAG .tag = "usage"
const struct route usage_routes[] = {
        {HTTP_GET, "/v1/usage", SCOPE_SANDBOX_READ, .query = &sums_query, .answer = &sums_shape,
         .handle = usage_get, TAG,
         .summary =
                 "Get usage and cost in groups; an admin that names no project gets all projects"},
        {HTTP_GET, "/v1/balance", SCOPE_SANDBOX_READ, .answer = &balance_shape,
         .handle = balance_get, TAG, .summary = "Get what the project deposited and spent"},
        {HTTP_POST, "/v1/balance/deposits", SCOPE_ADMIN, .body = &deposit_request,
         .answer = &deposit_shape, .status = 201, .handle = deposit_create, TAG,
         .summary = "Book a deposit; each id is booked once"},
        {HTTP_GET, "/v1/budgets", SCOPE_SANDBOX_READ, .answer = &budgets_shape,
         .handle = budgets_list, TAG, .summary = "List the project's budgets"},
        {HTTP_POST, "/v1/budgets", SCOPE_PROJECT_WRITE, .body = &budget_request,
         .answer = &budget_shape, .status = 201, .handle = budget_create, TAG,
         .summary = "Create a budget; it warns, then stops sandboxes and refuses new ones, or "
                    "refuses the "
                    "calls of its run or conversation"},
        {HTTP_PATCH, "/v1/budgets/:budget", SCOPE_PROJECT_WRITE, ROUTE_NEEDS_BODY,
         .body = &budget_update_request, .answer = &budget_shape, .handle = budget_patch, TAG,
         .summary = "Change a budget's limit or warning"},
        {HTTP_DELETE, "/v1/budgets/:budget", SCOPE_PROJECT_WRITE, .status = 204,
         .handle = budget_delete, TAG, .summary = "Delete a budget"},
        {.path = NULL},
};
