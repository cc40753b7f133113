/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "sandbox/price.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage_reason.h"

#include <math.h>
#include <string.h>

#include "unit.h"

#define NOW INT64_C(1790000000000)
#define MINUTE INT64_C(60000)

/* ---- time ---- */

TEST(a_stretch_that_goes_on_counts_till_now_and_one_that_is_over_as_it_was)
{
	const struct usage_clock runs = {.is_active = true, .changed_at = NOW, .active_ms = 500};
	const struct usage_clock rests = {.changed_at = NOW, .active_ms = 500};

	assert_int_equal(usage_active_ms(&runs, NOW + 250), 750);
	assert_int_equal(usage_active_ms(&rests, NOW + 250), 500);
}

TEST(what_is_metered_already_is_not_due_again)
{
	const struct usage_clock c = {
	        .is_active = true, .changed_at = NOW, .active_ms = 1000, .metered_ms = 1400};
	struct usage_due due = usage_due(&c, NOW + 900);

	assert_int_equal(due.ms, 500);
	assert_int_equal(due.until, NOW + 900);
	assert_int_equal(due.from, NOW + 400);
}

TEST(a_pause_between_two_stretches_is_free)
{
	/* 10 s, a pause of an hour, 5 s; nothing was metered meanwhile. */
	const struct usage_clock c = {
	        .is_active = true, .changed_at = NOW + 10000 + USAGE_HOUR_MS, .active_ms = 10000};

	assert_int_equal(usage_due(&c, NOW + 15000 + USAGE_HOUR_MS).ms, 15000);
}

TEST(a_stretch_that_is_over_is_due_at_its_end_however_late_one_looks)
{
	const struct usage_clock c = {.changed_at = NOW, .active_ms = 7000, .metered_ms = 2000};
	struct usage_due due = usage_due(&c, NOW + 10 * USAGE_DAY_MS);

	assert_int_equal(due.ms, 5000);
	assert_int_equal(due.until, NOW);
}

TEST(a_clock_that_goes_backwards_loses_time_and_never_counts_it_twice)
{
	struct usage_clock c = {.is_active = true, .changed_at = NOW, .metered_ms = MINUTE};

	assert_int_equal(usage_due(&c, NOW - USAGE_DAY_MS).ms, 0);
	assert_int_equal(usage_due(&c, NOW + MINUTE / 2).ms, 0);
	assert_int_equal(usage_due(&c, NOW + MINUTE + 1).ms, 1);
	/* Even to where there is no time left for it. */
	c = (struct usage_clock){.changed_at = 5, .active_ms = 100};
	assert_int_equal(usage_due(&c, 5).from, 0);
}

TEST(time_is_split_at_the_hours)
{
	int64_t hour = NOW - NOW % USAGE_HOUR_MS;
	const struct usage_due due = {hour + 1000, hour + 2 * USAGE_HOUR_MS + 500,
	                              2 * USAGE_HOUR_MS - 500};
	struct usage_piece pieces[8];

	assert_int_equal(usage_split(&due, pieces, COUNT_OF(pieces)), 3);
	assert_int_equal(pieces[0].hour, hour);
	assert_int_equal(pieces[0].until - pieces[0].from, USAGE_HOUR_MS - 1000);
	assert_int_equal(pieces[1].until - pieces[1].from, USAGE_HOUR_MS);
	assert_int_equal(pieces[2].hour, hour + 2 * USAGE_HOUR_MS);
	assert_int_equal(pieces[2].until - pieces[2].from, 500);
}

TEST(an_hour_that_ends_on_time_has_no_empty_piece_after_it)
{
	int64_t hour = NOW - NOW % USAGE_HOUR_MS;
	const struct usage_due due = {hour, hour + USAGE_HOUR_MS, USAGE_HOUR_MS};
	const struct usage_due none = {hour, hour, 0};
	struct usage_piece pieces[8];

	assert_int_equal(usage_split(&due, pieces, COUNT_OF(pieces)), 1);
	assert_int_equal(usage_split(&none, pieces, COUNT_OF(pieces)), 0);
}

TEST(too_many_hours_are_all_in_the_pieces_there_are)
{
	const struct usage_due due = {NOW, NOW + 100 * USAGE_HOUR_MS, 100 * USAGE_HOUR_MS};
	struct usage_piece pieces[4];
	int64_t sum = 0;

	assert_int_equal(usage_split(&due, pieces, COUNT_OF(pieces)), 4);
	for (size_t i = 0; i < COUNT_OF(pieces); i++)
		sum += pieces[i].until - pieces[i].from;
	assert_int_equal(sum, due.ms);
	assert_int_equal(pieces[0].from, NOW);
}

