/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/pool.h"
#include "unit.h"

#define NOW INT64_C(10000000)

static struct prepared_pool some_pool(void)
{
	return (struct prepared_pool){.size = {.min = 2, .target = 6, .max = 10}};
}

TEST(a_pool_that_nobody_asks_holds_its_minimum)
{
	struct prepared_pool pool = some_pool();

	assert_int_equal(pool_goal(&pool, NOW), 2);
	pool.asked_ms = NOW - POOL_IDLE_MS - 1;
	assert_int_equal(pool_goal(&pool, NOW), 2);
}

TEST(a_pool_in_use_aims_at_its_target)
{
	struct prepared_pool pool = some_pool();

	pool.asked_ms = NOW - POOL_IDLE_MS;
	assert_int_equal(pool_goal(&pool, NOW), 6);
}

TEST(misses_let_a_pool_grow_up_to_its_maximum)
{
	struct prepared_pool pool = some_pool();

	pool.asked_ms = NOW;
	pool_miss(&pool, NOW);
	assert_int_equal(pool_goal(&pool, NOW), 7);
	for (int i = 0; i < 100; i++)
		pool_miss(&pool, NOW);
	assert_int_equal(pool_goal(&pool, NOW), 10);
	assert_int_equal(pool.misses, 101);
}

TEST(a_burst_ends_when_nothing_was_missed_for_a_while)
{
	struct prepared_pool pool = some_pool();

	pool_miss(&pool, NOW);
	pool_miss(&pool, NOW);
	pool.asked_ms = NOW + POOL_BURST_MS + 1;
	assert_int_equal(pool_goal(&pool, pool.asked_ms), 6);
	pool_miss(&pool, pool.asked_ms);
	assert_int_equal(pool_goal(&pool, pool.asked_ms), 7);
}

TEST(all_goals_together_stay_below_the_maximum_and_nobody_gets_nothing)
{
	assert_int_equal(pool_share(8, 16, 64), 8);
	assert_int_equal(pool_share(60, 120, 64), 32);
	assert_int_equal(pool_share(100, 101, 64), 63);
	assert_int_equal(pool_share(1, 101, 64), 1);
	assert_int_equal(pool_share(0, 101, 64), 0);
	assert_int_equal(pool_share(5, 5, 0), 0);
}

TEST(what_is_granted_never_exceeds_the_maximum_by_more_than_the_small_ones)
{
	unsigned goals[] = {1, 3, 7, 64, 250}, sum = 0, granted = 0;

	for (unsigned i = 0; i < COUNT_OF(goals); i++)
		sum += goals[i];
	for (unsigned i = 0; i < COUNT_OF(goals); i++)
		granted += pool_share(goals[i], sum, 64);
	assert_true(granted <= 64 + 2);
}

TEST(a_refill_that_is_not_urgent_waits_for_the_request_before_it)
{
	struct prepared_pool pool = some_pool();
	int64_t wait_ms;

	pool.ready_count = 5;
	assert_false(pool_is_due(&pool, 6, 5, &wait_ms));
	assert_int_equal(wait_ms, POOL_REST_MS - 5);
	assert_true(pool_is_due(&pool, 6, POOL_REST_MS, &wait_ms));
	assert_int_equal(wait_ms, 0);
}

TEST(a_refill_is_urgent_when_more_than_half_is_missing)
{
	struct prepared_pool pool = some_pool();
	int64_t wait_ms;

	pool.ready_count = 1;
	pool.preparing_count = 1;
	assert_true(pool_is_due(&pool, 6, 0, &wait_ms));
	pool.preparing_count = 2;
	assert_false(pool_is_due(&pool, 6, 0, &wait_ms));
}

TEST(a_full_pool_and_one_that_keeps_failing_are_left_alone)
{
	struct prepared_pool pool = some_pool();
	int64_t wait_ms;

	pool.ready_count = 6;
	assert_false(pool_is_due(&pool, 6, 1000, &wait_ms));
	assert_int_equal(wait_ms, 0);
	pool.ready_count = 0;
	pool.failures = 3;
	assert_false(pool_is_due(&pool, 6, 1000, &wait_ms));
	assert_int_equal(wait_ms, 0);
}

/* One pool is emptied faster than it is filled, the other lacks two. */
TEST(pools_that_are_due_take_turns)
{
	struct prepared_pool emptied = some_pool(), other = some_pool();
	uint64_t refills = 0;
	int64_t wait_ms;

	other.ready_count = 4;
	for (unsigned i = 0; i < 4; i++) {
		bool is_due = pool_is_due(&other, 6, POOL_REST_MS, &wait_ms);
		struct prepared_pool *next =
		        is_due && pool_goes_before(&other, &emptied) ? &other : &emptied;

		next->refill = ++refills;
		if (next == &other)
			other.ready_count++;
	}
	assert_int_equal(other.ready_count, 6);
	assert_int_equal(emptied.refill, 4 - 1);
}

TEST(blueprints_are_equal_only_in_everything)
{
	const struct blueprint a = {.internet = true,
	                            .template_name = "base",
	                            .limits = {.cpu_milli = 1, .memory_bytes = 2, .pids = 3},
	                            .disk_bytes = 4};
	struct blueprint b = a;

	assert_true(blueprint_equals(&a, &b));
	b.internet = false;
	assert_false(blueprint_equals(&a, &b));
	b = a;
	b.limits.pids = 9;
	assert_false(blueprint_equals(&a, &b));
	b = a;
	b.template_name[0] = 'c';
	assert_false(blueprint_equals(&a, &b));
	b = a;
	b.stack.count = 1;
	assert_false(blueprint_equals(&a, &b));
	b = a;
	b.privileges = true;
	assert_false(blueprint_equals(&a, &b));
	b = a;
	b.disk_bytes = 5;
	assert_false(blueprint_equals(&a, &b));
}

int main(void)
{
	return RUN(CASE(a_pool_that_nobody_asks_holds_its_minimum),
	           CASE(a_pool_in_use_aims_at_its_target),
	           CASE(misses_let_a_pool_grow_up_to_its_maximum),
	           CASE(a_burst_ends_when_nothing_was_missed_for_a_while),
	           CASE(all_goals_together_stay_below_the_maximum_and_nobody_gets_nothing),
	           CASE(what_is_granted_never_exceeds_the_maximum_by_more_than_the_small_ones),
	           CASE(a_refill_that_is_not_urgent_waits_for_the_request_before_it),
	           CASE(a_refill_is_urgent_when_more_than_half_is_missing),
	           CASE(a_full_pool_and_one_that_keeps_failing_are_left_alone),
	           CASE(pools_that_are_due_take_turns),
	           CASE(blueprints_are_equal_only_in_everything));
}
