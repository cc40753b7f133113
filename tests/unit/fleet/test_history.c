/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"
#include "fleet/usage/history.h"
#include "harness.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"

#define ALL ((struct fleet_period){0, 0})

static struct provider_stats told;
static unsigned asked;
static bool is_silent;

static int tell(struct provider *p, const char *id, struct provider_stats *ret, struct error *err)
{
	(void)p;
	(void)id;
	asked++;
	if (is_silent)
		return FAIL(err, ERROR_UNAVAILABLE, "it says nothing");
	*ret = told;
	return 0;
}

static int open_told(void **state)
{
	struct harness *h;

	if (harness_open(state) < 0)
		return -1;
	h = *state;
	h->fake.own.stats = tell;
	h->config.metrics_every_ms = 1;
	h->config.events_max = 1000;
	h->config.events_keep_ms = 3600000;
	told = (struct provider_stats){.sampled_unix_ms = clock_unix_ms() - 600000,
	                               .uptime_ms = 1000,
	                               .memory_bytes = 100,
	                               .memory_limit_bytes = 1000};
	asked = 0;
	is_silent = false;
	return 0;
}

/* A round, `ms` after the one before, in which so much of a processor was used. */
static void sample(struct harness *h, int64_t ms, uint64_t cpu_us)
{
	int64_t until = clock_monotonic_ms() + 2;

	told.sampled_unix_ms += ms;
	told.uptime_ms += ms;
	told.cpu_usage_us += cpu_us;
	while (clock_monotonic_ms() < until)
		;
	fleet_tick(h->fleet);
}

static struct fleet_history history(struct harness *h, const char *id, struct fleet_period period)
{
	struct sandbox_record r = find(h, id);
	struct fleet_history found;
	struct error err = {0};

	assert_done(fleet_history(h->fleet, &h->arena, &r, &period, &found, &err));
	return found;
}

static void samples_are_kept_with_the_load_between_them(void **state)
{
	struct harness *h = *state;
	const char *id = create(h).id;
	struct fleet_history found;
	int64_t first;

	sample(h, 0, 500000);
	first = told.sampled_unix_ms;
	sample(h, 10000, 5000000);
	sample(h, 10000, 20000000);
	found = history(h, id, (struct fleet_period){0, first + 20000});
	assert_int_equal(found.count, 3);
	assert_int_equal(found.items[0].at, first);
	assert_true(found.items[0].cpu_percent > 49.9F && found.items[0].cpu_percent < 50.1F);
	assert_true(found.items[1].cpu_percent > 49.9F && found.items[1].cpu_percent < 50.1F);
	assert_true(found.items[2].cpu_percent > 199.9F && found.items[2].cpu_percent < 200.1F);
	assert_int_equal(found.memory_limit_bytes, 1000);
}

static void a_period_has_both_its_ends_and_nothing_else(void **state)
{
	struct harness *h = *state;
	const char *id = create(h).id;
	struct fleet_history found;
	int64_t first = told.sampled_unix_ms;
	unsigned before;

	for (unsigned i = 0; i < 5; i++)
		sample(h, i ? 1000 : 0, 0);
	before = asked;
	found = history(h, id, (struct fleet_period){first + 1000, first + 3000});
	assert_int_equal(found.count, 3);
	assert_int_equal(found.items[0].at, first + 1000);
	assert_int_equal(found.items[2].at, first + 3000);
	assert_int_equal(history(h, id, (struct fleet_period){first + 9000, first + 9999}).count,
	                 0);
	/* What is over is known. */
	assert_int_equal(asked, before);
}

static void one_of_now_is_the_last_while_it_runs(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct error err = {0};
	struct fleet_history found;

	sample(h, 0, 0);
	/* Fresh, however slow this machine is. */
	told.sampled_unix_ms = clock_unix_ms() + 60000;
	told.memory_bytes = 7;
	found = history(h, r.id, ALL);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[1].memory_bytes, 7);
	sample(h, 0, 0);
	asked = 0;
	assert_int_equal(history(h, r.id, ALL).count, 2);
	assert_int_equal(asked, 0);
	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id}, &r, &err));
	assert_int_equal(history(h, r.id, ALL).count, 2);
	asked = 0;
	sample(h, 1000, 0);
	assert_int_equal(asked, 0);
}

