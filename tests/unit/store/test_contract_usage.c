/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/quotas.h"
#include "store/usage.h"
#include "store/events.h"

#define SECOND INT64_C(1000)
#define HOUR_0 (NOW - NOW % USAGE_HOUR_MS)

static struct id make(struct store *s, const char *name)
{
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, name);

	r.key_id = "creator";
	assert_done(store_sandbox_insert(s, &r, 0, &err));
	return id;
}

static void move(struct store *s, const char *id, enum sandbox_state from, enum sandbox_state to,
                 int64_t now)
{
	struct error err = {0};
	struct sandbox_move m = sample_move(id, from, to);

	m.now = now;
	assert_done(store_sandbox_move(s, &m, &err));
}

/* Started at NOW. */
static struct id started(struct store *s, const char *name)
{
	struct id id = make(s, name);

	move(s, id.text, SANDBOX_PENDING, SANDBOX_CREATING, NOW - 5 * SECOND);
	move(s, id.text, SANDBOX_CREATING, SANDBOX_STARTED, NOW);
	return id;
}

/* The row of the meter; false when it need not look at it. */
static bool look(struct store *s, struct arena *a, const char *id, struct meter_record *ret)
{
	const struct meter_page page = {.node = "", .after = "", .limit = 1000};
	struct error err = {0};
	struct meter_list list;

	assert_done(store_meter_list(s, a, &page, &list, &err));
	for (size_t i = 0; i < list.count; i++) {
		if (strcmp(list.items[i].id, id) == 0) {
			*ret = list.items[i];
			return true;
		}
	}
	return false;
}

static struct usage_record sample_row(const struct meter_record *r, int64_t active_ms)
{
	static char ids[64][ID_SIZE + 1];
	static unsigned next;
	struct id id = id_new();
	char *text = ids[next++ % 64];

	memcpy(text, id.text, sizeof(id.text));
	return (struct usage_record){.id = text,
	                             .project_id = r->project_id,
	                             .key_id = "key-1",
	                             .sandbox_id = r->id,
	                             .run = "",
	                             .reason = USAGE_EXEC,
	                             .hour = HOUR_0,
	                             .active_ms = active_ms,
	                             .usd_micro = active_ms * 10,
	                             .vcpu = 0.5,
	                             .memory_mb = 1024,
	                             .started_at = NOW,
	                             .ended_at = NOW + active_ms};
}

static void write_rows(struct store *s, const struct meter_record *seen,
                       const struct usage_record *rows, size_t count)
{
	struct error err = {0};
	struct usage_part part = {.seen = seen,
	                          .metered_ms = seen->metered_ms,
	                          .stored_at = seen->stored_at,
	                          .stored_mib = seen->stored_mib,
	                          .rows = rows,
	                          .row_count = count};

	for (size_t i = 0; i < count; i++)
		part.metered_ms += rows[i].active_ms;
	assert_done(store_usage_write(s, &part, 1, &err));
}

static struct usage_sums sum(struct store *s, struct arena *a, enum usage_group group)
{
	const struct usage_query query = {.project_id = PROJECT,
	                                  .from = 0,
	                                  .to = INT64_MAX,
	                                  .group = group,
	                                  .label = group == USAGE_BY_LABEL ? "team" : NULL,
	                                  .after_day = -1,
	                                  .after_name = "",
	                                  .limit = 1000};
	struct error err = {0};
	struct usage_sums sums;

	assert_done(store_usage_sum(s, a, &query, &sums, &err));
	return sums;
}

/* ---- active time ---- */

static void active_time_is_that_in_started_and_nothing_else(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct meter_record r;

	assert_true(look(*state, &a, id.text, &r));
	assert_int_equal(r.active_changed_at, NOW);
	assert_int_equal(r.active_ms, 0);
	assert_string_equal(r.key_id, "creator");
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPING, NOW + 10 * SECOND);
	move(*state, id.text, SANDBOX_STOPPING, SANDBOX_STOPPED, NOW + 15 * SECOND);
	assert_true(look(*state, &a, id.text, &r));
	assert_int_equal(r.active_ms, 10 * SECOND);
	assert_int_equal(r.active_changed_at, NOW + 10 * SECOND);
	/* A start that fails adds nothing, one that succeeds begins a new stretch. */
	move(*state, id.text, SANDBOX_STOPPED, SANDBOX_CREATING, NOW + 100 * SECOND);
	move(*state, id.text, SANDBOX_CREATING, SANDBOX_STOPPED, NOW + 110 * SECOND);
	move(*state, id.text, SANDBOX_STOPPED, SANDBOX_CREATING, NOW + 200 * SECOND);
	move(*state, id.text, SANDBOX_CREATING, SANDBOX_STARTED, NOW + 210 * SECOND);
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_DELETING, NOW + 217 * SECOND);
	move(*state, id.text, SANDBOX_DELETING, SANDBOX_DELETED, NOW + 230 * SECOND);
	assert_true(look(*state, &a, id.text, &r));
	assert_int_equal(r.active_ms, 17 * SECOND);
}

