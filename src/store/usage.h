/* SPDX-License-Identifier: Apache-2.0 */
/* store/usage.h — usage of sandboxes, its cost, and budgets.
 *
 * A sandbox's row holds its active time and the metered part of it. store_usage_write moves the
 * metered mark by compare and set, and writes the log, the balance and the budgets in the same
 * transaction. So nothing is counted twice or lost, whichever server meters and whenever it is
 * killed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/price.h"
#include "sandbox/sandbox.h"
#include "sandbox/usage_reason.h"

struct store;

/* A sandbox with unmetered time, or with stored files that cost. */
struct meter_record {
	const char *id, *project_id;
	const char *key_id; /* the key that made it */
	const char *provider;
	enum sandbox_state actual;
	struct sandbox_resources resources;
	bool persistent;
	int64_t active_changed_at, active_ms, metered_ms, metered_cpu_us;
	int64_t unbilled_nano;
	int64_t egress_seen;           /* bytes sent since its start, as of the last sample */
	int64_t stored_mib, stored_at; /* size of its files at the last sample, and the time up to
	                                  which storage is metered */
};
struct meter_list {
	struct meter_record *items;
	size_t count;
};
struct usage_clock meter_clock(const struct meter_record *r);
struct meter_page {
	const char *node, *after; /* after: last id of the previous page; "" at first */
	int64_t before, limit;
};
/* Started sandboxes of a node, and ended or deleted ones with unmetered time; sorted by id. */
MUST_CHECK int store_meter_list(struct store *s, struct arena *a, const struct meter_page *page,
                                struct meter_list *ret, struct error *err);
/* Finds any sandbox, including deleted ones. */
MUST_CHECK int store_meter_find(struct store *s, struct arena *a, const char *id,
                                struct meter_record *ret, struct error *err);
/* Sandboxes with stored files that were last metered before `before`. */
MUST_CHECK int store_storage_list(struct store *s, struct arena *a, int64_t before, unsigned limit,
                                  struct meter_list *ret, struct error *err);

struct usage_record {
	const char *id, *project_id, *key_id, *sandbox_id;
	const char *run;          /* "" = none */
	const char *conversation; /* NULL = "": none */
	const char *provider;     /* of active time; NULL = "" */
	enum usage_reason reason;
	int64_t hour;
	int64_t active_ms, cpu_us, storage_mib_s, usd_micro;
	double vcpu;
	int64_t memory_mb;
	int64_t started_at, ended_at;
};
/* A sandbox's part of a write. It is skipped when the row differs from `seen`, because another
 * write was first; sent bytes are compared, and skipped, by themselves. */
struct usage_part {
	const struct meter_record *seen;
	/* new values */
	int64_t metered_ms, metered_cpu_us, unbilled_nano, stored_mib, stored_at, egress_seen;
	int64_t sent_bytes, sent_day;    /* added to its day (store/quotas.h); 0: none */
	const struct usage_record *rows; /* added to an existing row with the same keys */
	size_t row_count;
};
MUST_CHECK int store_usage_write(struct store *s, const struct usage_part *parts, size_t count,
                                 struct error *err);
/* Adds the sent bytes of the part alone. *ret_is_written: false when another write was first. */
MUST_CHECK int store_sent_write(struct store *s, const struct usage_part *part,
                                bool *ret_is_written, struct error *err);
/* The counter of the sandbox's link begins at 0 again. */
MUST_CHECK int store_sent_restart(struct store *s, const char *id, struct error *err);
/* Drops the log of hours before `before`; sums of balances and budgets stay. */
MUST_CHECK int store_usage_purge(struct store *s, int64_t before, struct error *err);

