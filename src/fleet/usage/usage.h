/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/usage.h — metering, and budgets that stop sandboxes.
 *
 * A call into a sandbox names its API key and its purpose (struct fleet_use), which is counted in
 * memory. Every config->usage_flush the tick divides the active time since the last write among the
 * uses since then. It writes the parts into the store, then checks the budgets. So a budget may be
 * exceeded by the spending of that interval, and calls never wait for a query. Any thread. */
#pragma once

#include "sandbox/price.h"
#include "store/holdings.h"

struct budget_record;
struct fleet;
struct usage_query;
struct usage_sums;

/* Writes pending usage, unless that was done within a twelfth of usage_flush, and returns sums. */
MUST_CHECK int fleet_usage_sum(struct fleet *fleet, struct arena *a,
                               const struct usage_query *query, struct usage_sums *ret,
                               struct error *err);

/* Reads from the store whether the bytes that a sandbox sends before it ends are to count: any
 * worker, every few seconds and after a change of quotas. */
MUST_CHECK int fleet_quotas_refresh(struct fleet *fleet, struct error *err);
/* What the last refresh has read. Any thread. */
bool fleet_egress_is_limited(const struct fleet *fleet);

#define FLEET_BUDGETS_MAX 100 /* of a project */
/* The longest subject: a label's name, '=' and its value. */
#define BUDGET_SUBJECT_MAX 385
struct fleet_budget {
	const char *project_id;
	enum budget_scope scope;
	/* The id of a key, the id or name of a sandbox, a run, NAME=VALUE of a label, a
	 * conversation; NULL: the project. */
	const char *subject;
	enum budget_window window;
	int64_t limit_micro, warn_percent;
};
MUST_CHECK int fleet_budget_create(struct fleet *fleet, struct arena *a,
                                   const struct fleet_budget *request, struct budget_record *ret,
                                   struct error *err);
/* limit_micro 0 and warn_percent -1 = unchanged. Warnings are given again for the new limit;
 * sandboxes that the old limit has stopped may be started again. */
MUST_CHECK int fleet_budget_update(struct fleet *fleet, struct arena *a, const char *id,
                                   const struct fleet_budget *request, struct budget_record *ret,
                                   struct error *err);
MUST_CHECK int fleet_budget_remove(struct fleet *fleet, const char *project_id, const char *id,
                                   struct error *err);

struct fleet_storage {
	int64_t limit_mb; /* for the sum; 0 = none */
	int64_t bytes;    /* sum of `of` */
	struct project_storage of;
};
MUST_CHECK int fleet_project_storage(struct fleet *fleet, const char *project_id,
                                     struct fleet_storage *ret, struct error *err);