TEST(shares_follow_their_weights_and_add_up)
{
	const int64_t weights[] = {1, 1, 1}, none[] = {0, 0}, huge[] = {INT64_MAX, INT64_MAX, -5};
	int64_t parts[3];

	usage_share(100, weights, 3, parts);
	assert_int_equal(parts[0] + parts[1] + parts[2], 100);
	for (unsigned i = 0; i < 3; i++)
		assert_in_range(parts[i], 33, 34);
	usage_share(7, none, 2, parts);
	assert_int_equal(parts[0], 7);
	assert_int_equal(parts[1], 0);
	usage_share(INT64_MAX, huge, 3, parts);
	assert_int_equal(parts[2], 0);
	assert_int_equal(parts[0] + parts[1], INT64_MAX);
}

/* ---- money ---- */

static const struct prices prices = {.vcpu_second = 14000, .memory_gib_second = 4500};

static int64_t price(double cpu, int64_t memory_mb, int64_t ms)
{
	const struct sandbox_resources r = {.cpu = cpu, .memory_mb = memory_mb};
	struct error err = {0};
	int64_t nano = -1;

	assert_int_equal(price_active(&prices, &r, ms, &nano, &err), 0);
	return nano;
}

TEST(active_time_costs_by_vcpus_and_memory)
{
	assert_int_equal(price(1, 0, 1000), 14000);
	assert_int_equal(price(0.5, 1024, 1000), 7000 + 4500);
	assert_int_equal(price(2, 512, 60000), 60 * (28000 + 2250));
	/* Cut to whole nano-dollars, once. */
	assert_int_equal(price(0.001, 1, 1), 0);
	assert_int_equal(price(0.5, 1, 1), 7);
}

