/* SPDX-License-Identifier: Apache-2.0 */
/* base/address.h — where the server itself connects to when a caller, or one whom a caller has
 * named, says where. The one rule for all of them; it is asked of the address that is connected to,
 * so that no name can mean something else by then. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* Whether it is one of the internet: no loopback, private, link-local, shared, documentation,
 * multicast or reserved one, and none that stands for such by translation. */
bool address_is_public(const struct sockaddr *address);
