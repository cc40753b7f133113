/* SPDX-License-Identifier: Apache-2.0 */
/* config/otlp.h — the headers that the option otlp_headers names. */
#pragma once

#include "base/error.h"

/* The next header of `*rest`, percent-decoded, as a line "name: value" in the arena; NULL: none is
 * left. A malformed list is refused when the configuration is loaded. */
const char *config_otlp_header_next(struct arena *a, struct span *rest);
