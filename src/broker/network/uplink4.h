/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/uplink4.h — whether answers by IPv4 reach sandboxes. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct host_network;

/* Sets n->usable, or n->problem, and n->has_uplink. Lets the interfaces with a default route
 * forward, because answers arrive there (forced.h). A host without a default route, such as a
 * laptop without a network, is no failure. */
void network_prepare_ipv4(struct host_network *n);
/* Whether the host has a default route now and had none when it was prepared. */
bool network_gained_uplink(const struct host_network *n);
/* Moves *rest, which is a text of /proc/net/route, behind the next default route of an interface;
 * false when there is none. */
bool network_next_uplink4(struct span *rest, struct span *ret_name);
