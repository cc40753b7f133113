/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/outgoing.h — what goes out of the api process by itself: webhooks, connects that renew
 * their tokens, credentials for the credential proxy, and refusals for the sandboxes that met them.
 * The last use the workers, the others have threads of their own. */
#pragma once

#include "base/error.h"

struct audit_log;
struct config;
struct connects;
struct credential_sender;
struct decision_log;
struct denied;
struct fleet;
struct grants;
struct store;
struct webhooks;
struct worker_pool;

struct outgoing {
	struct webhooks *webhooks;
	struct connects *connects;
	struct credential_sender *sender;
	struct grants *grants; /* NULL: there is no credential proxy */
	struct denied *denied;
};
struct outgoing_options {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	struct worker_pool *workers;
	struct decision_log *decisions;
	struct audit_log *audit; /* NULL = none */
	const char *node;        /* outlives it */
};
/* After a failure, outgoing_close ends what has started. */
MUST_CHECK int outgoing_open(const struct outgoing_options *options, struct outgoing *ret,
                             struct error *err);
/* Before the workers stop. */
void outgoing_close(struct outgoing *o);