static void a_server_is_told_of_its_own_sandboxes_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new();
	struct sandbox_record r = sample_sandbox(id.text, "theirs");
	struct meter_page page = {.node = "theirs", .after = "", .limit = 10};
	struct meter_record seen;
	struct meter_list list;

	r.node = "theirs";
	assert_done(store_sandbox_insert(*state, &r, 0, &err));
	move(*state, id.text, SANDBOX_PENDING, SANDBOX_CREATING, NOW);
	move(*state, id.text, SANDBOX_CREATING, SANDBOX_STARTED, NOW);
	assert_false(look(*state, &a, id.text, &seen));
	assert_done(store_meter_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPED, NOW + SECOND);
	assert_false(look(*state, &a, id.text, &seen));
	assert_done(store_meter_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
}

static void a_stop_that_fails_is_free_and_time_goes_on_after_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct meter_record r;
	struct usage_clock clock;

	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPING, NOW + 10 * SECOND);
	move(*state, id.text, SANDBOX_STOPPING, SANDBOX_STARTED, NOW + 20 * SECOND);
	assert_true(look(*state, &a, id.text, &r));
	clock = meter_clock(&r);
	assert_int_equal(usage_active_ms(&clock, NOW + 25 * SECOND), 15 * SECOND);
}

static void a_clock_that_went_backwards_adds_nothing(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct meter_record r;

	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPED, NOW - 3600 * SECOND);
	assert_false(look(*state, &a, id.text, &r));
}

static void
a_sandbox_that_was_lost_with_its_host_has_been_active_as_long_as_is_metered(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct sandbox_move lost = sample_move(id.text, SANDBOX_STARTED, SANDBOX_STOPPED);
	struct sandbox_record found;
	struct usage_record row;
	struct meter_record r;

	assert_true(look(*state, &a, id.text, &r));
	row = sample_row(&r, 60 * SECOND);
	write_rows(*state, &r, &row, 1);
	lost.reason = SANDBOX_REASON_HOST_LOST;
	lost.now = NOW + 8 * USAGE_HOUR_MS;
	assert_done(store_sandbox_move(*state, &lost, &err));
	assert_false(look(*state, &a, id.text, &r));
	assert_done(store_sandbox_find(*state, &a, NULL, id.text, &found, &err));
	assert_int_equal(found.active_ms, 60 * SECOND);
}

/* ---- the log ---- */

static void what_was_written_is_not_written_again(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct usage_record row;
	struct meter_record r;

	assert_true(look(*state, &a, id.text, &r));
	row = sample_row(&r, 5 * SECOND);
	write_rows(*state, &r, &row, 1);
	/* Another server that saw the same: its write changes nothing. */
	row = sample_row(&r, 5 * SECOND);
	write_rows(*state, &r, &row, 1);
	assert_int_equal(sum(*state, &a, USAGE_BY_NOTHING).items[0].active_ms, 5 * SECOND);
	assert_true(look(*state, &a, id.text, &r));
	assert_int_equal(r.metered_ms, 5 * SECOND);
}

