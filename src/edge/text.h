/* SPDX-License-Identifier: Apache-2.0 */
/* edge/text.h — bytes of unknown encoding inside JSON.
 *
 * Well-formed UTF-8 without NUL is written as text. Other bytes are written as base64 with
 * "encoding":"base64" beside it, so that no byte is lost. JSON readers refuse NUL. */
#pragma once

#include <stddef.h>

#include "base/bytes.h"

/* Appends `"name":"…"`, and `,"encoding_name":"base64"` when the bytes are not text. */
void text_write(struct buf *out, const char *name, const char *encoding_name, struct span bytes);
/* Appends base64 (RFC 4648, padded) without quotes. */
void text_write_base64(struct buf *out, struct span bytes);
/* Decodes base64 in any of its four forms: with or without padding, of both alphabets. */
MUST_CHECK int text_read_bytes(struct arena *a, struct span base64, struct span *ret,
                               struct error *err);
/* Decodes padded base64 of a text without NUL. */
MUST_CHECK int text_read_base64(struct arena *a, const char *base64, const char **ret,
                                struct error *err);
