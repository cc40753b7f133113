/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/peers.h — the other servers on the same store, and their addresses.
 *
 * A server with an address (--peer-url) writes every few seconds into the store that it lives. A
 * request for a sandbox of another server is passed on to that server, see error_elsewhere. The
 * address comes only from the store, where only servers write it. The calls query the store and
 * block; for workers. */
#pragma once

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
