/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "unit.h"

#include <limits.h>

#include "base/clock.h"

static int64_t parse(const char *text)
{
	struct error err;
	int64_t ms = -1;

	return duration_parse(span_of(text), &ms, &err) < 0 ? -1 : ms;
}

TEST(durations_have_units)
{
	assert_int_equal(parse("90"), 90000);
	assert_int_equal(parse("90s"), 90000);
	assert_int_equal(parse("15m"), 900000);
	assert_int_equal(parse("24h"), 86400000);
	assert_int_equal(parse("7d"), 7 * 86400000);
	assert_int_equal(parse("250ms"), 250);
	assert_int_equal(parse("0"), 0);
}

TEST(other_texts_are_no_durations)
{
	static const char *const bad[] = {"",     "s",  "-1s",    "1 s",
	                                  "1.5s", "1S", "1min",   "1sms",
	                                  " 1",   "1y", "36601d", "99999999999999999999999999"};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(parse(bad[i]), -1);
	assert_int_equal(parse("36600d"), INT64_C(36600) * 86400000);
}

TEST(a_refused_duration_says_what_would_be_right)
{
	struct error err;
	int64_t ms = 5;

	assert_int_equal(duration_parse(SPAN("soon"), &ms, &err), -1);
	assert_string_equal(err.text, "'soon' is not a duration");
	assert_true(err.hint[0]);
	assert_int_equal(ms, 5);
}

TEST(timestamps_are_rfc_3339_in_utc)
{
	AUTO(buf_done) struct buf b = BUF(100);

	clock_format(&b, INT64_C(1795227900123));
	assert_string_equal(buf_text(&b), "2026-11-21T02:25:00.123Z");
	buf_reset(&b);
	clock_format(&b, -1);
	assert_string_equal(buf_text(&b), "1969-12-31T23:59:59.999Z");
	buf_reset(&b);
	clock_format(&b, INT64_MAX);
	assert_true(b.size > 0);
}

TEST(a_deadline_has_a_time_on_the_wall)
{
	int64_t before = clock_unix_ms() / 1000;
	struct timespec at = deadline_wall_time(deadline_after(60000));

	assert_in_range(at.tv_sec, before + 59, clock_unix_ms() / 1000 + 61);
	assert_in_range(at.tv_nsec, 0, 999999999);
	at = deadline_wall_time(deadline_after(-60000));
	assert_in_range(at.tv_sec, before - 1, clock_unix_ms() / 1000 + 1);
	assert_int_equal(deadline_wall_time(DEADLINE_NEVER).tv_sec, INT32_MAX);
}

TEST(deadlines_come_nearer_and_saturate)
{
	int64_t deadline = deadline_after(60000);
	int left = deadline_poll_ms(deadline);

	assert_in_range(left, 1, 60000);
	assert_int_equal(deadline_poll_ms(deadline_after(-5)), 0);
	assert_int_equal(deadline_poll_ms(0), 0);
	assert_int_equal(deadline_poll_ms(DEADLINE_NEVER), -1);
	assert_true(deadline_after(INT64_MAX) == DEADLINE_NEVER);
	assert_int_equal(deadline_poll_ms(deadline_after(INT64_C(1) << 40)), INT_MAX);
}

TEST(clocks_do_not_run_backwards)
{
	int64_t before = clock_monotonic_ns();

	assert_true(clock_monotonic_ns() >= before);
	assert_true(clock_monotonic_ms() >= before / 1000000);
	assert_true(clock_unix_ms() > INT64_C(1700000000000));
}

int main(void)
{
	return RUN(CASE(durations_have_units), CASE(other_texts_are_no_durations),
	           CASE(a_refused_duration_says_what_would_be_right),
	           CASE(timestamps_are_rfc_3339_in_utc), CASE(a_deadline_has_a_time_on_the_wall),
	           CASE(deadlines_come_nearer_and_saturate), CASE(clocks_do_not_run_backwards));
}
