/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/plain.h — turns terminal output into lines of text: drops control sequences, and shows
 * an overwritten line (by carriage return or backspaces) in its last state. */
#pragma once

#include "base/bytes.h"

/* Appends well-formed UTF-8. Cursor movements can make output larger than input: `out` has a limit.
 */
void plain_write(struct buf *out, struct span raw);
