/* SPDX-License-Identifier: Apache-2.0 */
/* broker/network/link.h — the outer end of a sandbox's link; launch/link.h makes it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Gives the link's outer end the address NETWORK_GATEWAY. */
MUST_CHECK int network_link_answer(uint32_t slot, struct error *err);
/* Lets the kernel forward IPv4 packets that come from the sandbox again, after the host has ended
 * being a router: that takes the option from all interfaces. */
MUST_CHECK int network_link_forward4(uint32_t slot, struct error *err);
/* Lets the kernel forward IPv6 packets that come from the sandbox, on a host that forwards no
 * others. A kernel before 6.17 forwards them only where the host is a router. */
MUST_CHECK int network_link_forward6(uint32_t slot, struct error *err);
/* Does nothing when the link is missing. */
void network_link_remove(uint32_t slot);
/* The same, and costs little then: the kernel may not have removed the link of the slot's last
 * sandbox yet. */
void network_link_clear(uint32_t slot);
/* Takes the link down, so that no packet passes it. Does nothing when it is missing. */
void network_link_stop(uint32_t slot);
/* Whether the sandbox has ever sent anything; `otherwise` when there is no link. */
bool network_was_used(uint32_t slot, bool otherwise);
/* Bytes that the sandbox has received and sent. */
MUST_CHECK int network_counters(uint32_t slot, uint64_t *ret_in, uint64_t *ret_out,
                                struct error *err);
