/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/peers.h — the other servers on the same store, and how they are reached. Part of the
 * fleet's contract, see fleet.h.
 *
 * A server with an address (--peer-url) says every few seconds in the store that it lives. What one
 * of them cannot do because another one has the sandbox is passed on to that one, see
 * error_elsewhere. The address comes from the store alone, where only servers write it. Blocking
 * calls of the store; for workers. */
#pragma once

#include "fleet/fleet.h"

/* This one's name. */
const char *fleet_node(const struct fleet *fleet);
/* Where `node` is reached: its --peer-url. ERROR_NOT_FOUND when it has published none,
 * ERROR_UNAVAILABLE when it has not been heard of lately. */
MUST_CHECK int fleet_peer_find(struct fleet *fleet, struct arena *a, const char *node,
                               const char **ret_url, struct error *err);
