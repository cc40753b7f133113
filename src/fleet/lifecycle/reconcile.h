/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/reconcile.h — rows and provider brought to agreement. */
#pragma once

#include "sandbox/sandbox.h"

struct fleet;
struct map;
struct operation;
struct provider_list;

/* The provider's state of a sandbox. */
enum observed_state { OBSERVED_NONE, OBSERVED_FILES, OBSERVED_RUNNING, OBSERVED_PAUSED };
/* As of now: for a sandbox that this thread operates on. */
MUST_CHECK int observed_state_find(struct fleet *f, const char *id, enum observed_state *ret,
                                   struct error *err);
/* `reason`: why the sandbox has ended, if it has. */
MUST_CHECK int lifecycle_reconcile(struct operation *op, enum observed_state observed,
                                   enum sandbox_reason reason, struct error *err);

/* Lists what the provider has. */
MUST_CHECK int provider_entries_list(struct fleet *f, struct arena *a, struct provider_list *ret,
                                     struct error *err);
/* A map from ids to observed states, of such a list; the caller ends it with map_done. */
void observed_states_add(const struct provider_list *list, struct map *ret);
MUST_CHECK int observed_states_list(struct fleet *f, struct map *ret, struct error *err);
enum observed_state observed_states_get(const struct map *observed_states, const char *id);
