/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/use.h"
#include "harness.h"
#include "store/events.h"
#include "store/keys.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "store/templates.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"
#include "fleet/usage/meters.h"
#include "fleet/usage/usage.h"
#include "store/usage.h"

static void let_pass(int64_t ms)
{
	int64_t until = clock_unix_ms() + ms;

	while (clock_unix_ms() < until)
		;
}

#define METER_MAX 64 /* runs */

/* A vCPU costs a dollar a second from now on. */
static void set_prices(struct harness *h)
{
	h->config.price_vcpu_second = 1;
	h->config.events_max = 1000;
	h->config.events_keep_ms = USAGE_DAY_MS;
	harness_restart(h);
}

static struct usage_sums sum(struct harness *h, enum usage_group group)
{
	const struct usage_query query = {.project_id = PROJECT,
	                                  .to = INT64_MAX,
	                                  .group = group,
	                                  .after_day = -1,
	                                  .after_name = "",
	                                  .limit = 100};
	struct error err = {0};
	struct usage_sums sums;

	assert_done(fleet_usage_sum(h->fleet, &h->arena, &query, &sums, &err));
	return sums;
}

static int64_t total_ms(struct harness *h)
{
	struct usage_sums sums = sum(h, USAGE_BY_NOTHING);

	return sums.count > 0 ? sums.items[0].active_ms : 0;
}

static int64_t active_ms_of(const struct usage_sums *sums, const char *name)
{
	for (size_t i = 0; i < sums->count; i++)
		if (strcmp(sums->items[i].name, name) == 0)
			return sums->items[i].active_ms;
	return -1;
}

static void hold(struct harness *h, const char *id, const struct fleet_use *use,
                 struct fleet_hold *ret)
{
	struct error err = {0};
	struct sandbox_record r;

	assert_done(fleet_hold(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, id, use}, &r, ret,
	                       &err));
}

static void use_once(struct harness *h, const char *id, const struct fleet_use *use)
{
	struct fleet_hold held = {0};

	hold(h, id, use, &held);
	fleet_unhold(&held);
}

static void remove_it(struct harness *h, const char *id)
{
	struct error err = {0};

	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, id},
	                         SANDBOX_REASON_USER, &err));
}

/* ---- time ---- */

static void a_sandbox_that_nobody_uses_is_idle_on_its_makers_key(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.key_id = "maker"});
	struct usage_sums sums;

	let_pass(20);
	sums = sum(h, USAGE_BY_REASON);
	assert_int_equal(sums.count, 1);
	assert_string_equal(sums.items[0].name, "idle");
	assert_in_range(sums.items[0].active_ms, 20, 2000);
	assert_string_equal(sum(h, USAGE_BY_KEY).items[0].name, "maker");
	assert_string_equal(sum(h, USAGE_BY_SANDBOX).items[0].name, r.id);
}

static void time_is_divided_among_those_who_used_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct usage_sums by_reason, by_run, total;

	(void)sum(h, USAGE_BY_DAY); /* what was before is idle */
	for (unsigned i = 0; i < 3; i++)
		use_once(h, r.id, &(struct fleet_use){"k1", "run-7", USAGE_AGENT_RUN});
	use_once(h, r.id, &(struct fleet_use){"k2", NULL, USAGE_FILE_OPS});
	let_pass(40);
	by_run = sum(h, USAGE_BY_RUN);
	by_reason = sum(h, USAGE_BY_REASON);
	total = sum(h, USAGE_BY_NOTHING);
	assert_in_range(active_ms_of(&by_run, "run-7"), 30, 2000);
	assert_in_range(active_ms_of(&by_reason, "file_ops"), 10, 2000);
	assert_true(total.items[0].active_ms >= 40);
}

