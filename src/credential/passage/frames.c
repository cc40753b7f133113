/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/passage/frames.h"

#define FINAL 0x80
#define RESERVED 0x70
#define MASKED 0x80
#define CONTROL 0x08
#define CONTROL_MAX 125

static bool opcode_is_known(unsigned opcode)
{
	return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

/* How long the head is, as far as it is known. */
static size_t find_head_size(const struct frame_reader *r)
{
	unsigned size = r->head_size > 1 ? r->head[1] & 0x7f : 0;

	return size == 127 ? 10 : size == 126 ? 4 : 2;
}

static bool open_frame(struct frame_reader *r)
{
	unsigned opcode = r->head[0] & 0x0f;
	size_t from = r->head_size == 2 ? 1 : 2;

	r->left = 0;
	for (size_t i = from; i < r->head_size; i++)
		r->left = r->left << 8 | (i == 1 ? r->head[i] & 0x7fu : r->head[i]);
	r->is_control = opcode & CONTROL;
	r->is_open = r->left > 0;
	r->head_size = 0;
	return opcode_is_known(opcode) && !(r->head[0] & RESERVED) && !(r->head[1] & MASKED) &&
	       r->left <= INT64_MAX &&
	       (!r->is_control || (r->left <= CONTROL_MAX && r->head[0] & FINAL));
}

static bool take_head_byte(struct frame_reader *r, unsigned char byte)
{
	r->head[r->head_size++] = byte;
	return r->head_size < find_head_size(r) || open_frame(r);
}

static void take_content(struct frame_reader *r, struct span *bytes, struct buf *kinds)
{
	struct span piece = span_take(bytes, r->left < bytes->size ? (size_t)r->left : bytes->size);
	char *to = buf_reserve(kinds, piece.size);

	if (to) {
		memset(to, r->is_control ? FRAME_CONTROL : FRAME_MESSAGE, piece.size);
		buf_commit(kinds, piece.size);
	}
	r->left -= piece.size;
	r->is_open = r->left > 0;
}

bool frame_read(struct frame_reader *r, struct span bytes, struct buf *kinds)
{
	while (bytes.size > 0) {
		if (r->is_open) {
			take_content(r, &bytes, kinds);
			continue;
		}
		buf_add_byte(kinds, FRAME_HEAD);
		if (!take_head_byte(r, (unsigned char)*span_take(&bytes, 1).data))
			return false;
	}
	return !kinds->overflowed;
}

size_t frame_tail(const struct buf *kinds, enum frame_byte kind, size_t count)
{
	size_t size = 0;

	while (count > 0 && size < kinds->size)
		count -= kinds->data[kinds->size - ++size] == (char)kind;
	return size;
}