TEST(a_cost_beyond_all_numbers_is_refused)
{
	const struct prices dear = {.vcpu_second = INT64_C(1000) * 1000000000};
	const struct sandbox_resources r = {.cpu = 1024, .memory_mb = 1 << 24};
	struct error err = {0};
	int64_t nano = 42;

	assert_int_equal(price_active(&dear, &r, USAGE_DAY_MS * 3660, &nano, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_int_equal(nano, 42);
}

TEST(files_cost_by_size_and_months)
{
	const struct prices p = {.storage_gib_month = 100000000}; /* 10 cents */
	struct error err = {0};
	int64_t nano;

	assert_int_equal(price_storage(&p, 1024 * PRICE_MONTH_S, &nano, &err), 0);
	assert_int_equal(nano, 100000000);
	assert_int_equal(price_storage(&p, 512 * PRICE_MONTH_S / 2, &nano, &err), 0);
	assert_int_equal(nano, 25000000);
	assert_int_equal(price_storage(&(struct prices){.storage_gib_month = INT64_MAX}, INT64_MAX,
	                               &nano, &err),
	                 -1);
}

TEST(what_is_below_a_micro_dollar_is_carried_on)
{
	int64_t carried = 0, charged = 0;

	for (unsigned i = 0; i < 10; i++)
		charged += price_charge(1150, &carried);
	assert_int_equal(charged, 11);
	assert_int_equal(carried, 500);
	assert_int_equal(price_charge(INT64_MAX, &carried), INT64_MAX / 1000 + 1);
}

TEST(prices_in_dollars_become_nano_dollars)
{
	assert_int_equal(price_of_usd(0.000014), 14000);
	assert_int_equal(price_of_usd(4.5e-6), 4500);
	assert_int_equal(price_of_usd(0), 0);
	assert_int_equal(price_of_usd(-1), 0);
	assert_int_equal(price_of_usd(PRICE_MAX_USD + 1), 0);
}

TEST(amounts_are_bounded_and_rounded_to_micro_dollars)
{
	static const double bad[] = {-1, -1e-9, 1e9 + 1, INFINITY, NAN};
	struct error err = {0};
	int64_t micro = 0;

	assert_int_equal(money_of_usd(12.3456785, &micro, &err), 0);
	assert_int_equal(micro, 12345679);
	assert_int_equal(money_of_usd(1e9, &micro, &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(money_of_usd(bad[i], &micro, &err), -1);
}

TEST(money_is_written_with_six_decimals)
{
	static const struct {
		int64_t micro;
		const char *text;
	} rows[] = {{0, "0.000000"},
	            {12345678, "12.345678"},
	            {-1, "-0.000001"},
	            {INT64_MIN, "-9223372036854.775808"}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(buf_done) struct buf out = BUF(64);

		money_write(&out, rows[i].micro);
		assert_string_equal(buf_text(&out), rows[i].text);
	}
}

/* ---- budgets ---- */

#define DAY USAGE_DAY_MS
/* 2024-01-31T23:59:59.999Z and around: 19753 days from 1970 to the 31st. */
#define JANUARY_31 (INT64_C(19753) * DAY)

TEST(windows_are_days_and_months_of_utc)
{
	int64_t last = JANUARY_31 + DAY - 1, february = JANUARY_31 + DAY,
	        march = february + 29 * DAY;

	assert_int_equal(budget_window_start(BUDGET_TOTAL, last), 0);
	assert_int_equal(budget_window_start(BUDGET_DAY, last), JANUARY_31);
	assert_int_equal(budget_window_start(BUDGET_MONTH, last), JANUARY_31 - 30 * DAY);
	/* One millisecond later, and in a leap year's February. */
	assert_int_equal(budget_window_start(BUDGET_MONTH, february), february);
	assert_int_equal(budget_window_start(BUDGET_MONTH, march - 1), february);
	assert_int_equal(budget_window_start(BUDGET_MONTH, march), march);
	assert_int_equal(budget_window_start(BUDGET_MONTH, 0), 0);
}

TEST(a_budget_warns_at_its_part_and_is_exceeded_at_its_limit)
{
	assert_int_equal(budget_level(1000, 80, 799), BUDGET_FINE);
	assert_int_equal(budget_level(1000, 80, 800), BUDGET_WARNED);
	assert_int_equal(budget_level(1000, 80, 999), BUDGET_WARNED);
	assert_int_equal(budget_level(1000, 80, 1000), BUDGET_EXCEEDED);
	assert_int_equal(budget_level(1000, 100, 999), BUDGET_FINE);
	assert_int_equal(budget_level(INT64_MAX, 80, INT64_MAX - 1), BUDGET_WARNED);
}

TEST(a_run_is_named_by_plain_characters)
{
	static const char *const bad[] = {"", "a b", "a\"b", "=1+1", "a,b", "\xc3\xa4"};
	struct error err = {0};
	char longest[USAGE_RUN_MAX + 2] = "";

	assert_int_equal(usage_run_check("Run-7/stage_2:a@b.c", &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(usage_run_check(bad[i], &err), -1);
	memset(longest, 'x', USAGE_RUN_MAX);
	assert_int_equal(usage_run_check(longest, &err), 0);
	longest[USAGE_RUN_MAX] = 'x';
	assert_int_equal(usage_run_check(longest, &err), -1);
}

TEST(a_conversation_is_a_short_word)
{
	char longest[USAGE_CONVERSATION_MAX + 2];
	struct error err;

	memset(longest, 'a', sizeof(longest) - 1);
	longest[USAGE_CONVERSATION_MAX + 1] = '\0';
	assert_int_equal(usage_conversation_check(NULL, &err), 0);
	assert_int_equal(usage_conversation_check("a-Z0._:@/+=", &err), 0);
	assert_int_equal(usage_conversation_check(longest + 1, &err), 0);
	assert_int_equal(usage_conversation_check(longest, &err), -1);
	assert_int_equal(usage_conversation_check("\"", &err), -1);
	assert_int_equal(usage_conversation_check("\n", &err), -1);
}

TEST(storage_is_size_by_time_without_rest_or_overflow)
{
	assert_int_equal(storage_mib_s(INT64_C(1) << 30, USAGE_HOUR_MS), 1024 * 3600);
	assert_int_equal(storage_mib_s(INT64_C(1) << 20, 999), 0);
	assert_int_equal(storage_mib_s(-1, 1000), 0);
	assert_int_equal(storage_mib_s(INT64_C(1) << 20, -1), 0);
	assert_int_equal(storage_mib_s(INT64_C(8) << 40, 365 * USAGE_DAY_MS),
	                 (INT64_C(8) << 20) * 365 * 86400);
	assert_int_equal(storage_mib_s(INT64_MAX, INT64_MAX), INT64_MAX);
}

int main(void)
{
	return RUN(CASE(a_stretch_that_goes_on_counts_till_now_and_one_that_is_over_as_it_was),
	           CASE(what_is_metered_already_is_not_due_again),
	           CASE(a_pause_between_two_stretches_is_free),
	           CASE(a_stretch_that_is_over_is_due_at_its_end_however_late_one_looks),
	           CASE(a_clock_that_goes_backwards_loses_time_and_never_counts_it_twice),
	           CASE(time_is_split_at_the_hours),
	           CASE(an_hour_that_ends_on_time_has_no_empty_piece_after_it),
	           CASE(too_many_hours_are_all_in_the_pieces_there_are),
	           CASE(shares_follow_their_weights_and_add_up),
	           CASE(active_time_costs_by_vcpus_and_memory),
	           CASE(a_cost_beyond_all_numbers_is_refused), CASE(files_cost_by_size_and_months),
	           CASE(what_is_below_a_micro_dollar_is_carried_on),
	           CASE(prices_in_dollars_become_nano_dollars),
	           CASE(amounts_are_bounded_and_rounded_to_micro_dollars),
	           CASE(money_is_written_with_six_decimals),
	           CASE(windows_are_days_and_months_of_utc),
	           CASE(a_budget_warns_at_its_part_and_is_exceeded_at_its_limit),
	           CASE(a_run_is_named_by_plain_characters), CASE(a_conversation_is_a_short_word),
	           CASE(storage_is_size_by_time_without_rest_or_overflow));
}