static void rows_of_the_same_hour_key_run_and_reason_become_one(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct usage_record rows[3];
	struct usage_sums sums;
	struct meter_record r;

	for (unsigned i = 0; i < 2; i++) {
		assert_true(look(*state, &a, id.text, &r));
		for (unsigned k = 0; k < 3; k++)
			rows[k] = sample_row(&r, SECOND);
		rows[1].reason = USAGE_FILE_OPS;
		rows[2].run = "run-1";
		rows[2].hour += 24 * USAGE_HOUR_MS;
		write_rows(*state, &r, rows, 3);
	}
	sums = sum(*state, &a, USAGE_BY_REASON);
	assert_int_equal(sums.count, 2);
	assert_string_equal(sums.items[0].name, "exec");
	assert_int_equal(sums.items[0].active_ms, 4 * SECOND);
	assert_true(sums.items[0].vcpu_ms == 2000.0);
	assert_true(sums.items[0].memory_mib_ms == 4000.0 * 1024);
	assert_string_equal(sums.items[1].name, "file_ops");
	sums = sum(*state, &a, USAGE_BY_RUN);
	assert_string_equal(sums.items[1].name, "run-1");
	assert_int_equal(sums.items[1].usd_micro, 20 * SECOND);
	sums = sum(*state, &a, USAGE_BY_DAY);
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.items[1].day - sums.items[0].day, USAGE_DAY_MS);
	assert_int_equal(sum(*state, &a, USAGE_BY_SANDBOX).count, 1);
	sums = sum(*state, &a, USAGE_BY_LABEL);
	assert_int_equal(sums.count, 1);
	assert_string_equal(sums.items[0].name, "red");
	assert_int_equal(sums.items[0].active_ms, 6 * SECOND);
	assert_string_equal(sum(*state, &a, USAGE_BY_KEY).items[0].name, "key-1");
	assert_string_equal(sum(*state, &a, USAGE_BY_PROJECT).items[0].name, PROJECT);
	assert_string_equal(sum(*state, &a, USAGE_BY_PROJECT).items[0].title,
	                    sample_project().name);
	assert_string_equal(sum(*state, &a, USAGE_BY_SANDBOX).items[0].title, "box");
	assert_string_equal(sum(*state, &a, USAGE_BY_KEY).items[0].title, "");
	assert_string_equal(sum(*state, &a, USAGE_BY_TEMPLATE).items[0].name,
	                    sample_sandbox("x", "x").template_name);
	assert_string_equal(sum(*state, &a, USAGE_BY_USER).items[0].name, "");
	assert_int_equal(sum(*state, &a, USAGE_BY_TEMPLATE).items[0].active_ms,
	                 sum(*state, &a, USAGE_BY_NOTHING).items[0].active_ms);
}

static void sums_are_bounded_by_time_and_filters_and_come_in_pages(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct usage_query query = {.project_id = PROJECT,
	                            .from = HOUR_0,
	                            .to = HOUR_0 + USAGE_HOUR_MS,
	                            .group = USAGE_BY_RUN,
	                            .after_day = -1,
	                            .after_name = "",
	                            .limit = 2};
	struct usage_record rows[5];
	struct usage_sums sums;
	struct meter_record r;

	assert_true(look(*state, &a, id.text, &r));
	for (unsigned i = 0; i < 5; i++) {
		rows[i] = sample_row(&r, SECOND);
		rows[i].run = arena_format(&a, "run-%u", i);
	}
	rows[4].hour += USAGE_HOUR_MS;
	write_rows(*state, &r, rows, 5);
	assert_done(store_usage_sum(*state, &a, &query, &sums, &err));
	assert_int_equal(sums.count, 2);
	query.after_day = sums.items[1].day;
	query.after_name = sums.items[1].name;
	query.limit = 10;
	assert_done(store_usage_sum(*state, &a, &query, &sums, &err));
	assert_int_equal(sums.count, 2);
	assert_string_equal(sums.items[1].name, "run-3");
	query.run = "run-3";
	assert_done(store_usage_sum(*state, &a, &query, &sums, &err));
	assert_int_equal(sums.count, 1);
	query.project_id = "another";
	assert_done(store_usage_sum(*state, &a, &query, &sums, &err));
	assert_int_equal(sums.count, 0);
}

static void a_deleted_sandbox_is_kept_until_its_time_is_metered(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct usage_record row;
	struct meter_record r;

	move(*state, id.text, SANDBOX_STARTED, SANDBOX_DELETING, NOW + 3 * SECOND);
	move(*state, id.text, SANDBOX_DELETING, SANDBOX_DELETED, NOW + 3 * SECOND);
	assert_done(store_sandbox_purge(*state, NOW + USAGE_DAY_MS, &err));
	assert_true(look(*state, &a, id.text, &r));
	row = sample_row(&r, 3 * SECOND);
	write_rows(*state, &r, &row, 1);
	assert_false(look(*state, &a, id.text, &r));
	assert_done(store_sandbox_purge(*state, NOW + USAGE_DAY_MS, &err));
	/* Its usage outlives it, until that is dropped too. */
	assert_int_equal(sum(*state, &a, USAGE_BY_SANDBOX).items[0].active_ms, 3 * SECOND);
	assert_done(store_usage_purge(*state, HOUR_0 + 1, &err));
	assert_int_equal(sum(*state, &a, USAGE_BY_SANDBOX).count, 0);
}

