/* SPDX-License-Identifier: Apache-2.0 */
/* json/base64.h — base64 (RFC 4648, section 4). */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

void base64_encode(struct buf *out, struct span bytes);
/* Strict: requires padding, refuses blanks and stray bits. False when the text is not base64. */
bool base64_decode(struct arena *a, struct span text, struct span *ret);
