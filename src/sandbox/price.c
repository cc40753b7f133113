/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/price.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage_reason.h"

#define NANO 1e9
#define NANO_PER_MICRO 1000
/* Products of bounded factors fit this type. They are divided last, so that no precision is lost,
 * and the result is checked. */
typedef __int128 wide;

static const char *const reasons[] = {
        [USAGE_IDLE] = "idle",       [USAGE_AGENT_RUN] = "agent_run", [USAGE_EXEC] = "exec",
        [USAGE_CODE] = "code",       [USAGE_FILE_OPS] = "file_ops",   [USAGE_TERMINAL] = "terminal",
        [USAGE_STORAGE] = "storage", [USAGE_VOLUME] = "volume",       [USAGE_SNAPSHOT] = "snapshot",
        [USAGE_BACKUP] = "backup",
};
_Static_assert(COUNT_OF(reasons) == USAGE_REASON_COUNT, "a name per reason");

const char *usage_reason_name(enum usage_reason reason)
{
	return (unsigned)reason < USAGE_REASON_COUNT ? reasons[reason] : "unknown";
}

int usage_run_check(const char *run, struct error *err)
{
	size_t size = strlen(run);

	if (size >= 1 && size <= USAGE_RUN_MAX &&
	    strspn(run, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@-") ==
	            size)
		return 0;
	return FAIL(err, ERROR_INVALID,
	            "a run's name has 1 to %d characters of A-Z, a-z, 0-9 and . _ : / @ -",
	            USAGE_RUN_MAX);
}

static bool is_conversation_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:@/+=-", c));
}

int usage_conversation_check(const char *conversation, struct error *err)
{
	size_t size = conversation ? strlen(conversation) : 0;

	if (size > USAGE_CONVERSATION_MAX)
		return FAIL(err, ERROR_INVALID, "a conversation has at most %d bytes",
		            USAGE_CONVERSATION_MAX);
	for (size_t i = 0; i < size; i++) {
		if (is_conversation_byte(conversation[i]))
			continue;
		(void)FAIL(err, ERROR_INVALID, "a conversation's name holds no such byte as 0x%02x",
		           (unsigned char)conversation[i]);
		return FAIL_HINT(err, "letters, digits and ._:@/+=- are fine");
	}
	return 0;
}

static int64_t larger_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t hour_of(int64_t at)
{
	return at - at % USAGE_HOUR_MS;
}

int64_t usage_active_ms(const struct usage_clock *c, int64_t now)
{
	return c->active_ms + (c->is_active ? larger_of(now - c->changed_at, 0) : 0);
}

struct usage_due usage_due(const struct usage_clock *c, int64_t now)
{
	int64_t until = c->is_active ? larger_of(now, c->changed_at) : c->changed_at;
	int64_t ms = larger_of(usage_active_ms(c, now) - c->metered_ms, 0);

	/* Active time cannot begin before 1970, whatever the clock says. */
	until = larger_of(until, ms);
	return (struct usage_due){until - ms, until, ms};
}

size_t usage_split(const struct usage_due *due, struct usage_piece *ret, size_t max)
{
	int64_t from = due->from, first;
	size_t count = 0;

	if (due->ms <= 0 || max == 0)
		return 0;
	first = larger_of(hour_of(from),
	                  hour_of(due->until - 1) - (int64_t)(max - 1) * USAGE_HOUR_MS);
	for (int64_t hour = first; hour < due->until; hour += USAGE_HOUR_MS) {
		int64_t end = hour + USAGE_HOUR_MS < due->until ? hour + USAGE_HOUR_MS : due->until;

		ret[count++] = (struct usage_piece){hour, from, end};
		from = end;
	}
	return count;
}

static int64_t weight_of(int64_t weight)
{
	return weight < 0 ? 0 : weight > USAGE_WEIGHT_MAX ? USAGE_WEIGHT_MAX : weight;
}

void usage_share(int64_t total, const int64_t *weights, size_t count, int64_t *ret)
{
	int64_t sum = 0, given = 0, so_far = 0;

	for (size_t i = 0; i < count; i++)
		sum += weight_of(weights[i]);
	for (size_t i = 0; i < count; i++) {
		int64_t until;

		so_far += weight_of(weights[i]);
		until = sum > 0 ? (int64_t)((wide)total * so_far / sum) : total;
		ret[i] = until - given;
		given = until;
	}
}

int64_t price_of_usd(double usd)
{
	return usd > 0 && usd <= PRICE_MAX_USD ? llround(usd * NANO) : 0;
}

