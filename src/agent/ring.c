/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

void ring_done(struct ring *r)
{
	free(r->data);
	r->data = NULL;
	r->capacity = 0;
	r->start = r->end;
}

size_t ring_used(const struct ring *r)
{
	assert(r->start <= r->end && r->end - r->start <= r->capacity);
	return (size_t)(r->end - r->start);
}

static size_t smaller_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t ring_wants(const struct ring *r)
{
	if (ring_used(r) < r->capacity)
		return r->capacity;
	return smaller_size(r->capacity < RING_FIRST_SIZE / 4 ? RING_FIRST_SIZE : 4 * r->capacity,
	                    r->capacity_max);
}

void ring_resize(struct ring *r, size_t capacity)
{
	struct ring other = {.capacity = capacity,
	                     .capacity_max = r->capacity_max,
	                     .start = r->start,
	                     .end = r->end};
	uint64_t at = r->start;

	assert(capacity >= ring_used(r));
	other.data = capacity ? malloc(capacity) : NULL;
	if (capacity && !other.data)
		abort();
	while (capacity && at < r->end) {
		struct span piece = ring_peek(r, &at);

		piece.size = smaller_size(piece.size, capacity - at % capacity);
		memcpy(other.data + at % capacity, piece.data, piece.size);
		at += piece.size;
	}
	free(r->data);
	*r = other;
}

static void give_way(struct ring *r, uint64_t floor)
{
	uint64_t limit = floor < r->end ? floor : r->end;

	if (limit > r->start)
		r->start += smaller_size((size_t)(limit - r->start), RING_READ_MAX / 2);
}

ssize_t ring_fill(struct ring *r, int fd, uint64_t floor)
{
	struct iovec pieces[2];
	size_t room, at;
	ssize_t got;

	if (ring_used(r) == r->capacity)
		give_way(r, floor);
	room = smaller_size(r->capacity - ring_used(r), RING_READ_MAX);
	if (room == 0) {
		errno = ENOBUFS;
		return -1;
	}
	at = (size_t)(r->end % r->capacity);
	pieces[0] = (struct iovec){r->data + at, smaller_size(room, r->capacity - at)};
	pieces[1] = (struct iovec){r->data, room - pieces[0].iov_len};
	got = readv(fd, pieces, pieces[1].iov_len ? 2 : 1);
	if (got > 0)
		r->end += (uint64_t)got;
	return got;
}

size_t ring_room(struct ring *r, size_t wanted, uint64_t floor)
{
	if (r->capacity - ring_used(r) < wanted)
		give_way(r, floor);
	return r->capacity - ring_used(r);
}

void ring_add(struct ring *r, struct span bytes)
{
	assert(bytes.size <= r->capacity - ring_used(r));
	while (bytes.size > 0) {
		size_t at = (size_t)(r->end % r->capacity);
		struct span piece = span_take(&bytes, r->capacity - at);

		memcpy(r->data + at, piece.data, piece.size);
		r->end += piece.size;
	}
}

struct span ring_peek(const struct ring *r, uint64_t *offset)
{
	size_t at;

	if (*offset < r->start)
		*offset = r->start;
	if (*offset >= r->end)
		return (struct span){NULL, 0};
	at = (size_t)(*offset % r->capacity);
	return (struct span){r->data + at,
	                     smaller_size((size_t)(r->end - *offset), r->capacity - at)};
}
