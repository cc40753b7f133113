/* SPDX-License-Identifier: Apache-2.0 */
/* edge/csv.h — comma-separated values, as RFC 4180 has them. Private to this folder.
 *
 * A cell that a spreadsheet would take for a formula gets an apostrophe before it: texts come from
 * whoever named them. */
#pragma once

#include "base/buf.h"

/* Head or cells of a row; the last one is followed by csv_end. */
void csv_text(struct buf *out, const char *text);
/* A number of ours, as it is. */
void csv_number(struct buf *out, double value, int decimals);
void csv_end(struct buf *out);
