/* SPDX-License-Identifier: Apache-2.0 */
/* cli/event_lines.h — NDJSON of the server, line by line as it comes. Private to this folder. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

/* Calls on_line with each whole line of what `pending`, whose limit is that of a line, and `bytes`
 * make together; what is begun stays in `pending`. */
MUST_CHECK int event_lines_add(struct buf *pending, struct span bytes,
                               int (*on_line)(void *context, struct span line, struct error *err),
                               void *context, struct error *err);
