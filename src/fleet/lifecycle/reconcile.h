/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/reconcile.h — rows and provider brought to agreement. */
#pragma once

#include "base/map.h"
#include "provider/set.h"
#include "sandbox/sandbox.h"

struct fleet;
struct operation;
struct provider_list;
struct sandbox_record;

/* The provider's state of a sandbox. */
enum observed_state {
	OBSERVED_NONE,
	OBSERVED_FILES,
	OBSERVED_RUNNING,
	OBSERVED_PAUSED,
	OBSERVED_UNKNOWN, /* its provider did not answer: nothing may be concluded */
};
/* As of now: for the sandbox of this operation. */
MUST_CHECK int observed_state_find(const struct operation *op, enum observed_state *ret,
                                   struct error *err);
/* `reason`: why the sandbox has ended, if it has. */
MUST_CHECK int lifecycle_reconcile(struct operation *op, enum observed_state observed,
                                   enum sandbox_reason reason, struct error *err);

/* What all providers of this server have, each sandbox once. */
struct observed {
	struct map states;                    /* from ids to observed states */
	bool is_silent[PROVIDER_MEMBERS_MAX]; /* the member did not list its sandboxes */
};
void observed_done(struct observed *o);
/* Lists them. A member that does not answer is noted as silent; a silent primary is an error. */
MUST_CHECK int observed_list(struct fleet *f, struct arena *a, struct observed *ret,
                             struct provider_list *ret_list, struct error *err);
enum observed_state observed_get(const struct fleet *f, const struct observed *o,
                                 const struct sandbox_record *r);
