/* SPDX-License-Identifier: Apache-2.0 */
/* image/deflate.h — a stream as gzip, quickly rather than small: for who has asked for it. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/span.h"

struct deflate;
struct deflate *deflate_new(void);
void deflate_free(struct deflate *d); /* NULL is fine */
/* Appends what is ready; after `last` all of it is. */
void deflate_write(struct deflate *d, struct span bytes, bool last, struct buf *out);
