/* SPDX-License-Identifier: Apache-2.0 */
/* credential/h1/trailers.h — trailers of chunked bodies, read and written. Private to this folder.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "http/message/head.h"

/* The lines that a body_reader has kept, as the fields of a head; their text is the arena's. False
 * when there are none, and when they are malformed. */
MUST_CHECK bool h1_trailers_read(const struct buf *lines, struct arena *a, struct http_head *ret);
/* Writes the last chunk, the trailers and the end of the body. */
void h1_trailers_write(struct buf *out, const struct head_field *fields, size_t count);