static void files_are_listed_while_their_sandbox_rests(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct meter_list list;
	struct meter_record r;
	struct usage_part part = {.seen = &r, .stored_mib = 64};

	assert_true(look(*state, &a, id.text, &r));
	assert_done(store_usage_write(*state, &part, 1, &err));
	assert_done(store_storage_list(*state, &a, NOW + USAGE_HOUR_MS, 10, &list, &err));
	assert_int_equal(list.count, 0);
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPED, NOW);
	assert_done(store_storage_list(*state, &a, NOW, 10, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_storage_list(*state, &a, NOW + 1, 10, &list, &err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].stored_mib, 64);
}

/* ---- balance ---- */

static void a_deposit_is_booked_once_and_spending_is_taken_off(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct deposit_record booked, wanted = {.project_id = PROJECT,
	                                        .id = "invoice-1",
	                                        .usd_micro = 5000000,
	                                        .created_at = NOW};
	struct balance_record balance;
	struct usage_record row;
	struct meter_record r;
	bool is_new;

	assert_done(store_balance_find(*state, &a, PROJECT, &balance, &err));
	assert_int_equal(balance.deposited_micro, 0);
	assert_done(store_deposit_add(*state, &a, &wanted, &booked, &is_new, &err));
	assert_true(is_new);
	wanted.created_at++;
	assert_done(store_deposit_add(*state, &a, &wanted, &booked, &is_new, &err));
	assert_false(is_new);
	assert_int_equal(booked.created_at, NOW);
	wanted.usd_micro++;
	assert_refused(store_deposit_add(*state, &a, &wanted, &booked, &is_new, &err),
	               ERROR_CONFLICT);
	assert_true(look(*state, &a, id.text, &r));
	row = sample_row(&r, SECOND);
	write_rows(*state, &r, &row, 1);
	assert_done(store_balance_find(*state, &a, PROJECT, &balance, &err));
	assert_int_equal(balance.deposited_micro, 5000000);
	assert_int_equal(balance.spent_micro, 10 * SECOND);
}

/* ---- budgets ---- */

static struct budget_record sample_budget(const char *id, enum budget_scope scope,
                                          const char *subject, enum budget_window span)
{
	return (struct budget_record){.id = id,
	                              .project_id = PROJECT,
	                              .scope = scope,
	                              .subject = subject,
	                              .span = span,
	                              .limit_micro = 1000,
	                              .warn_percent = 80,
	                              .window_at = budget_window_start(span, NOW),
	                              .warned_at = -1,
	                              .exceeded_at = -1,
	                              .created_at = NOW};
}

static void a_budget_knows_what_was_spent_before_it_and_hears_of_what_comes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	const struct budget_record budgets[] = {
	        sample_budget("b1", BUDGET_PROJECT, PROJECT, BUDGET_TOTAL),
	        sample_budget("b2", BUDGET_KEY, "key-1", BUDGET_MONTH),
	        sample_budget("b3", BUDGET_SANDBOX, id.text, BUDGET_DAY),
	        sample_budget("b4", BUDGET_KEY, "key-2", BUDGET_TOTAL),
	};
	struct budget_list list;
	struct usage_record row;
	struct meter_record r;

	assert_true(look(*state, &a, id.text, &r));
	row = sample_row(&r, 7);
	write_rows(*state, &r, &row, 1);
	for (size_t i = 0; i < COUNT_OF(budgets); i++)
		assert_done(store_budget_insert(*state, &budgets[i], 4, &err));
	assert_refused(store_budget_insert(*state, &budgets[0], 4, &err), ERROR_LIMIT);
	assert_true(look(*state, &a, id.text, &r));
	row = sample_row(&r, 3);
	write_rows(*state, &r, &row, 1);
	assert_done(store_budget_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 4);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(list.items[i].spent_micro, 100);
	assert_int_equal(list.items[3].spent_micro, 0);
	/* A new day begins anew; what comes late for the old one is the log's alone. */
	for (unsigned i = 0; i < 2; i++) {
		assert_true(look(*state, &a, id.text, &r));
		row = sample_row(&r, 1);
		row.hour += i == 0 ? USAGE_DAY_MS : 0;
		write_rows(*state, &r, &row, 1);
	}
	assert_done(store_budget_list(*state, &a, NULL, &list, &err));
	assert_int_equal(list.items[0].spent_micro, 120);
	assert_int_equal(list.items[2].spent_micro, 10);
	assert_int_equal(budget_spent(&list.items[2], NOW + USAGE_DAY_MS), 10);
	assert_int_equal(budget_spent(&list.items[2], NOW + 2 * USAGE_DAY_MS), 0);
	assert_int_equal(budget_spent(&list.items[0], NOW + 900 * USAGE_DAY_MS), 120);
}