static void what_goes_on_from_one_write_to_the_next_is_counted_in_both(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct fleet_hold held = {0};
	struct usage_sums sums;

	hold(h, r.id, &(struct fleet_use){"k1", NULL, USAGE_TERMINAL}, &held);
	let_pass(10);
	(void)sum(h, USAGE_BY_REASON);
	let_pass(20);
	sums = sum(h, USAGE_BY_REASON);
	assert_in_range(active_ms_of(&sums, "terminal"), 30, 2000);
	fleet_unhold(&held);
	(void)sum(h, USAGE_BY_REASON); /* its end was before this one */
	let_pass(10);
	sums = sum(h, USAGE_BY_REASON);
	assert_in_range(active_ms_of(&sums, "idle"), 10, 2000);
}

static void who_used_a_sandbox_is_known_after_it_is_gone(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct usage_sums sums;

	use_once(h, r.id, &(struct fleet_use){"k1", "short", USAGE_AGENT_RUN});
	let_pass(5);
	remove_it(h, r.id);
	assert_gone(h, r.id);
	sums = sum(h, USAGE_BY_RUN);
	assert_in_range(active_ms_of(&sums, "short"), 5, 2000);
	/* Nothing is added afterwards. */
	let_pass(5);
	assert_int_equal(total_ms(h), active_ms_of(&sums, "short"));
}

static void more_users_than_the_meter_tells_apart_lose_no_time(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct fleet_hold holds[80] = {{0}};
	struct usage_sums sums;
	int64_t total = 0;

	(void)sum(h, USAGE_BY_RUN);
	for (unsigned i = 0; i < COUNT_OF(holds); i++) {
		const char *run = arena_format(&h->arena, "run-%u", i);

		hold(h, r.id, &(struct fleet_use){"k1", run, USAGE_AGENT_RUN}, &holds[i]);
	}
	let_pass(100);
	sums = sum(h, USAGE_BY_RUN);
	assert_in_range(sums.count, METER_MAX, METER_MAX + 1); /* with that of nobody */
	for (size_t i = 0; i < sums.count; i++)
		total += sums.items[i].active_ms;
	assert_in_range(total, 100, 3000);
	for (unsigned i = 0; i < COUNT_OF(holds); i++)
		fleet_unhold(&holds[i]);
}

/* What one caller makes up must not be charged to another one. */
static void many_conversations_or_runs_do_not_hide_a_use(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct fleet_hold holds[100] = {{0}}, other = {0};
	struct usage_sums sums;

	(void)sum(h, USAGE_BY_RUN);
	for (unsigned i = 0; i < COUNT_OF(holds); i++) {
		const char *text = arena_format(&h->arena, "made-up-%u", i);
		const char *run = i < COUNT_OF(holds) / 2 ? "flood" : text;

		hold(h, r.id, &(struct fleet_use){"k1", run, USAGE_AGENT_RUN, text}, &holds[i]);
	}
	hold(h, r.id, &(struct fleet_use){"k2", "honest", USAGE_AGENT_RUN, "talk"}, &other);
	let_pass(400);
	sums = sum(h, USAGE_BY_RUN);
	assert_true(active_ms_of(&sums, "flood") >= 60);
	sums = sum(h, USAGE_BY_KEY);
	assert_true(active_ms_of(&sums, "k2") > 0);
	for (unsigned i = 0; i < COUNT_OF(holds); i++)
		fleet_unhold(&holds[i]);
	fleet_unhold(&other);
}

static void a_server_that_goes_away_and_comes_back_neither_loses_nor_doubles_time(void **state)
{
	struct harness *h = *state;
	int64_t before = clock_unix_ms(), after;
	struct sandbox_record r = create(h);
	int64_t started = clock_unix_ms();
	int64_t ended, ms;

	let_pass(10);
	(void)sum(h, USAGE_BY_DAY);
	let_pass(10);
	harness_restart(h); /* it had not written the last of it */
	let_pass(10);
	ended = clock_unix_ms();
	remove_it(h, r.id);
	after = clock_unix_ms();
	ms = total_ms(h);
	assert_in_range(ms, 30, after - before);
	assert_true(ms >= ended - started);
	assert_int_equal(total_ms(h), ms);
}

