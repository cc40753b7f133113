/* SPDX-License-Identifier: Apache-2.0 */
/* json/time.h — RFC 3339 text to unix milliseconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Accepts years 1970 to 9999 and any offset; drops digits after the milliseconds. False when the
 * text is not a time; then *ret_ms is undefined. */
bool time_parse(struct span text, int64_t *ret_ms);