static void a_row_counts_for_its_run_its_conversation_and_its_sandboxs_labels(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = id_new(), other = started(*state, "other");
	struct sandbox_record box = sample_sandbox(id.text, "box");
	/* Each is about the row below, or about nothing. */
	const struct {
		enum budget_scope scope;
		const char *subject;
		bool counts;
	} cases[] = {
	        {BUDGET_RUN, "run-1", true},
	        {BUDGET_RUN, "run-2", false},
	        {BUDGET_RUN, "chat-1", false},
	        {BUDGET_CONVERSATION, "chat-1", true},
	        {BUDGET_CONVERSATION, "run-1", false},
	        {BUDGET_LABEL, "team=a=b", true},
	        {BUDGET_LABEL, "team=a", false},
	        {BUDGET_LABEL, "odd=name=x", false}, /* "odd=name" is a label's whole name */
	        {BUDGET_LABEL, "key-1", false},
	        {BUDGET_KEY, "run-1", false},
	};
	char ids[COUNT_OF(cases)][8];
	struct budget_list list;
	struct usage_record rows[2];
	struct meter_record r;

	box.labels_json = "{\"team\":\"a=b\",\"odd=name\":\"x\"}";
	assert_done(store_sandbox_insert(*state, &box, 0, &err));
	move(*state, id.text, SANDBOX_PENDING, SANDBOX_CREATING, NOW - 5 * SECOND);
	move(*state, id.text, SANDBOX_CREATING, SANDBOX_STARTED, NOW);
	for (unsigned round = 0; round < 2; round++) {
		/* The first time before the budgets exist, the second time after. */
		assert_true(look(*state, &a, id.text, &r));
		rows[0] = sample_row(&r, 5);
		rows[0].run = "run-1";
		rows[0].conversation = "chat-1";
		rows[1] = sample_row(&r, 2); /* in the same hour, of no run and no conversation */
		write_rows(*state, &r, rows, 2);
		assert_true(look(*state, &a, other.text, &r));
		rows[0] = sample_row(&r, 3);
		write_rows(*state, &r, rows, 1);
		for (unsigned i = 0; round == 0 && i < COUNT_OF(cases); i++) {
			struct budget_record b;

			(void)snprintf(ids[i], sizeof(ids[i]), "b%02u", i);
			b = sample_budget(ids[i], cases[i].scope, cases[i].subject, BUDGET_TOTAL);
			assert_done(store_budget_insert(*state, &b, 99, &err));
		}
		assert_done(store_budget_list(*state, &a, PROJECT, &list, &err));
		assert_int_equal(list.count, COUNT_OF(cases));
		for (unsigned i = 0; i < COUNT_OF(cases); i++) {
			int64_t once = cases[i].scope == BUDGET_LABEL ? 70 : 50;

			if (list.items[i].spent_micro != (cases[i].counts ? once * (round + 1) : 0))
				fail_msg("%s %s: %" PRId64, budget_scope_name(cases[i].scope),
				         cases[i].subject, list.items[i].spent_micro);
		}
	}
	assert_int_equal(sum(*state, &a, USAGE_BY_CONVERSATION).count, 2);
}

static size_t count_told(struct store *s, const char *pattern)
{
	AUTO(arena_done) struct arena a = {0};
	struct event_list told;
	struct error err = {0};

	assert_done(store_event_list(s, &a, &(struct event_page){.pattern = pattern, .limit = 99},
	                             &told, &err));
	return told.count;
}

