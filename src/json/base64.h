/* SPDX-License-Identifier: Apache-2.0 */
/* json/base64.h — bytes as text (RFC 4648, section 4). Private to this folder. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

void base64_encode(struct buf *out, struct span bytes);
/* Strict: padded, no blanks, no stray bits. False when the text is something else. */
bool base64_decode(struct arena *a, struct span text, struct span *ret);
