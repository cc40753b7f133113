/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/connect.h — the Connect protocol with JSON messages: envelopes and errors. Private
 * to this folder; pure.
 *
 * A stream is a row of envelopes, each a byte of flags, a size in 4 bytes, big-endian, and a JSON
 * text. The last one of an answer ends it (CONNECT_END) and may hold an error; the HTTP status is
 * 200 all the same. A call without streams is plain JSON, and its errors have HTTP statuses. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"
#include "http/http.h"

#define CONNECT_HEAD_SIZE 5
#define CONNECT_MESSAGE_MAX ((size_t)4 * 1024 * 1024)
#define CONNECT_STREAM_TYPE "application/connect+json"

enum connect_flag { CONNECT_COMPRESSED = 1 << 0, CONNECT_END = 1 << 1 };

/* Cuts one envelope from the front of *in: 1, or 0 when more bytes are needed, or -1 when it is
 * malformed, compressed or too large. The message borrows from *in. */
MUST_CHECK int connect_take_envelope(struct span *in, unsigned *ret_flags, struct span *ret_message,
                                     struct error *err);
/* The message of a body that is to hold exactly one. */
MUST_CHECK int connect_read_single(struct span body, struct span *ret, struct error *err);

/* Between the two the message is written into `out`. */
size_t connect_begin_envelope(struct buf *out);
void connect_end_envelope(struct buf *out, size_t begun, unsigned flags);
/* The envelope that ends a stream; `err` NULL: well. */
void connect_write_end(struct buf *out, const struct error *err);

/* "not_found", … */
const char *connect_code(enum error_code code);
/* {"code":"not_found","message":"…"} of a call without streams, and its status. */
void connect_write_failure(struct http_failure *failure, struct buf *out);
/* "Connect-Timeout-Ms"; 0 when there is none. At most 10 digits, as the protocol says. */
MUST_CHECK int connect_timeout_parse(const char *text, int64_t *ret_ms, struct error *err);
