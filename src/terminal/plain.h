/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/plain.h — output of a terminal as lines of text: what colours and moves is left out, a
 * line that was written over (by a carriage return or backspaces) is told as it was left. Private
 * to this folder. */
#pragma once

#include "base/buf.h"

/* Appends well-formed UTF-8, whatever came. Moves may make much of little: `out` has a limit. */
void plain_write(struct buf *out, struct span raw);
