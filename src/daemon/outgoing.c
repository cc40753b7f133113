/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/outgoing.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "config/config.h"
#include "connect/connect.h"
#include "credential/sender.h"
#include "daemon/credentials.h"
#include "denied/denied.h"
#include "grant/grant.h"
#include "webhook/webhook.h"

/* The supervisor makes the socket before it starts this process. */
static int open_grants(const struct outgoing_options *o, struct outgoing *ret, struct error *err)
{
	struct grants_options grants = {
	        .store = o->store,
	        .fleet = o->fleet,
	        .decisions = o->decisions,
	        .audit = o->audit,
	        .node = o->node,
	};
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/run/" CREDENTIALS_SOCKET, o->config->data_dir);
	if (access(path, F_OK) != 0)
		return 0;
	if (credential_sender_new(path, &ret->sender, err) < 0)
		return -1;
	grants.sender = ret->sender;
	return grants_open(&grants, &ret->grants, err);
}

int outgoing_open(const struct outgoing_options *options, struct outgoing *ret, struct error *err)
{
	const struct webhooks_options webhooks = {options->config, options->store, options->node};
	const struct denied_options denied = {.store = options->store,
	                                      .fleet = options->fleet,
	                                      .workers = options->workers,
	                                      .decisions = options->decisions};

	if (webhooks_open(&webhooks, &ret->webhooks, err) < 0 ||
	    connects_open(options->config, options->store, &ret->connects, err) < 0)
		return -1;
	ret->denied = denied_open(&denied);
	return open_grants(options, ret, err);
}

void outgoing_close(struct outgoing *o)
{
	webhooks_close(o->webhooks);
	connects_close(o->connects);
	grants_close(o->grants);
	credential_sender_free(o->sender);
	denied_close(o->denied);
}
