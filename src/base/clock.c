/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <time.h>

#include "base/bytes.h"
#include "base/fault.h"

#define DURATION_MS_MAX (INT64_C(100) * 366 * 24 * 3600 * 1000)

static int64_t clock_ns(clockid_t which)
{
	struct timespec now;

	(void)clock_gettime(which, &now); /* cannot fail for these two clocks */
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_monotonic_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

int64_t clock_unix_ms(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000000 + fault_clock_offset_ms();
}

int64_t clock_boot_ms(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t deadline_after(int64_t ms)
{
	int64_t now = clock_monotonic_ms();

	return ms > DEADLINE_NEVER - now ? DEADLINE_NEVER : now + ms;
}

int deadline_poll_ms(int64_t deadline)
{
	int64_t left;

	if (deadline == DEADLINE_NEVER)
		return -1;
	left = deadline - clock_monotonic_ms();
	return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

struct timespec deadline_wall_time(int64_t deadline)
{
	int64_t left = deadline - clock_monotonic_ms(), at;
	struct timespec ret = {.tv_sec = INT32_MAX};

	if (deadline == DEADLINE_NEVER || left > INT32_MAX)
		return ret;
	at = clock_ns(CLOCK_REALTIME) + (left > 0 ? left : 0) * 1000000;
	ret = (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
	return ret;
}

void clock_format(struct buf *out, int64_t unix_ms)
{
	int64_t seconds = unix_ms / 1000, ms = unix_ms % 1000;
	struct tm tm;
	time_t time;

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	time = (time_t)seconds;
	if (!gmtime_r(&time, &tm))
		tm = (struct tm){.tm_year = 70, .tm_mday = 1};
	buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
	         tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms);
}

static const struct {
	const char *name;
	int64_t ms;
} units[] = {
        {"ms", 1}, {"", 1000}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static int64_t unit_ms(struct span name)
{
	for (unsigned i = 0; i < COUNT_OF(units); i++) {
		if (span_equals_text(name, units[i].name))
			return units[i].ms;
	}
	return 0;
}

int duration_parse(struct span text, int64_t *ret_ms, struct error *err)
{
	struct span digits = text, name;
	int64_t count, ms;

	digits.size = 0;
	while (digits.size < text.size && text.data[digits.size] >= '0' &&
	       text.data[digits.size] <= '9')
		digits.size++;
	name = (struct span){text.data + digits.size, text.size - digits.size};
	ms = unit_ms(name);
	if (digits.size == 0 || ms == 0) {
		(void)FAIL(err, ERROR_INVALID, "'%.*s' is not a duration",
		           (int)(text.size < 40 ? text.size : 40), text.data);
		return FAIL_HINT(err, "write a number with ms, s, m, h or d, such as 90s");
	}
	if (span_parse_whole(digits, 0, DURATION_MS_MAX / ms, &count, err) < 0)
		return FAIL_CONTEXT(err, "duration");
	*ret_ms = count * ms;
	return 0;
}
