/* SPDX-License-Identifier: Apache-2.0 */
/* provider/uplink.h — checks whether packets of sandboxes can leave the host. */
#pragma once

#include "base/error.h"

/* ERROR_UNAVAILABLE with a hint when the host has no default route. */
MUST_CHECK int uplink_check(struct error *err);
