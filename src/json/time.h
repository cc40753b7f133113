/* SPDX-License-Identifier: Apache-2.0 */
/* json/time.h — RFC 3339 text to unix milliseconds. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Years 1970 to 9999, any offset; digits after the milliseconds are cut. False when the text is
 * something else; *ret_ms is then undefined. */
bool time_parse(struct span text, int64_t *ret_ms);