static void a_window_is_told_of_once_until_the_budget_changes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct budget_record b = sample_budget("b1", BUDGET_PROJECT, PROJECT, BUDGET_TOTAL);
	const struct event_record event = {
	        .at = 1, .project_id = PROJECT, .kind = "budget.warned", .text = "told once"};
	struct budget_notification telling = {
	        .id = "b1", .window_at = 0, .level = BUDGET_WARNED, .event = &event};
	bool is_first;

	assert_done(store_budget_insert(*state, &b, 10, &err));
	assert_int_equal(count_told(*state, "budget.created"), 1);
	assert_done(store_budget_notify(*state, &telling, &is_first, &err));
	assert_true(is_first);
	assert_done(store_budget_notify(*state, &telling, &is_first, &err));
	assert_false(is_first);
	telling.level = BUDGET_EXCEEDED;
	assert_done(store_budget_notify(*state, &telling, &is_first, &err));
	assert_true(is_first);
	assert_done(store_budget_notify(*state, &telling, &is_first, &err));
	assert_false(is_first);
	assert_int_equal(count_told(*state, "budget.warned"), 2); /* as the event says */
	b.limit_micro = 5000;
	b.warn_percent = 10;
	assert_done(store_budget_update(*state, &a, &b, &err));
	assert_int_equal(b.limit_micro, 5000);
	assert_int_equal(b.warn_percent, 10);
	assert_int_equal(b.created_at, NOW);
	assert_int_equal(count_told(*state, "budget.updated"), 1);
	assert_done(store_budget_notify(*state, &telling, &is_first, &err));
	assert_true(is_first);
	b.id = "none";
	assert_refused(store_budget_update(*state, &a, &b, &err), ERROR_NOT_FOUND);
	assert_refused(store_budget_remove(*state, "another", "b1", &err), ERROR_NOT_FOUND);
	assert_done(store_budget_remove(*state, PROJECT, "b1", &err));
	assert_refused(store_budget_remove(*state, PROJECT, "b1", &err), ERROR_NOT_FOUND);
	assert_int_equal(count_told(*state, "budget.deleted"), 1);
}

#define DAY (NOW - NOW % QUOTA_DAY_MS)

static int64_t sent_by(struct store *s, const char *scope, const char *subject, int64_t day)
{
	const struct quota_subject of = {scope, subject};
	struct error err = {0};
	int64_t bytes = -1;

	assert_done(store_quota_egress(s, &of, day, &bytes, &err));
	return bytes;
}

static void write_sent(struct store *s, const struct meter_record *seen, int64_t counter,
                       int64_t bytes, int64_t day)
{
	struct error err = {0};
	const struct usage_part part = {.seen = seen,
	                                .metered_ms = seen->metered_ms,
	                                .stored_at = seen->stored_at,
	                                .egress_seen = counter,
	                                .sent_bytes = bytes,
	                                .sent_day = day};

	assert_done(store_usage_write(s, &part, 1, &err));
}

static void sent_bytes_count_once_for_each_scope_and_day(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct meter_record first, then;

	assert_true(look(*state, &a, id.text, &first));
	write_sent(*state, &first, 700, 700, DAY);
	write_sent(*state, &first, 900, 900, DAY); /* another has written what it saw */
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY), 700);
	assert_int_equal(sent_by(*state, "key", "creator", DAY), 700);
	assert_int_equal(sent_by(*state, "key", "key-1", DAY), 0);
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY - QUOTA_DAY_MS), 0);
	assert_true(look(*state, &a, id.text, &then));
	assert_int_equal(then.egress_seen, 700);
	write_sent(*state, &then, 900, 200, DAY);
	assert_true(look(*state, &a, id.text, &then));
	write_sent(*state, &then, 950, 50, DAY - QUOTA_DAY_MS); /* the clock went back */
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY), 900);
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY - QUOTA_DAY_MS), 50);
	assert_done(store_egress_purge(*state, DAY, &err));
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY - QUOTA_DAY_MS), 0);
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY), 900);
}

