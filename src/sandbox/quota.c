/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/quota.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

const char *const quota_scopes[] = {"project", "key", "organization", NULL};
_Static_assert(COUNT_OF(quota_scopes) == QUOTA_SCOPE_COUNT + 1, "a name per scope");

#define ON_CREATE (1u << QUOTA_ON_CREATE)
#define ON_START (1u << QUOTA_ON_START)
#define ON_RESIZE (1u << QUOTA_ON_RESIZE)
#define ON_UNDELETE (1u << QUOTA_ON_UNDELETE)

const struct quota_limit_row quota_limits[QUOTA_LIMIT_COUNT] = {
        [QUOTA_SANDBOXES_RUNNING] = {"sandboxes_running", "sandboxes",
                                     "sandboxes that run or are paused", QUOTA_AMOUNT,
                                     ON_CREATE | ON_START},
        [QUOTA_SANDBOXES_STOPPED] = {"sandboxes_stopped", "sandboxes",
                                     "stopped and archived sandboxes: a create is refused while "
                                     "there are as many, a stop never",
                                     QUOTA_AMOUNT, ON_CREATE | ON_UNDELETE},
        [QUOTA_CPU] = {"cpu", "CPUs", "CPUs of running sandboxes together", QUOTA_AMOUNT,
                       ON_CREATE | ON_START | ON_RESIZE},
        [QUOTA_MEMORY_MB] = {"memory_mb", "MB", "memory of running sandboxes together",
                             QUOTA_AMOUNT, ON_CREATE | ON_START | ON_RESIZE},
        [QUOTA_DISK_MB] = {"disk_mb", "MB", "disk limits of all sandboxes together", QUOTA_AMOUNT,
                           ON_CREATE | ON_RESIZE | ON_UNDELETE},
        [QUOTA_CREATES_PER_MINUTE] = {"creates_per_minute", "creates",
                                      "sandboxes made in one minute of the clock", QUOTA_WINDOW,
                                      ON_CREATE},
        [QUOTA_REQUESTS_PER_SECOND] = {"requests_per_second", "requests",
                                       "requests in one second; each server of the store takes an "
                                       "equal part of them",
                                       QUOTA_RATE, 0},
        [QUOTA_EGRESS_MB_PER_DAY] =
                {"egress_mb_per_day", "MB",
                 "what sandboxes send in a UTC day; then running ones lose their network",
                 QUOTA_DAY, ON_CREATE | ON_START},
};

static atomic_uint_fast64_t refusals[QUOTA_LIMIT_COUNT];

enum quota_limit quota_limit_find(const char *name)
{
	unsigned i = 0;

	while (i < QUOTA_LIMIT_COUNT && strcmp(quota_limits[i].name, name) != 0)
		i++;
	return (enum quota_limit)i;
}

enum quota_scope quota_scope_find(const char *name)
{
	unsigned i = 0;

	while (i < QUOTA_SCOPE_COUNT && strcmp(quota_scopes[i], name) != 0)
		i++;
	return (enum quota_scope)i;
}

double quota_used(const struct quota_use *use, enum quota_limit limit)
{
	switch (limit) {
	case QUOTA_SANDBOXES_RUNNING:
		return (double)use->sandboxes_running;
	case QUOTA_SANDBOXES_STOPPED:
		return (double)use->sandboxes_stopped;
	case QUOTA_CPU:
		return use->cpu;
	case QUOTA_MEMORY_MB:
		return (double)use->memory_mb;
	case QUOTA_DISK_MB:
		return (double)use->disk_mb;
	case QUOTA_CREATES_PER_MINUTE:
	case QUOTA_REQUESTS_PER_SECOND:
	case QUOTA_EGRESS_MB_PER_DAY:
	case QUOTA_LIMIT_COUNT:
		break;
	}
	return 0;
}

int64_t quota_day(int64_t now)
{
	return now - now % QUOTA_DAY_MS;
}

double quota_egress_mb(int64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static void hint_retry(const struct quota_refusal *r, struct error *err)
{
	if (err->retry_after_s > 0)
		error_hint(err, "try again in %d s, or ask an administrator for a higher quota",
		           err->retry_after_s);
	else
		error_hint(err, "%s, or ask an administrator for a higher quota",
		           r->limit == QUOTA_SANDBOXES_STOPPED || r->limit == QUOTA_DISK_MB
		                   ? "delete a sandbox"
		                   : "stop or delete a sandbox");
}

int quota_refuse(const struct quota_refusal *r, struct error *err)
{
	const struct quota_limit_row *row = &quota_limits[r->limit];

	atomic_fetch_add_explicit(&refusals[r->limit], 1, memory_order_relaxed);
	error_set(err, ERROR_LIMIT, 0, HERE,
	          "quota %s of %s '%.64s': %.10g of %.10g %s are used, and this needs more",
	          row->name, r->scope, r->subject, r->used, r->value, row->unit);
	if (r->reset_at > r->now)
		err->retry_after_s = (int)((r->reset_at - r->now + 999) / 1000);
	(void)snprintf(err->quota.name, sizeof(err->quota.name), "%s", row->name);
	(void)snprintf(err->quota.scope, sizeof(err->quota.scope), "%s", r->scope);
	err->quota.limit = r->value;
	err->quota.used = r->used;
	err->quota.reset_at = r->reset_at;
	hint_retry(r, err);
	return -1;
}

void quota_write_metrics(struct buf *out)
{
	static const char name[] = "atoll_quota_refusals_total";

	buf_addf(out,
	         "# HELP %s Creates, starts and requests refused by a quota.\n# TYPE %s counter\n",
	         name, name);
	for (unsigned i = 0; i < QUOTA_LIMIT_COUNT; i++)
		buf_addf(out, "%s{limit=\"%s\"} %" PRIu64 "\n", name, quota_limits[i].name,
		         (uint64_t)atomic_load_explicit(&refusals[i], memory_order_relaxed));
}
