/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/outgoing.h — what calls other servers by itself: webhooks, and connects that renew their
 * tokens. Each has threads of its own. */
#pragma once

#include "base/error.h"

struct config;
struct connects;
struct store;
struct webhooks;

struct outgoing {
	struct webhooks *webhooks;
	struct connects *connects;
};
/* `node` outlives it. After a failure, outgoing_close ends what has started. */
MUST_CHECK int outgoing_open(const struct config *config, struct store *store, const char *node,
                             struct outgoing *ret, struct error *err);
void outgoing_close(struct outgoing *o);