static void one_that_is_deleted_leaves_no_samples(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create(h);
	struct error err = {0};
	struct fleet_history found;

	sample(h, 0, 0);
	r = find(h, r.id);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	r.actual = SANDBOX_STOPPED;
	assert_done(fleet_history(h->fleet, &h->arena, &r, &ALL, &found, &err));
	assert_int_equal(found.count, 0);
}

static void only_the_newest_are_kept(void **state)
{
	struct harness *h = *state;
	const char *id = create(h).id;
	struct fleet_history found;

	told.sampled_unix_ms = clock_unix_ms() + 3600000;
	for (unsigned i = 0; i < FLEET_HISTORY_MAX + 10; i++)
		sample(h, 1, 0);
	found = history(h, id, (struct fleet_period){0, INT64_MAX});
	assert_true(found.count >= FLEET_HISTORY_MAX && found.count <= FLEET_HISTORY_MAX + 1);
	assert_int_equal(found.items[FLEET_HISTORY_MAX - 1].at, told.sampled_unix_ms);
	assert_int_equal(found.items[0].at, told.sampled_unix_ms - FLEET_HISTORY_MAX + 1);
}

static void a_counter_that_began_anew_is_no_load_below_nothing(void **state)
{
	struct harness *h = *state;
	const char *id = create(h).id;
	struct fleet_history found;

	sample(h, 0, 9000000);
	told.cpu_usage_us = 100000;
	told.uptime_ms = 0;
	sample(h, 1000, 0);
	found = history(h, id, (struct fleet_period){0, told.sampled_unix_ms});
	assert_int_equal(found.count, 2);
	assert_true(found.items[1].cpu_percent > 9.9F && found.items[1].cpu_percent < 10.1F);
}

static void a_silent_provider_is_asked_once_a_round(void **state)
{
	struct harness *h = *state;

	(void)create(h);
	(void)create_with(h, (struct fleet_create){.name = "other"});
	is_silent = true;
	h->config.usage_flush_ms = 3600000;
	fleet_tick(h->fleet);
	asked = 0;
	sample(h, 1000, 0);
	assert_int_equal(asked, 1);
	is_silent = false;
	sample(h, 1000, 0);
	assert_int_equal(asked, 3);
}

static void what_was_long_ago_is_forgotten(void **state)
{
	struct harness *h = *state;
	const char *id = create(h).id;
	struct error err = {0};
	struct sandbox_record r;

	told.sampled_unix_ms = clock_unix_ms() - 7200000;
	sample(h, 0, 0);
	assert_done(fleet_stop(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, id}, &r, &err));
	assert_int_equal(history(h, id, ALL).count, 1);
	sample(h, 0, 0);
	assert_int_equal(history(h, id, ALL).count, 0);
}

static void without_a_history_there_is_still_the_moment(void **state)
{
	struct harness *h = *state;
	const char *id = create(h).id;

	h->config.metrics_every_ms = 0;
	sample(h, 1000, 0);
	assert_int_equal(history(h, id, ALL).count, 1);
}

#define CASE_OF(name) cmocka_unit_test_setup_teardown(name, open_told, harness_close)

int main(void)
{
	return RUN_EACH(CASE_OF(samples_are_kept_with_the_load_between_them),
	                CASE_OF(a_period_has_both_its_ends_and_nothing_else),
	                CASE_OF(one_of_now_is_the_last_while_it_runs),
	                CASE_OF(one_that_is_deleted_leaves_no_samples),
	                CASE_OF(only_the_newest_are_kept),
	                CASE_OF(a_counter_that_began_anew_is_no_load_below_nothing),
	                CASE_OF(a_silent_provider_is_asked_once_a_round),
	                CASE_OF(what_was_long_ago_is_forgotten),
	                CASE_OF(without_a_history_there_is_still_the_moment));
}
