/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/forced6.h — interfaces of the host that forward IPv6 because Atoll has said so.
 *
 * The kernel's option lasts as long as the interface, whichever server is killed. So two things
 * precede it: a file in /run/atoll/uplinks6, which lasts as long and is the truth about whose
 * option it is; and a rule of nft that keeps the interface from forwarding for others than
 * sandboxes. Every server on the host sets that rule for all such interfaces, also when its own
 * sandboxes have no IPv6. The files are removed last. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/error.h"

struct host_network;

/* Reads n->forced6 from the files. Removes those of interfaces that are gone. */
void network_forced6_find(struct host_network *n);
/* Lets the interfaces of the default routes (network_next_uplink6) forward. Those that forward
 * already, and not because of Atoll, stay as they are: they forward for others, too. */
MUST_CHECK int network_forced6_set(struct host_network *n, struct span routes, struct error *err);
/* Whether one of them does not forward any more. */
bool network_forced6_is_lost(const struct host_network *n);
/* The rule that guards the interfaces of n->forced6. */
void network_forced6_rules(struct buf *out, const struct host_network *n);
/* Ends the forwarding of all these interfaces, also for other servers on the host. */
void network_forced6_release(struct host_network *n);
/* Call it when the rules of all networks are lost: sets the guard alone, or ends the forwarding. */
void network_forced6_secure(struct host_network *n);
