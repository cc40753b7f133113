/* SPDX-License-Identifier: Apache-2.0 */
/* base/kept.h — the first and the last bytes of a stream that may be endless.
 *
 * Half of the limit holds the beginning and half, a ring, the end; between them joined text has a
 * line that tells how many bytes were cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

struct kept {
	size_t half;
	struct buf head, tail;
	size_t tail_at;       /* oldest byte of the ring once it is full */
	uint64_t total, lost; /* bytes that came or were lost; those that were lost on the way */
};
/* limit > 0. */
void kept_init(struct kept *k, size_t limit);
void kept_done(struct kept *k);
/* Bytes at `offset` of the stream; one further than what came before tells of a loss. */
void kept_add(struct kept *k, uint64_t offset, struct span bytes);
uint64_t kept_cut_count(const struct kept *k);
/* At most the limit and 256 bytes. No character is cut in half where bytes are missing. */
void kept_join(const struct kept *k, struct buf *out);
