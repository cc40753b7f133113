/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kept.h"

#include <assert.h>
#include <inttypes.h>

void kept_init(struct kept *k, size_t limit)
{
	size_t half = limit / 2 + limit % 2;

	assert(limit > 0);
	*k = (struct kept){.half = half, .head = BUF(half), .tail = BUF(half)};
}

void kept_done(struct kept *k)
{
	buf_done(&k->head);
	buf_done(&k->tail);
}

static void tail_add(struct kept *k, struct span bytes)
{
	size_t room = k->half - k->tail.size;

	if (bytes.size > k->half) {
		bytes.data += bytes.size - k->half;
		bytes.size = k->half;
	}
	if (room > bytes.size)
		room = bytes.size;
	buf_add(&k->tail, bytes.data, room);
	for (size_t at = room; at < bytes.size;) {
		size_t piece = k->half - k->tail_at;

		if (piece > bytes.size - at)
			piece = bytes.size - at;
		memcpy(k->tail.data + k->tail_at, bytes.data + at, piece);
		k->tail_at = (k->tail_at + piece) % k->half;
		at += piece;
	}
}

void kept_add(struct kept *k, uint64_t offset, struct span bytes)
{
	size_t room = k->half - k->head.size;

	if (offset > k->total) {
		k->lost += offset - k->total;
		k->total = offset;
	}
	k->total += bytes.size;
	if (room > bytes.size)
		room = bytes.size;
	buf_add(&k->head, bytes.data, room);
	bytes.data += room;
	bytes.size -= room;
	if (bytes.size > 0)
		tail_add(k, bytes);
}

uint64_t kept_cut_count(const struct kept *k)
{
	return k->total - k->head.size - k->tail.size;
}

/* Bytes at the oldest end of the tail that lost the beginning of their character. */
static size_t tail_continued(const struct kept *k)
{
	size_t count = 0;

	while (count < 3 && count < k->tail.size) {
		unsigned char byte =
		        (unsigned char)k->tail.data[(k->tail_at + count) % k->tail.size];

		if ((byte & 0xC0) != 0x80)
			break;
		count++;
	}
	return count;
}

static void tail_write(const struct kept *k, size_t skip, struct buf *out)
{
	size_t newer = k->tail.size - k->tail_at;

	if (skip < newer)
		buf_add(out, k->tail.data + k->tail_at + skip, newer - skip);
	skip = skip < newer ? 0 : skip - newer;
	if (skip < k->tail_at)
		buf_add(out, k->tail.data + skip, k->tail_at - skip);
}

void kept_join(const struct kept *k, struct buf *out)
{
	uint64_t cut = kept_cut_count(k);
	size_t drop = cut > 0 ? span_begun(buf_span(&k->head)) : 0;
	size_t skip = cut > 0 ? tail_continued(k) : 0;

	if (k->head.size > drop)
		buf_add(out, k->head.data, k->head.size - drop);
	if (cut > 0)
		buf_addf(out, "\n[%" PRIu64 " bytes of output were cut here]\n", cut + drop + skip);
	if (k->tail.size > 0)
		tail_write(k, skip, out);
}
