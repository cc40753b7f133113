/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ring.h — the last bytes of one output stream, each known by its offset from the start.
 *
 * Memory grows with the bytes written, up to capacity_max; then the oldest bytes are dropped, but
 * never bytes at or past `floor`, which a reader has not got yet. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"

#define RING_FIRST_SIZE 4096
#define RING_READ_MAX (128 * 1024)

struct ring {
	char *data;
	size_t capacity, capacity_max;
	uint64_t start, end; /* offsets of the oldest byte kept and past the newest */
};

void ring_done(struct ring *r);
/* The capacity that ring_fill needs next; `capacity` when it needs no more. */
size_t ring_wants(const struct ring *r);
size_t ring_used(const struct ring *r);
/* Keeps all bytes; `capacity` is at least what is used. */
void ring_resize(struct ring *r, size_t capacity);
/* One read(2) into the ring. Its result; 0 at the end of file; -1 with errno ENOBUFS when nothing
 * may be overwritten. */
ssize_t ring_fill(struct ring *r, int fd, uint64_t floor);
/* Room for at least `wanted` bytes where the floor allows it, by dropping the oldest ones. */
size_t ring_room(struct ring *r, size_t wanted, uint64_t floor);
/* Adds bytes for which there is room. */
void ring_add(struct ring *r, struct span bytes);
/* Bytes from `offset` on, as many as lie in one piece; *offset moves to `start` when the ring has
 * lost them. */
struct span ring_peek(const struct ring *r, uint64_t *offset);
