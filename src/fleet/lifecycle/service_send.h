/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/service_send.h — services between rows and agents. */
#pragma once

#include "wire/agent_services.h"

struct fleet;
struct operation;
struct service_list;
struct service_record;

/* Sends a row to the agent of a sandbox that runs or is about to start. A row in REMOVED is deleted
 * then. */
MUST_CHECK int service_send(struct operation *op, const struct service_record *service,
                            struct error *err);
/* Sends the rows that the agent has not got yet. */
MUST_CHECK int services_catch_up(struct operation *op, struct error *err);
/* Copies services to a new sandbox, and starts them if it runs. */
MUST_CHECK int services_copy_to(struct fleet *f, struct arena *a, const struct service_list *like,
                                const char *sandbox_id, struct error *err);
/* Of a sandbox that continues from the memory of another: ends that one's services, of which this
 * one has no rows. */
MUST_CHECK int services_end_inherited(struct operation *op, struct error *err);
/* The states that the agent reports, in the arena. */
struct service_states {
	struct agent_service_state items[AGENT_SERVICES_MAX * 2];
	size_t count;
};
MUST_CHECK int service_ask(struct fleet *f, struct arena *a, const char *sandbox_id,
                           struct service_states *ret, struct error *err);
/* Starts all services that should run; on the way to STARTED. */
MUST_CHECK int services_start(struct operation *op, struct error *err);
/* Of the tick: sends services to agents that have not got them yet. */
MUST_CHECK int services_reconcile(struct fleet *f, struct error *err);