static void a_start_begins_the_counter_anew_and_a_stop_that_fails_does_not(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct meter_record r;

	assert_true(look(*state, &a, id.text, &r));
	write_sent(*state, &r, 700, 700, DAY);
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPING, NOW + SECOND);
	move(*state, id.text, SANDBOX_STOPPING, SANDBOX_STARTED, NOW + SECOND);
	assert_true(look(*state, &a, id.text, &r));
	assert_int_equal(r.egress_seen, 700);
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_STOPPING, NOW + 2 * SECOND);
	move(*state, id.text, SANDBOX_STOPPING, SANDBOX_STOPPED, NOW + 2 * SECOND);
	move(*state, id.text, SANDBOX_STOPPED, SANDBOX_CREATING, NOW + 3 * SECOND);
	move(*state, id.text, SANDBOX_CREATING, SANDBOX_STARTED, NOW + 3 * SECOND);
	assert_true(look(*state, &a, id.text, &r));
	assert_int_equal(r.egress_seen, 0);
}

static bool write_last(struct store *s, const struct meter_record *seen, int64_t counter,
                       int64_t bytes)
{
	const struct usage_part part = {
	        .seen = seen, .egress_seen = counter, .sent_bytes = bytes, .sent_day = DAY};
	struct error err = {0};
	bool is_written;

	assert_done(store_sent_write(s, &part, &is_written, &err));
	return is_written;
}

static void the_last_bytes_count_beside_a_round_and_only_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct id id = started(*state, "box");
	struct meter_record round, end;
	struct error err = {0};

	assert_true(look(*state, &a, id.text, &round));
	assert_true(look(*state, &a, id.text, &end));
	assert_true(write_last(*state, &end, 500, 500));
	assert_false(write_last(*state, &end, 600, 600));
	/* What the round saw is old for bytes alone: its time counts. */
	const struct usage_part part = {.seen = &round,
	                                .metered_ms = 60 * SECOND,
	                                .egress_seen = 400,
	                                .sent_bytes = 400,
	                                .sent_day = DAY};

	assert_done(store_usage_write(*state, &part, 1, &err));
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY), 500);
	assert_true(look(*state, &a, id.text, &end));
	assert_int_equal(end.metered_ms, 60 * SECOND);
	assert_int_equal(end.egress_seen, 500);
}

static void a_resume_from_disk_begins_the_counter_anew(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct id id = started(*state, "box");
	struct meter_record before, r;

	assert_true(look(*state, &a, id.text, &before));
	write_sent(*state, &before, 700, 700, DAY);
	move(*state, id.text, SANDBOX_STARTED, SANDBOX_PAUSED, NOW + SECOND);
	assert_done(store_sent_restart(*state, id.text, &err));
	move(*state, id.text, SANDBOX_PAUSED, SANDBOX_STARTED, NOW + 2 * SECOND);
	/* A sample from before the pause: the counter is 0 as it was then. */
	write_sent(*state, &before, 900, 900, DAY);
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY), 700);
	assert_true(look(*state, &a, id.text, &r));
	write_sent(*state, &r, 100, 100, DAY);
	assert_int_equal(sent_by(*state, "project", PROJECT, DAY), 800);
}

static const struct CMUnitTest tests[] = {
        EACH(the_last_bytes_count_beside_a_round_and_only_once),
        EACH(a_resume_from_disk_begins_the_counter_anew),
        EACH(active_time_is_that_in_started_and_nothing_else),
        EACH(a_server_is_told_of_its_own_sandboxes_alone),
        EACH(a_stop_that_fails_is_free_and_time_goes_on_after_it),
        EACH(a_clock_that_went_backwards_adds_nothing),
        EACH(a_sandbox_that_was_lost_with_its_host_has_been_active_as_long_as_is_metered),
        EACH(what_was_written_is_not_written_again),
        EACH(rows_of_the_same_hour_key_run_and_reason_become_one),
        EACH(sums_are_bounded_by_time_and_filters_and_come_in_pages),
        EACH(a_deleted_sandbox_is_kept_until_its_time_is_metered),
        EACH(files_are_listed_while_their_sandbox_rests),
        EACH(a_deposit_is_booked_once_and_spending_is_taken_off),
        EACH(a_budget_knows_what_was_spent_before_it_and_hears_of_what_comes),
        EACH(a_row_counts_for_its_run_its_conversation_and_its_sandboxs_labels),
        EACH(a_window_is_told_of_once_until_the_budget_changes),
        EACH(sent_bytes_count_once_for_each_scope_and_day),
        EACH(a_start_begins_the_counter_anew_and_a_stop_that_fails_does_not),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
