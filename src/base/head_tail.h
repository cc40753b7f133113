/* SPDX-License-Identifier: Apache-2.0 */
/* base/head_tail.h — a head-tail buffer: the first and last bytes of a stream of any length.
 *
 * Half of the limit holds the start of the stream and half, a ring, holds the end. The joined text
 * has a line between the halves that says how many bytes are missing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct head_tail {
	size_t half;
	struct buf head;
	struct buf tail;
	size_t tail_at; /* index of the ring's oldest byte once the ring is full */
	uint64_t total; /* bytes of the stream, including lost bytes */
	uint64_t lost;  /* bytes that never reached the buffer */
};

/* Requires limit > 0. */
void head_tail_init(struct head_tail *b, size_t limit);

void head_tail_done(struct head_tail *b);

/* Adds bytes that begin at `offset` of the stream. An offset beyond the bytes seen so far counts
 * the gap as lost. */
void head_tail_add(struct head_tail *b, uint64_t offset, struct span bytes);

/* Bytes of the stream that the buffer no longer holds. */
uint64_t head_tail_cut_count(const struct head_tail *b);

/* Appends at most the limit and 256 bytes to `out`. No UTF-8 character is split at the cut. */
void head_tail_join(const struct head_tail *b, struct buf *out);