static void who_asks_all_the_time_does_not_keep_the_tick_from_sampling(void **state)
{
	struct harness *h = *state;

	(void)create(h);
	fleet_tick(h->fleet);
	h->config.usage_flush_ms = 30;
	h->fake.calls[CALL_STATS] = 0;
	for (unsigned i = 0; i < 10; i++) {
		let_pass(5);
		(void)sum(h, USAGE_BY_DAY);
	}
	assert_int_equal(h->fake.calls[CALL_STATS], 0);
	let_pass(5);
	fleet_tick(h->fleet);
	assert_int_equal(h->fake.calls[CALL_STATS], 1);
}

static void stopped_time_is_free(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = create(h);
	const struct fleet_ref ref = {PROJECT, r.id};
	int64_t before, since;

	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	before = total_ms(h);
	let_pass(200);
	since = clock_unix_ms();
	assert_done(fleet_start(h->fleet, &h->arena, &ref, &r, &err));
	assert_true(total_ms(h) - before <= clock_unix_ms() - since);
}

static void a_sandbox_of_another_server_is_left_to_it_until_it_is_late(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r = {.id = "oooooooooooooooooooo",
	                           .project_id = PROJECT,
	                           .name = "theirs",
	                           .provider = "fake",
	                           .desired = SANDBOX_STARTED,
	                           .actual = SANDBOX_STARTED,
	                           .resources = {.cpu = 1},
	                           .created_at = clock_unix_ms()};
	struct template_list templates;

	assert_done(store_template_list(h->store, &h->arena, PROJECT, &templates, &err));
	r.template_id = templates.items[0].id;
	assert_done(store_sandbox_insert(h->store, &r, 0, &err));
	h->config.usage_flush_ms = 12;
	let_pass(5);
	(void)sum(h, USAGE_BY_SANDBOX);
	assert_int_equal(sum(h, USAGE_BY_SANDBOX).count, 0);
	let_pass(3 * 12 + 1);
	assert_int_equal(sum(h, USAGE_BY_SANDBOX).count, 1);
}

/* ---- budgets ---- */

static struct budget_record set_budget(struct harness *h, struct fleet_budget request)
{
	struct error err = {0};
	struct budget_record made;

	request.project_id = PROJECT;
	request.warn_percent = 80;
	assert_done(fleet_budget_create(h->fleet, &h->arena, &request, &made, &err));
	return made;
}

static void assert_create_refused(struct harness *h, const char *key_id)
{
	struct error err;
	struct sandbox_record r;

	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .key_id = key_id,
	                                                   .internet = -1,
	                                                   .wait = true},
	                            &r, &err),
	               ERROR_BUDGET);
}

static void a_budget_that_is_spent_stops_sandboxes_and_refuses_new_ones(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct sandbox_record r;
	struct budget_record budget;
	struct event_list events;

	set_prices(h);
	r = create(h);
	budget = set_budget(h, (struct fleet_budget){.limit_micro = 5000});
	let_pass(10);
	fleet_tick(h->fleet);
	r = find(h, r.id);
	assert_int_equal(r.actual, SANDBOX_STOPPED);
	assert_int_equal(r.reason, SANDBOX_REASON_BUDGET);
	assert_refused(
	        fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err),
	        ERROR_BUDGET);
	assert_non_null(strstr(err.text, budget.id));
	assert_create_refused(h, NULL);
	/* One warning, however often it is looked at. */
	fleet_tick(h->fleet);
	assert_done(store_event_list(h->store, &h->arena,
	                             &(struct event_page){.project_id = PROJECT,
	                                                  .pattern = "budget.warned",
	                                                  .limit = 100},
	                             &events, &err));
	assert_int_equal(events.count, 1);
	assert_non_null(strstr(events.items[0].text, budget.id));
	assert_done(fleet_budget_remove(h->fleet, PROJECT, budget.id, &err));
	assert_done(fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
}

static void a_budget_that_is_spent_is_so_after_a_restart(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;

	set_prices(h);
	r = create(h);
	let_pass(10);
	(void)set_budget(h, (struct fleet_budget){.limit_micro = 5000, .window = BUDGET_MONTH});
	remove_it(h, r.id);
	harness_restart(h);
	fleet_tick(h->fleet);
	assert_create_refused(h, NULL);
}

