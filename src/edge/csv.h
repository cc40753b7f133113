/* SPDX-License-Identifier: Apache-2.0 */
/* edge/csv.h — comma-separated values (RFC 4180).
 *
 * A cell that a spreadsheet would read as a formula starts with an apostrophe, because callers
 * choose the texts. */
#pragma once

#include "base/bytes.h"

/* Adds a cell to the current row. */
void csv_text(struct buf *out, const char *text);
void csv_number(struct buf *out, double value, int decimals);
/* Ends the row. */
void csv_end(struct buf *out);
