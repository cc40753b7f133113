/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/service_parts.h — services.h, for the files of this folder. Private to it. */
#pragma once

#include "fleet/services.h"

struct operation;

/* ---- service_send.c: between rows and an agent ---- */

/* Of a sandbox that runs and that this thread acts on, or is about to start. Rows that are to go
 * are gone after it. */
MUST_CHECK int service_send(struct operation *op, const struct service_record *service,
                            struct error *err);
/* All that it should run; on its way to STARTED. */
MUST_CHECK int services_start(struct operation *op, struct error *err);
/* What its agent has not been told of. */
MUST_CHECK int services_catch_up(struct operation *op, struct error *err);
/* The same for all sandboxes; failures are logged. */
MUST_CHECK int services_reconcile(struct fleet *f, struct error *err);
/* Gives a new sandbox, which runs, what `like` is. */
MUST_CHECK int services_copy_to(struct fleet *f, struct arena *a, const struct service_list *like,
                                const char *sandbox_id, struct error *err);
/* request.c: {"KEY":"value"} that we wrote ourselves. */
MUST_CHECK int request_map_of_json(struct arena *a, const char *text, struct json_map *ret,
                                   struct error *err);
/* What the agent says, into the arena. */
struct service_states {
	struct agent_service_state items[AGENT_SERVICES_MAX * 2];
	size_t count;
};
MUST_CHECK int service_ask(struct fleet *f, struct arena *a, const char *sandbox_id,
                           struct service_states *ret, struct error *err);
