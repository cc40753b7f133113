/* SPDX-License-Identifier: Apache-2.0 */
/* json/write.h — pieces of JSON text that several writers of this folder share. Private to it. */
#pragma once

#include "base/buf.h"
#include "base/span.h"

/* The shortest decimal that reads back as the same double; null for NaN and the infinities, which
 * JSON cannot say. */
void write_number(struct buf *out, double number);
/* "name": with the comma before it unless it is the first. */
void write_name(struct buf *out, const char *name, bool *first);
