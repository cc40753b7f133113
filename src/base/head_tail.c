/* SPDX-License-Identifier: Apache-2.0 */
#include "base/head_tail.h"

#include <assert.h>
#include <inttypes.h>

void head_tail_init(struct head_tail *b, size_t limit)
{
	size_t half = limit / 2 + limit % 2;

	assert(limit > 0);
	*b = (struct head_tail){.half = half, .head = BUF(half), .tail = BUF(half)};
}

void head_tail_done(struct head_tail *b)
{
	buf_done(&b->head);
	buf_done(&b->tail);
}

static void add_to_tail(struct head_tail *b, struct span bytes)
{
	size_t room = b->half - b->tail.size;

	if (bytes.size > b->half) {
		bytes.data += bytes.size - b->half;
		bytes.size = b->half;
	}
	if (room > bytes.size)
		room = bytes.size;
	buf_add(&b->tail, bytes.data, room);
	for (size_t at = room; at < bytes.size;) {
		size_t piece = b->half - b->tail_at;

		if (piece > bytes.size - at)
			piece = bytes.size - at;
		memcpy(b->tail.data + b->tail_at, bytes.data + at, piece);
		b->tail_at = (b->tail_at + piece) % b->half;
		at += piece;
	}
}

void head_tail_add(struct head_tail *b, uint64_t offset, struct span bytes)
{
	if (offset > b->total) {
		b->lost += offset - b->total;
		b->total = offset;
	}
	b->total += bytes.size;
	buf_add_span(&b->head, span_take(&bytes, b->half - b->head.size));
	if (bytes.size > 0)
		add_to_tail(b, bytes);
}

uint64_t head_tail_cut_count(const struct head_tail *b)
{
	return b->total - b->head.size - b->tail.size;
}

/* Bytes at the start of the tail whose character began before the tail. */
static size_t split_character_size(const struct head_tail *b)
{
	size_t count = 0;

	while (count < 3 && count < b->tail.size) {
		unsigned char byte =
		        (unsigned char)b->tail.data[(b->tail_at + count) % b->tail.size];

		if ((byte & 0xC0) != 0x80)
			break;
		count++;
	}
	return count;
}

static void write_tail(const struct head_tail *b, size_t skip, struct buf *out)
{
	size_t newer = b->tail.size - b->tail_at;

	if (skip < newer)
		buf_add(out, b->tail.data + b->tail_at + skip, newer - skip);
	skip = skip < newer ? 0 : skip - newer;
	if (skip < b->tail_at)
		buf_add(out, b->tail.data + skip, b->tail_at - skip);
}

void head_tail_join(const struct head_tail *b, struct buf *out)
{
	uint64_t cut = head_tail_cut_count(b);
	size_t drop = cut > 0 ? span_begun(buf_span(&b->head)) : 0;
	size_t skip = cut > 0 ? split_character_size(b) : 0;

	if (b->head.size > drop)
		buf_add(out, b->head.data, b->head.size - drop);
	if (cut > 0)
		buf_addf(out, "\n[%" PRIu64 " bytes of output were cut here]\n", cut + drop + skip);
	if (b->tail.size > 0)
		write_tail(b, skip, out);
}
