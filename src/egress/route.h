/* SPDX-License-Identifier: Apache-2.0 */
/* egress/route.h — asks the kernel how it routes an address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/egress.h"

/* Opens a netlink socket; without capabilities it can only query. */
MUST_CHECK int route_open(int *ret_fd, struct error *err);
/* Whether the address belongs to another machine: it is neither local nor broadcast, multicast or
 * unroutable. With `may_lack`, an address without any route counts as another machine's, too. False
 * when the kernel does not answer. */
bool route_leads_out(int fd, uint32_t address, bool may_lack);
bool route_leads_out6(int fd, const struct address6 *address);
