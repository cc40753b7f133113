/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/connect.h — the Connect protocol with JSON messages: envelopes and errors. Pure.
 *
 * A stream is a sequence of envelopes. Each is a byte of flags, a size in 4 bytes (big-endian) and
 * a JSON text. The last envelope of a reply has the flag CONNECT_END and may hold an error; the
 * HTTP status is 200 even then. A call without streams is plain JSON and uses HTTP statuses for
 * its errors. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct http_failure;

#define CONNECT_HEAD_SIZE 5
#define CONNECT_MESSAGE_MAX ((size_t)4 * 1024 * 1024)
#define CONNECT_STREAM_TYPE "application/connect+json"

enum connect_flag {
	CONNECT_COMPRESSED = 1 << 0,
	CONNECT_END = 1 << 1,
};

/* Cuts one envelope from the front of *in. Returns 1, or 0 if more bytes are needed, or -1 if the
 * envelope is malformed, compressed or too large. The message borrows from *in. */
MUST_CHECK int connect_take_envelope(struct span *in, unsigned *ret_flags, struct span *ret_message,
                                     struct error *err);
/* The message of a body that must hold exactly one envelope. */
MUST_CHECK int connect_read_single(struct span body, struct span *ret, struct error *err);

/* The caller writes the message into `out` between these two calls. */
size_t connect_begin_envelope(struct buf *out);
void connect_end_envelope(struct buf *out, size_t begun, unsigned flags);
/* Writes the envelope that ends a stream; `err` NULL = success. */
void connect_write_end(struct buf *out, const struct error *err);

/* "not_found", … */
const char *connect_code(enum error_code code);
/* {"code":"not_found","message":"…"}; `name` as in json/write.h. */
void connect_write_error(struct buf *out, const char *name, const char *code, const char *message);
/* Writes the error of a call without streams, and sets its status. */
void connect_write_failure(struct http_failure *failure, struct buf *out);
/* Reads "Connect-Timeout-Ms"; 0 if the header is absent. The protocol allows at most 10 digits. */
MUST_CHECK int connect_timeout_parse(const char *text, int64_t *ret_ms, struct error *err);
