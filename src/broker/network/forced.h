/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/forced.h — interfaces of the host that forward because Atoll has said so.
 *
 * The kernel's option lasts as long as the interface, whichever server is killed. So two things
 * precede it: a file in /run/atoll/uplinks4 or uplinks6, which lasts as long and is the truth about
 * whose option it is; and a rule of nft that keeps the interface from forwarding for others than
 * sandboxes. Every server on the host sets that rule for all such interfaces, also when its own
 * sandboxes have no IPv6. The files are removed last.
 *
 * An interface that forwards without Atoll is not touched: that of a host that is a router, or one
 * that an administrator lets forward. When a host becomes a router, the files and the rule go. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"
#include "broker/network/network.h"

/* Whether the host forwards for everybody, by an option of all its interfaces. */
bool network_is_router(enum network_family family);
/* Adds the host's routes, for network_next_uplink4 or network_next_uplink6. */
MUST_CHECK int network_read_routes(enum network_family family, struct buf *out, struct error *err);
/* Whether all interfaces of the default routes forward. */
bool network_uplinks_forward(enum network_family family, struct span routes);
/* Reads n->forced from the files. Removes those of interfaces that are gone. */
void network_forced_find(struct host_network *n, enum network_family family);
/* Lets the interfaces of the default routes forward. Those that forward already, and not because of
 * Atoll, stay as they are: they forward for others, too. */
MUST_CHECK int network_forced_set(struct host_network *n, enum network_family family,
                                  struct span routes, struct error *err);
/* Whether one of them does not forward any more, or the host has become a router. */
bool network_forced_is_lost(const struct host_network *n, enum network_family family);
/* The rules that guard the interfaces of n->forced. */
void network_forced_rules(struct buf *out, const struct host_network *n);
/* Ends the forwarding of all these interfaces, also for other servers on the host. A router goes on
 * to forward. */
void network_forced_release(struct host_network *n, enum network_family family);
/* Call it when default routes or the host's options may have changed: releases interfaces of a host
 * that has become a router; otherwise, if `is_used`, lets the interfaces of the default routes
 * forward. True: interfaces forward again; the links of sandboxes may need it, too. */
bool network_forced_follow(struct host_network *n, enum network_family family, bool is_used);
/* Call it when the rules of all networks are lost: sets the guard alone, or ends the forwarding. */
void network_forced_secure(struct host_network *n);
