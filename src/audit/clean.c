/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit.h"

static size_t sequence_size(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
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
		if (size == 0 || span_hostile(piece) > 0)
			buf_add_byte(out, '?');
		else
			buf_add_span(out, piece);
		span_skip(&text, piece.size);
	}
}
