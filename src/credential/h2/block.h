/* SPDX-License-Identifier: Apache-2.0 */
/* credential/h2/block.h — a head of HTTP/2 as it comes, field by field. Private to this folder.
 * Pure.
 *
 * A head is written as the text of HTTP/1.1 that it means, and read with the parser of HTTP/1.1:
 * one parser decides what is ambiguous for both versions. Nothing that could end a line gets that
 * far. */
#pragma once

#include "http/message/head.h"

struct h2_block {
	struct buf method, scheme, authority, path, status;
	struct buf lines, cookies; /* cookies become one field, RFC 9113 8.2.3 */
	size_t size;               /* as RFC 9113 counts it, with 32 bytes for each field */
	bool is_refused;           /* malformed, or too large */
};

void h2_block_begin(struct h2_block *b);
void h2_block_done(struct h2_block *b);
/* Bytes of its buffers. */
size_t h2_block_memory(const struct h2_block *b);
void h2_block_add(struct h2_block *b, struct span name, struct span value);

/* False for what is no sound request; its text is the arena's. `has_body`: more comes than a
 * head. */
MUST_CHECK bool h2_block_request(const struct h2_block *b, struct arena *a, bool has_body,
                                 struct http_head *ret);
/* The same for an answer. Trailers are an answer without a status. */
MUST_CHECK bool h2_block_answer(const struct h2_block *b, struct arena *a, bool has_body,
                                struct http_head *ret);
static inline bool h2_block_has_status(const struct h2_block *b)
{
	return b->status.size > 0;
}