static void budgets_of_a_sandbox_or_key_end_only_what_is_theirs(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	const struct key_record key = {.id = "kkkkkkkkkkkkkkkkkkkk",
	                               .project_id = PROJECT,
	                               .name = "k",
	                               .hash = {1},
	                               .created_at = 1};
	struct sandbox_record one, two, three;

	set_prices(h);
	assert_done(store_key_insert(h->store, &key, &err));
	one = create_with(h, (struct fleet_create){.name = "one"});
	two = create_with(h, (struct fleet_create){.key_id = key.id});
	three = create(h);
	(void)set_budget(h, (struct fleet_budget){.scope = BUDGET_SANDBOX,
	                                          .subject = "one",
	                                          .limit_micro = 5000});
	(void)set_budget(h, (struct fleet_budget){
	                            .scope = BUDGET_KEY, .subject = key.id, .limit_micro = 5000});
	let_pass(10);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, one.id).actual, SANDBOX_STOPPED);
	assert_int_equal(find(h, two.id).actual, SANDBOX_STOPPED);
	assert_int_equal(find(h, three.id).actual, SANDBOX_STARTED);
	assert_create_refused(h, key.id);
	(void)create(h);
}

static void a_budget_of_a_label_stops_all_sandboxes_that_have_it(void **state)
{
	struct harness *h = *state;
	struct json_pair teams[] = {{"team", "a=b"}, {"team", "other"}};
	struct error err = {0};
	struct sandbox_record one, two, other, r;

	set_prices(h);
	one = create_with(h, (struct fleet_create){.labels = {&teams[0], 1, true}});
	two = create_with(h, (struct fleet_create){.labels = {&teams[0], 1, true}});
	other = create_with(h, (struct fleet_create){.labels = {&teams[1], 1, true}});
	(void)set_budget(h, (struct fleet_budget){.scope = BUDGET_LABEL,
	                                          .subject = "team=a=b",
	                                          .limit_micro = 5000});
	let_pass(10);
	fleet_tick(h->fleet);
	assert_int_equal(find(h, one.id).actual, SANDBOX_STOPPED);
	assert_int_equal(find(h, one.id).reason, SANDBOX_REASON_BUDGET);
	assert_int_equal(find(h, two.id).actual, SANDBOX_STOPPED);
	assert_int_equal(find(h, other.id).actual, SANDBOX_STARTED);
	assert_refused(
	        fleet_start(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, one.id}, &r, &err),
	        ERROR_BUDGET);
	assert_string_equal(err.quota.scope, "label");
	assert_refused(fleet_create(h->fleet, &h->arena,
	                            &(struct fleet_create){.project_id = PROJECT,
	                                                   .labels = {&teams[0], 1, true},
	                                                   .internet = -1,
	                                                   .wait = true},
	                            &r, &err),
	               ERROR_BUDGET);
	(void)create_with(h, (struct fleet_create){.labels = {&teams[1], 1, true}});
}

