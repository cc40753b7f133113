/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/reconcile.h — rows and provider brought to agreement. */
#pragma once

#include "fleet/fleet.h"

struct operation;

/* What the provider has of a sandbox. */
enum observed_state { OBSERVED_NONE, OBSERVED_FILES, OBSERVED_RUNNING, OBSERVED_PAUSED };
/* As of now: for a sandbox that this thread operates on. */
MUST_CHECK int observed_state_find(struct fleet *f, const char *id, enum observed_state *ret,
                                   struct error *err);
/* `reason`: why the sandbox has ended, if it has. */
MUST_CHECK int lifecycle_reconcile(struct operation *op, enum observed_state observed,
                                   enum sandbox_reason reason, struct error *err);

typedef void fleet_visit(struct fleet *f, const struct sandbox_record *r, void *context);
/* Visits each row of this server and provider that is not deleted. */
MUST_CHECK int fleet_each_sandbox(struct fleet *f, fleet_visit *visit, void *context,
                                  struct error *err);

/* The provider has reported the end of a sandbox; a worker reconciles its row. */
struct ended_sandbox {
	struct ended_sandbox *next;
	char id[ID_SIZE + 1];
	enum sandbox_reason reason;
};