static int narrow_cost(wide nano, int64_t *ret, struct error *err)
{
	if (nano < 0 || nano > INT64_MAX)
		return FAIL(err, ERROR_LIMIT, "a cost is larger than can be counted");
	*ret = (int64_t)nano;
	return 0;
}

int price_active(const struct prices *p, const struct sandbox_resources *r, int64_t ms,
                 int64_t *ret_nano, struct error *err)
{
	wide vcpus = (wide)llround(r->cpu * 1000) * p->vcpu_second * 1024; /* / 1000 / 1024 */
	wide memory = (wide)r->memory_mb * p->memory_gib_second * 1000;

	return narrow_cost((vcpus + memory) * ms / (INT64_C(1000) * 1024 * 1000), ret_nano, err);
}

int64_t storage_mib_s(int64_t bytes, int64_t ms)
{
	wide mib_s = (wide)larger_of(bytes, 0) * larger_of(ms, 0) / (INT64_C(1000) << 20);

	return mib_s > INT64_MAX ? INT64_MAX : (int64_t)mib_s;
}

int price_storage(const struct prices *p, int64_t mib_s, int64_t *ret_nano, struct error *err)
{
	return narrow_cost((wide)mib_s * p->storage_gib_month / (1024 * PRICE_MONTH_S), ret_nano,
	                   err);
}

int64_t price_charge(int64_t nano, int64_t *carried_nano)
{
	int64_t micro = nano / NANO_PER_MICRO;
	int64_t rest = nano % NANO_PER_MICRO + *carried_nano;

	*carried_nano = rest % NANO_PER_MICRO;
	return micro + rest / NANO_PER_MICRO;
}

int money_of_usd(double usd, int64_t *ret_micro, struct error *err)
{
	if (!(usd >= 0 && usd <= MONEY_MAX_USD))
		return FAIL(err, ERROR_INVALID, "an amount is from 0 to %d US dollars",
		            MONEY_MAX_USD);
	*ret_micro = llround(usd * 1e6);
	return 0;
}

void money_write(struct buf *out, int64_t micro)
{
	uint64_t size = micro < 0 ? 0 - (uint64_t)micro : (uint64_t)micro;

	buf_addf(out, "%s%" PRIu64 ".%06" PRIu64, micro < 0 ? "-" : "", size / 1000000,
	         size % 1000000);
}

static const char *const scopes[] = {
        [BUDGET_PROJECT] = "project", [BUDGET_KEY] = "key",
        [BUDGET_SANDBOX] = "sandbox", [BUDGET_RUN] = "run",
        [BUDGET_LABEL] = "label",     [BUDGET_CONVERSATION] = "conversation"};
_Static_assert(COUNT_OF(scopes) == BUDGET_SCOPE_COUNT, "a name per scope");

const char *budget_scope_name(enum budget_scope scope)
{
	return (unsigned)scope < BUDGET_SCOPE_COUNT ? scopes[scope] : "unknown";
}

static const char *const windows[] = {
        [BUDGET_TOTAL] = "total", [BUDGET_DAY] = "day", [BUDGET_MONTH] = "month"};
_Static_assert(COUNT_OF(windows) == BUDGET_WINDOW_COUNT, "a name per window");

const char *budget_window_name(enum budget_window window)
{
	return (unsigned)window < BUDGET_WINDOW_COUNT ? windows[window] : "unknown";
}

static int64_t month_start(int64_t day)
{
	time_t seconds = (time_t)(day / 1000);
	struct tm date;

	if (!gmtime_r(&seconds, &date))
		return day;
	return day - (date.tm_mday - 1) * USAGE_DAY_MS;
}

int64_t budget_window_start(enum budget_window window, int64_t now)
{
	int64_t day = now - now % USAGE_DAY_MS;

	if (window == BUDGET_TOTAL)
		return 0;
	return window == BUDGET_DAY ? day : month_start(day);
}

enum budget_level budget_level(int64_t limit_micro, int64_t warn_percent, int64_t spent_micro)
{
	if (spent_micro >= limit_micro)
		return BUDGET_EXCEEDED;
	return (wide)spent_micro * 100 >= (wide)limit_micro * warn_percent ? BUDGET_WARNED
	                                                                   : BUDGET_FINE;
}

const char *budget_level_name(enum budget_level level)
{
	static const char *const names[] = {
	        [BUDGET_FINE] = "fine", [BUDGET_WARNED] = "warned", [BUDGET_EXCEEDED] = "exceeded"};

	return (unsigned)level < COUNT_OF(names) ? names[level] : "unknown";
}
