/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/event_lines.h — splits NDJSON from the server into lines as it arrives. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

/* Calls on_line for each complete line of `pending` plus `bytes`. An incomplete line stays in
 * `pending`, whose limit is that of a line. */
MUST_CHECK int event_lines_add(struct buf *pending, struct span bytes,
                               int (*on_line)(void *context, struct span line, struct error *err),
                               void *context, struct error *err);
