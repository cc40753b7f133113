/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage.h — metering, and the budgets that end what costs too much.
 *
 * A call into a sandbox says who makes it and for what (struct fleet_use); that is counted in
 * memory. Once in config->usage_flush the tick writes the active time since the last write into the
 * store, divided among those who used the sandbox meanwhile, and then looks at the budgets. So a
 * budget may be exceeded by what is spent in that time, and no call ever waits for a query of ours.
 * Any thread. */
#pragma once

#include "fleet/fleet.h"
#include "store/holdings.h"

/* Borrowed for the call. */
struct fleet_use {
	const char *key_id;
	const char *run; /* NULL = none */
	enum usage_reason reason;
};

/* Writes what is due, unless that was done a moment ago (a twelfth of usage_flush), and answers the
 * sums. */
MUST_CHECK int fleet_usage_sum(struct fleet *fleet, struct arena *a,
                               const struct usage_query *query, struct usage_sums *ret,
                               struct error *err);

#define FLEET_BUDGETS_MAX 100 /* of a project */
struct fleet_budget {
	const char *project_id;
	enum budget_scope scope;
	const char *subject; /* NULL = the project; a key's id; a sandbox's id or name */
	enum budget_window window;
	int64_t limit_micro, warn_percent;
};
MUST_CHECK int fleet_budget_create(struct fleet *fleet, struct arena *a,
                                   const struct fleet_budget *request, struct budget_record *ret,
                                   struct error *err);
/* limit_micro 0 and warn_percent -1 = as it is. What was told of the old limit is told anew of this
 * one, when it comes to that; what the old one has stopped may be started again. */
MUST_CHECK int fleet_budget_update(struct fleet *fleet, struct arena *a, const char *id,
                                   const struct fleet_budget *request, struct budget_record *ret,
                                   struct error *err);
MUST_CHECK int fleet_budget_remove(struct fleet *fleet, const char *project_id, const char *id,
                                   struct error *err);

/* ---- what a project keeps ---- */

struct fleet_storage {
	int64_t limit_mb; /* of all together; 0 = none */
	int64_t bytes;    /* the sum of … */
	struct project_storage of;
};
MUST_CHECK int fleet_project_storage(struct fleet *fleet, const char *project_id,
                                     struct fleet_storage *ret, struct error *err);
/* Its row was changed by the caller: nothing that is known of it holds any more. */
void fleet_project_changed(struct fleet *fleet, const char *project_id);
