/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/price.h — use and its cost: rules about active time, money and budgets. Pure: callers
 * pass the time.
 *
 * A sandbox is active while it is STARTED; all other states are free. Its active time follows from
 * the times of its moves, which its row holds: a crash neither loses nor doubles any.
 *
 * Amounts are whole micro-dollars, prices whole nano-dollars. Costs are computed exactly, cut to
 * nano-dollars and charged in whole micro-dollars. The remainder is carried to the next charge of
 * the same sandbox and dropped with the last one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct buf;
struct sandbox_resources;

#define USAGE_HOUR_MS (INT64_C(3600) * 1000)
#define USAGE_DAY_MS (24 * USAGE_HOUR_MS)

struct usage_clock {
	bool is_active;
	int64_t changed_at; /* of the last change between active and not active */
	int64_t active_ms;  /* of the completed active periods */
	int64_t metered_ms; /* part of the active time that the log holds already */
};
/* The active time until now. A clock that goes backwards loses time rather than counting it
 * twice. */
int64_t usage_active_ms(const struct usage_clock *c, int64_t now);

/* Active time that the log does not hold yet: `ms` before `until`. Gaps between active periods are
 * not known any more: the length is exact, the beginning is not. */
struct usage_due {
	int64_t from, until, ms;
};
struct usage_due usage_due(const struct usage_clock *c, int64_t now);

/* A part of the due time within one hour of UTC. */
struct usage_piece {
	int64_t hour; /* unix ms of the hour's beginning */
	int64_t from, until;
};
/* Fills at most `max` pieces, oldest first, and returns their number. If there are more hours, the
 * first piece also holds all earlier time. */
size_t usage_split(const struct usage_due *due, struct usage_piece *ret, size_t max);

/* Divides `total` by the weights; the parts add up to it. Weights above USAGE_WEIGHT_MAX count as
 * USAGE_WEIGHT_MAX. If all weights are 0, the first part gets everything. */
#define USAGE_WEIGHT_MAX 65535
void usage_share(int64_t total, const int64_t *weights, size_t count, int64_t *ret);

/* In nano-dollars. */
struct prices {
	int64_t vcpu_second, memory_gib_second, storage_gib_month;
};
#define PRICE_MAX_USD 1000
/* In nano-dollars; 0 outside 0..PRICE_MAX_USD. */
int64_t price_of_usd(double usd);
/* A month of storage is a twelfth of a year of 365 days: 730 hours. */
#define PRICE_MONTH_S (INT64_C(730) * 3600)

/* The cost in nano-dollars of an active sandbox with these limits. */
MUST_CHECK int price_active(const struct prices *p, const struct sandbox_resources *r, int64_t ms,
                            int64_t *ret_nano, struct error *err);
/* Kept bytes over a time in MiB times seconds, rounded down. */
int64_t storage_mib_s(int64_t bytes, int64_t ms);
/* The cost of kept files. `mib_s`: MiB times seconds. */
MUST_CHECK int price_storage(const struct prices *p, int64_t mib_s, int64_t *ret_nano,
                             struct error *err);
/* Returns the whole micro-dollars of the carried and the new cost; carries the remainder. */
int64_t price_charge(int64_t nano, int64_t *carried_nano);

#define MONEY_MAX_USD 1000000000
/* Refuses negative amounts and amounts above MONEY_MAX_USD; rounds half up. */
MUST_CHECK int money_of_usd(double usd, int64_t *ret_micro, struct error *err);
static inline double money_to_usd(int64_t micro)
{
	return (double)micro / 1e6;
}
/* "12.345678" */
void money_write(struct buf *out, int64_t micro);

enum budget_scope {
	BUDGET_PROJECT,
	BUDGET_KEY,
	BUDGET_SANDBOX,
	BUDGET_RUN,
	BUDGET_LABEL, /* subject: "NAME=VALUE", of sandboxes */
	BUDGET_CONVERSATION,
	BUDGET_SCOPE_COUNT
};
const char *budget_scope_name(enum budget_scope scope);

/* Days and months are those of UTC. */
enum budget_window { BUDGET_TOTAL, BUDGET_DAY, BUDGET_MONTH, BUDGET_WINDOW_COUNT };
const char *budget_window_name(enum budget_window window);
int64_t budget_window_start(enum budget_window window, int64_t now); /* 0 for BUDGET_TOTAL */

enum budget_level { BUDGET_FINE, BUDGET_WARNED, BUDGET_EXCEEDED };
enum budget_level budget_level(int64_t limit_micro, int64_t warn_percent, int64_t spent_micro);
const char *budget_level_name(enum budget_level level);
