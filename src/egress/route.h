/* SPDX-License-Identifier: Apache-2.0 */
/* egress/route.h — asks the kernel where an address is. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A socket of netlink, which who has no power over the network can only ask by. */
MUST_CHECK int route_open(int *ret_fd, struct error *err);
/* Whether it is another machine's: not this one's, in whichever way it has it, and nobody's that is
 * many or none. False when the kernel does not say. */
bool route_leads_out(int fd, uint32_t address);
