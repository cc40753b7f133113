/* SPDX-License-Identifier: Apache-2.0 */
/* base/address.h — the rule for addresses that a caller may make the server connect to.
 *
 * Check the resolved address right before connecting to it: the name may resolve differently
 * later. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* True for a public internet address. False for loopback, private, link-local, shared,
 * documentation, multicast and reserved addresses, and for IPv6 addresses that translate to such an
 * address. */
bool address_is_public(const struct sockaddr *address);