/* What the run has spent is known from the log, and the budget that begins anew last speaks. */
static void of_budgets_that_are_spent_the_tightest_speaks(void **state)
{
	struct harness *h = *state;
	const struct spender spender = {
	        .project_id = PROJECT, .run = "run-1", .conversation = "chat-1"};
	const struct spender other = {.project_id = "another", .run = "run-1"};
	struct error err = {0};
	struct sandbox_record r;

	set_prices(h);
	r = create(h);
	use_once(h, r.id, &(struct fleet_use){"k", "run-1", USAGE_AGENT_RUN, "chat-1"});
	let_pass(10);
	(void)sum(h, USAGE_BY_RUN);
	assert_done(budgets_check(h->fleet, &spender, &err));
	(void)set_budget(h, (struct fleet_budget){.scope = BUDGET_RUN,
	                                          .subject = "run-1",
	                                          .window = BUDGET_DAY,
	                                          .limit_micro = 2000});
	assert_refused(budgets_check(h->fleet, &spender, &err), ERROR_BUDGET);
	assert_string_equal(err.quota.scope, "run");
	assert_in_range(err.retry_after_s, 1, 24 * 3600);
	(void)set_budget(h, (struct fleet_budget){.scope = BUDGET_CONVERSATION,
	                                          .subject = "chat-1",
	                                          .window = BUDGET_TOTAL,
	                                          .limit_micro = 3000});
	assert_refused(budgets_check(h->fleet, &spender, &err), ERROR_BUDGET);
	assert_string_equal(err.quota.scope, "conversation");
	(void)set_budget(h, (struct fleet_budget){.scope = BUDGET_RUN,
	                                          .subject = "run-1",
	                                          .window = BUDGET_TOTAL,
	                                          .limit_micro = 1000});
	assert_refused(budgets_check(h->fleet, &spender, &err), ERROR_BUDGET);
	assert_string_equal(err.quota.scope, "run");
	assert_true(err.quota.limit < 0.0015);
	/* A run of the same name of another project, and the sandbox itself, go on. */
	assert_done(budgets_check(h->fleet, &other, &err));
	fleet_tick(h->fleet);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
}

static void a_budget_of_what_is_not_there_is_refused(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct budget_record made;
	static const struct {
		struct fleet_budget request;
		enum error_code code;
	} rows[] = {
	        {{.scope = BUDGET_SANDBOX, .subject = "nosuch"}, ERROR_NOT_FOUND},
	        {{.scope = BUDGET_KEY, .subject = "nosuch"}, ERROR_NOT_FOUND},
	        {{.scope = BUDGET_KEY}, ERROR_INVALID},
	        {{.scope = BUDGET_PROJECT, .subject = "another"}, ERROR_INVALID},
	        {{.scope = BUDGET_RUN}, ERROR_INVALID},
	        {{.scope = BUDGET_RUN, .subject = "a b"}, ERROR_INVALID},
	        {{.scope = BUDGET_LABEL, .subject = "team"}, ERROR_INVALID},
	        {{.scope = BUDGET_LABEL, .subject = "=x"}, ERROR_INVALID},
	        {{.scope = BUDGET_CONVERSATION, .subject = ""}, ERROR_INVALID},
	        {{.scope = BUDGET_CONVERSATION, .subject = "a\"b"}, ERROR_INVALID},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct fleet_budget request = rows[i].request;

		request.project_id = PROJECT;
		request.limit_micro = 1;
		assert_refused(fleet_budget_create(h->fleet, &h->arena, &request, &made, &err),
		               rows[i].code);
	}
}

int main(void)
{
	return RUN_EACH(EACH(a_sandbox_that_nobody_uses_is_idle_on_its_makers_key),
	                EACH(time_is_divided_among_those_who_used_it),
	                EACH(what_goes_on_from_one_write_to_the_next_is_counted_in_both),
	                EACH(who_used_a_sandbox_is_known_after_it_is_gone),
	                EACH(more_users_than_the_meter_tells_apart_lose_no_time),
	                EACH(many_conversations_or_runs_do_not_hide_a_use),
	                EACH(a_server_that_goes_away_and_comes_back_neither_loses_nor_doubles_time),
	                EACH(who_asks_all_the_time_does_not_keep_the_tick_from_sampling),
	                EACH(stopped_time_is_free),
	                EACH(a_sandbox_of_another_server_is_left_to_it_until_it_is_late),
	                EACH(a_budget_that_is_spent_stops_sandboxes_and_refuses_new_ones),
	                EACH(a_budget_that_is_spent_is_so_after_a_restart),
	                EACH(budgets_of_a_sandbox_or_key_end_only_what_is_theirs),
	                EACH(a_budget_of_a_label_stops_all_sandboxes_that_have_it),
	                EACH(of_budgets_that_are_spent_the_tightest_speaks),
	                EACH(a_budget_of_what_is_not_there_is_refused));
}
