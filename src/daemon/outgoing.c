/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/outgoing.h"

#include "connect/connect.h"
#include "webhook/webhook.h"

int outgoing_open(const struct config *config, struct store *store, const char *node,
                  struct outgoing *ret, struct error *err)
{
	const struct webhooks_options webhooks = {config, store, node};

	if (webhooks_open(&webhooks, &ret->webhooks, err) < 0)
		return -1;
	return connects_open(config, store, &ret->connects, err);
}

void outgoing_close(struct outgoing *o)
{
	webhooks_close(o->webhooks);
	connects_close(o->connects);
}
