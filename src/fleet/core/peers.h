/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/peers.h — the other servers on the same store, and their addresses.
 *
 * A server with an address (--peer-url) writes every few seconds into the store that it lives. A
 * request for a sandbox of another server is passed on to that server, see error_elsewhere. The
 * address comes only from the store, where only servers write it. The calls query the store and
 * block; for workers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct fleet;

/* The name of this server. */
const char *fleet_node(const struct fleet *fleet);
/* The --peer-url of `node`. ERROR_NOT_FOUND if it has published none, ERROR_UNAVAILABLE if it has
 * stopped or has been silent for too long. */
MUST_CHECK int fleet_peer_find(struct fleet *fleet, struct arena *a, const char *node,
                               const char **ret_url, struct error *err);

enum fleet_node_state {
	FLEET_NODE_UP,
	FLEET_NODE_SILENT, /* it has not written for some time */
	FLEET_NODE_STOPPED,
	FLEET_NODE_STATE_COUNT,
};
struct fleet_node_info {
	const char *node, *url; /* url: "" = it has no --peer-url */
	enum fleet_node_state state;
	int64_t seen_at; /* unix ms; 0 = stopped */
	bool is_self;
};
struct fleet_node_list {
	struct fleet_node_info *items;
	size_t count;
};
/* Lists the servers on this store that have an address, and this server, which comes first. */
MUST_CHECK int fleet_nodes(struct fleet *fleet, struct arena *a, struct fleet_node_list *ret,
                           struct error *err);