enum usage_group {
	USAGE_BY_PROJECT,
	USAGE_BY_KEY,
	USAGE_BY_SANDBOX,
	USAGE_BY_RUN,
	USAGE_BY_REASON,
	USAGE_BY_DAY,
	USAGE_BY_TEMPLATE, /* by its name; "" = of removed sandboxes, and of stored objects */
	USAGE_BY_USER,     /* member that owns the key */
	USAGE_BY_NOTHING,  /* a single sum */
	USAGE_BY_CONVERSATION,
	USAGE_BY_LABEL, /* by the value of `label`; "" = without it, and as for templates */
	USAGE_GROUP_COUNT,
};
struct usage_query {
	const char *project_id; /* NULL = all */
	const char *key_id, *sandbox_id, *run, *conversation;
	int64_t from, to; /* hours that begin within from..to, `to` excluded */
	enum usage_group group;
	const char *label; /* its name; NULL unless USAGE_BY_LABEL */
	/* The end of the previous page; -1 and "" at first. */
	int64_t after_day;
	const char *after_name;
	int64_t limit;
};
struct usage_sum {
	int64_t day; /* USAGE_BY_DAY, else 0 */
	const char *name;
	const char
	        *title; /* name of the project, key or sandbox whose id is `name`; "" = not known */
	int64_t active_ms, cpu_us, storage_mib_s, usd_micro;
	double vcpu_ms, memory_mib_ms;
};
struct usage_sums {
	struct usage_sum *items;
	size_t count;
};
MUST_CHECK int store_usage_sum(struct store *s, struct arena *a, const struct usage_query *query,
                               struct usage_sums *ret, struct error *err);

struct balance_record {
	const char *project_id;
	int64_t deposited_micro, spent_micro;
};
/* Zeros for a project without a balance. */
MUST_CHECK int store_balance_find(struct store *s, struct arena *a, const char *project_id,
                                  struct balance_record *ret, struct error *err);
struct deposit_record {
	const char *project_id;
	const char *id; /* id that the depositor chose */
	int64_t usd_micro;
	const char *note, *key_id;
	int64_t created_at;
};
/* Books a deposit. A repeated id returns the existing deposit (*ret_is_new false); ERROR_CONFLICT
 * when its amount differs. */
MUST_CHECK int store_deposit_add(struct store *s, struct arena *a, const struct deposit_record *r,
                                 struct deposit_record *ret, bool *ret_is_new, struct error *err);

struct budget_record {
	const char *id, *project_id;
	enum budget_scope scope;
	const char *subject; /* id of the project, key or sandbox; the run, NAME=VALUE of a label,
	                        the conversation */
	enum budget_window span;
	int64_t limit_micro, warn_percent;
	int64_t spent_micro, window_at; /* as of the last spending */
	int64_t warned_at;              /* window of the last warning; -1 = none */
	int64_t exceeded_at;            /* window of the last "exceeded" event; -1 = none */
	int64_t created_at;
};
struct budget_list {
	struct budget_record *items;
	size_t count;
};
/* Spending of the current window at `now`. */
int64_t budget_spent(const struct budget_record *r, int64_t now);
/* ERROR_LIMIT when the project has `max` budgets already. Logged usage of the window that begins at
 * `window_at` counts. */
MUST_CHECK int store_budget_insert(struct store *s, const struct budget_record *r, unsigned max,
                                   struct error *err);
/* Oldest first; project NULL = all. */
MUST_CHECK int store_budget_list(struct store *s, struct arena *a, const char *project_id,
                                 struct budget_list *ret, struct error *err);
MUST_CHECK int store_budget_remove(struct store *s, const char *project_id, const char *id,
                                   struct error *err);
/* Writes limit and warn_percent and fills in the other members. Events of this window may be sent
 * again. */
MUST_CHECK int store_budget_update(struct store *s, struct arena *a, struct budget_record *r,
                                   struct error *err);
/* Adds the event of a reached level. *ret_is_first: no other call has done so in this window. */
struct event_record;
struct budget_notification {
	const char *id;
	int64_t window_at;
	enum budget_level level; /* WARNED or EXCEEDED */
	const struct event_record *event;
};
MUST_CHECK int store_budget_notify(struct store *s, const struct budget_notification *telling,
                                   bool *ret_is_first, struct error *err);
