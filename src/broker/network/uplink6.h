/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/uplink6.h — whether the host can give sandboxes IPv6. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define NETWORK_OPTIONS6 "/proc/sys/net/ipv6/conf/"

struct host_network;

/* Sets n->ipv6: whether the host has a default route of IPv6 and forwards, or has a kernel (6.17 or
 * later) that forwards for single interfaces. That is turned on for the interfaces with a default
 * route, because answers arrive there (forced.h). The option of the whole host is never changed:
 * it would make a router of the host, which then learns no routes itself. Logs why sandboxes have
 * no IPv6, unless it has said so. */
void network_prepare_ipv6(struct host_network *n);
/* Whether the host has a default route of IPv6, and sandboxes have no IPv6 yet. */
bool network_gained_uplink6(const struct host_network *n);
/* Whether the option "INTERFACE/NAME" begins with this letter; false without such an option. */
bool network_option6_is(const char *name, char value);

/* Whether interfaces that are made now get IPv6: an administrator may have turned it off. */
bool network_links_get_ipv6(void);

/* Moves *rest, which is a text of /proc/net/ipv6_route, behind the next default route of an
 * interface; false when there is none. */
bool network_next_uplink6(struct span *rest, struct span *ret_name);
