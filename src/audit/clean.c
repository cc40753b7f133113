/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"

/* The code point of a well-formed sequence. */
static uint32_t decode_point(struct span piece)
{
	static const unsigned char masks[] = {0x7F, 0x7F, 0x1F, 0x0F, 0x07};
	uint32_t point = (unsigned char)piece.data[0] & masks[piece.size];

	for (size_t i = 1; i < piece.size; i++)
		point = point << 6 | ((unsigned char)piece.data[i] & 0x3F);
	return point;
}

static size_t sequence_size(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
}

/* Control characters act on a terminal; the others show a text in another order than its bytes
 * have. */
static bool is_hostile(uint32_t point)
{
	return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x200E ||
	       point == 0x200F || point == 0x061C || (point >= 0x2028 && point <= 0x202E) ||
	       (point >= 0x2066 && point <= 0x2069);
}

void audit_clean(struct buf *out, struct span text, size_t max)
{
	size_t end = out->size + max;

	while (text.size > 0) {
		size_t size = sequence_size((unsigned char)text.data[0]);
		struct span piece = {text.data, size};

		if (size > text.size || !span_is_utf8(piece)) {
			piece.size = 1;
			size = 0;
		}
		if (out->size + (size ? size : 1) > end)
			return;
		if (size == 0 || is_hostile(decode_point(piece)))
			buf_add_byte(out, '?');
		else
			buf_add_span(out, piece);
		span_skip(&text, piece.size);
	}
}
