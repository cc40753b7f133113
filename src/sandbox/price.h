/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/price.h — what use is and what it costs: rules about time, money and budgets, without a
 * clock of their own.
 *
 * Active is who is STARTED; every other state is free. How long a sandbox was active follows from
 * the times of its moves, which its row has: so no crash loses or doubles any of it.
 *
 * Money is whole micro-dollars, a price whole nano-dollars. Costs are worked out exactly, cut to
 * nano-dollars, and charged in whole micro-dollars; what is left below one is carried on to the
 * next charge of the same sandbox, and dropped with its last one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/sandbox.h"

/* What a sandbox was active for. */
enum usage_reason {
	USAGE_IDLE,      /* nobody used it */
	USAGE_AGENT_RUN, /* calls that named their run */
	USAGE_EXEC,
	USAGE_CODE,
	USAGE_FILE_OPS,
	USAGE_TERMINAL,
	/* What is kept; no active time: */
	USAGE_STORAGE, /* files of a sandbox at rest, and artifacts */
	USAGE_VOLUME,
	USAGE_SNAPSHOT,
	USAGE_BACKUP,
	USAGE_REASON_COUNT,
};
const char *usage_reason_name(enum usage_reason reason);

#define USAGE_RUN_MAX 64
/* A run's label: 1..64 characters of [A-Za-z0-9._:/@-]. */
MUST_CHECK int usage_run_check(const char *run, struct error *err);

/* ---- time ---- */

#define USAGE_HOUR_MS (INT64_C(3600) * 1000)
#define USAGE_DAY_MS (24 * USAGE_HOUR_MS)

struct usage_clock {
	bool is_active;
	int64_t changed_at; /* when it became, or ceased to be, active */
	int64_t active_ms;  /* of the stretches that are over */
	int64_t metered_ms; /* so much of all is in the log already */
};
/* Time that the clock goes backwards by is not counted, rather than counted twice. */
int64_t usage_active_ms(const struct usage_clock *c, int64_t now);

/* What is not in the log yet: `ms` before `until`. Gaps between stretches are not known any more,
 * so that the length is exact and the beginning is not. */
struct usage_due {
	int64_t from, until, ms;
};
struct usage_due usage_due(const struct usage_clock *c, int64_t now);

/* A part of it that lies within one hour of UTC. */
struct usage_piece {
	int64_t hour; /* unix ms of its beginning */
	int64_t from, until;
};
/* Fills at most `max` pieces, oldest first, and returns their number; the first one takes all that
 * is before, should there be more hours. */
size_t usage_split(const struct usage_due *due, struct usage_piece *ret, size_t max);

/* Divides `total` among `count` by their weights; the parts add up to it. Weights above
 * USAGE_WEIGHT_MAX count as that. No weight at all: the first one gets it. */
#define USAGE_WEIGHT_MAX 65535
void usage_share(int64_t total, const int64_t *weights, size_t count, int64_t *ret);

/* ---- money ---- */

/* In US dollars, as the configuration has them. */
struct price_list {
	double vcpu_second, memory_gib_second, storage_gib_month;
};
/* In nano-dollars. */
struct prices {
	int64_t vcpu_second, memory_gib_second, storage_gib_month;
};
struct prices prices_of(const struct price_list *list);
#define PRICE_MAX_USD 1000
/* A month of storage is a twelfth of a year of 365 days: 730 hours. */
#define PRICE_MONTH_S (INT64_C(730) * 3600)

/* What a sandbox of that size costs while it is active, in nano-dollars. */
MUST_CHECK int price_active(const struct prices *p, const struct sandbox_resources *r, int64_t ms,
                            int64_t *ret_nano, struct error *err);
/* What is kept for a time, in MiB times seconds, cut. */
int64_t storage_mib_s(int64_t bytes, int64_t ms);
/* What files cost; `mib_s`: MiB times seconds. */
MUST_CHECK int price_storage(const struct prices *p, int64_t mib_s, int64_t *ret_nano,
                             struct error *err);
/* Whole micro-dollars of what was carried and what is new; the rest is carried on. */
int64_t price_charge(int64_t nano, int64_t *carried_nano);

#define MONEY_MAX_USD 1000000000
/* Refuses what is negative or above MONEY_MAX_USD; rounds half up. */
MUST_CHECK int money_of_usd(double usd, int64_t *ret_micro, struct error *err);
static inline double money_to_usd(int64_t micro)
{
	return (double)micro / 1e6;
}
/* "12.345678" */
void money_write(struct buf *out, int64_t micro);

/* ---- budgets ---- */

enum budget_scope { BUDGET_PROJECT, BUDGET_KEY, BUDGET_SANDBOX, BUDGET_SCOPE_COUNT };
const char *budget_scope_name(enum budget_scope scope);

/* Days and months of UTC. */
enum budget_window { BUDGET_TOTAL, BUDGET_DAY, BUDGET_MONTH, BUDGET_WINDOW_COUNT };
const char *budget_window_name(enum budget_window window);
int64_t budget_window_start(enum budget_window window, int64_t now); /* 0 for the total */
int64_t budget_window_end(enum budget_window window, int64_t now);   /* INT64_MAX for it */

enum budget_level { BUDGET_FINE, BUDGET_WARNED, BUDGET_EXCEEDED };
enum budget_level budget_level(int64_t limit_micro, int64_t warn_percent, int64_t spent_micro);
const char *budget_level_name(enum budget_level level);
