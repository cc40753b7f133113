/* SPDX-License-Identifier: Apache-2.0 */
/* json/write.h — parts of the JSON writer that several files of this folder use. */
#pragma once

#include "base/buf.h"
#include "base/span.h"

/* Appends the shortest decimal that reads back as the same double; null for NaN and infinities. */
void write_number(struct buf *out, double number);
/* Appends "name": with a comma before it unless it is the first member. */
void write_name(struct buf *out, const char *name, bool *first);
