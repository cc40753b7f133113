/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/tunnel.h"

#include <string.h>

#include "base/bytes.h"

#define FIN 0x80
#define RESERVED 0x70
#define OPCODE 0x0f
#define MASKED 0x80
#define SIZE_16 126
#define SIZE_64 127

void tunnel_encode(struct buf *out, enum tunnel_opcode opcode, struct span payload,
                   const unsigned char *mask)
{
	unsigned char head[TUNNEL_FRAME_HEAD_MAX] = {(unsigned char)(FIN | opcode)};
	size_t used = 2;

	if (payload.size < SIZE_16) {
		head[1] = (unsigned char)payload.size;
	} else if (payload.size <= UINT16_MAX) {
		head[1] = SIZE_16;
		head[2] = (unsigned char)(payload.size >> 8);
		head[3] = (unsigned char)payload.size;
		used = 4;
	} else {
		head[1] = SIZE_64;
		for (unsigned i = 0; i < 8; i++)
			head[2 + i] = (unsigned char)((uint64_t)payload.size >> (56 - 8 * i));
		used = 10;
	}
	if (mask) {
		head[1] |= MASKED;
		memcpy(head + used, mask, 4);
		used += 4;
	}
	buf_add(out, head, used);
	char *room = buf_reserve(out, payload.size);
	if (!room)
		return;
	for (size_t i = 0; i < payload.size; i++)
		room[i] = (char)(payload.data[i] ^ (mask ? mask[i & 3] : 0));
	buf_commit(out, payload.size);
}

static unsigned size_of_head(const struct tunnel_decoder *d)
{
	unsigned small = d->head[1] & ~MASKED;
	unsigned size = 2 + (small == SIZE_16 ? 2 : small == SIZE_64 ? 8 : 0);

	return size + (d->is_masked ? 4 : 0);
}

static bool is_control(enum tunnel_opcode opcode)
{
	return opcode >= TUNNEL_CLOSE;
}

static int check_opcode(struct tunnel_decoder *d, struct error *err)
{
	bool is_last = d->head[0] & FIN;

	if (d->head[0] & RESERVED || (is_control(d->opcode) && !is_last))
		return FAIL(err, ERROR_INVALID, "a frame of the tunnel is malformed");
	switch (d->opcode) {
	case TUNNEL_CONTINUATION:
		d->opcode = d->message;
		break;
	case TUNNEL_TEXT:
	case TUNNEL_BINARY:
		d->message = d->opcode;
		break;
	case TUNNEL_CLOSE:
	case TUNNEL_PING:
	case TUNNEL_PONG:
		return 0;
	}
	if (d->opcode == TUNNEL_BINARY || (d->opcode == TUNNEL_TEXT && is_last))
		return 0;
	return FAIL(err, ERROR_INVALID, "the tunnel has no message that goes on");
}

/* The head is there as a whole. */
static int read_head(struct tunnel_decoder *d, struct error *err)
{
	unsigned small = d->head[1] & ~MASKED, at = 2;

	d->opcode = (enum tunnel_opcode)(d->head[0] & OPCODE);
	d->left = small;
	if (small == SIZE_16 || small == SIZE_64) {
		unsigned end = small == SIZE_16 ? 4 : 10;

		for (d->left = 0; at < end; at++)
			d->left = d->left << 8 | d->head[at];
	}
	if (d->is_masked)
		memcpy(d->mask, d->head + at, sizeof(d->mask));
	else
		memset(d->mask, 0, sizeof(d->mask));
	d->mask_at = 0;
	d->small_size = 0;
	d->has_head = true;
	d->head_size = 0;
	if (check_opcode(d, err) < 0)
		return -1;
	if (d->left > (d->opcode == TUNNEL_BINARY ? TUNNEL_FRAME_BYTES_MAX : TUNNEL_CONTROL_MAX))
		return FAIL(err, ERROR_TOO_LARGE, "a frame of the tunnel has %llu bytes",
		            (unsigned long long)d->left);
	return 0;
}

/* 1: the head is whole. */
static int take_head(struct tunnel_decoder *d, struct span *in, struct error *err)
{
	unsigned wanted = d->head_size >= 2 ? size_of_head(d) : 2;

	while (d->head_size < wanted && in->size > 0) {
		d->head[d->head_size++] = (unsigned char)in->data[0];
		span_skip(in, 1);
		if (d->head_size == 2 && !(d->head[1] & MASKED) == d->is_masked)
			return FAIL(err, ERROR_INVALID, "a frame of the tunnel is %s",
			            d->is_masked ? "not masked" : "masked");
		wanted = d->head_size >= 2 ? size_of_head(d) : 2;
	}
	if (d->head_size < wanted)
		return 0;
	return read_head(d, err) < 0 ? -1 : 1;
}

static void unmask_bytes(struct tunnel_decoder *d, const char *from, char *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (char)(from[i] ^ d->mask[d->mask_at++ & 3]);
}

static size_t take_data(struct tunnel_decoder *d, struct span *in, struct buf *out)
{
	size_t size = in->size < d->left ? in->size : (size_t)d->left;
	size_t room = out->size_max - out->size;

	size = size < room ? size : room;
	if (size == 0)
		return 0;
	unmask_bytes(d, in->data, buf_reserve(out, size), size);
	buf_commit(out, size);
	span_skip(in, size);
	d->left -= size;
	return size;
}

static void take_small(struct tunnel_decoder *d, struct span *in)
{
	size_t size = in->size < d->left ? in->size : (size_t)d->left;

	unmask_bytes(d, in->data, d->small + d->small_size, size);
	d->small_size += (unsigned)size;
	span_skip(in, size);
	d->left -= size;
}

int tunnel_decode(struct tunnel_decoder *d, struct span *in, struct buf *out,
                  enum tunnel_event *ret, struct error *err)
{
	*ret = TUNNEL_NEEDS_MORE;
	for (;;) {
		int whole = d->has_head ? 1 : take_head(d, in, err);

		if (whole <= 0)
			return whole;
		if (d->opcode != TUNNEL_BINARY) {
			take_small(d, in);
			if (d->left > 0)
				return 0;
			d->has_head = false;
			*ret = TUNNEL_HAS_SMALL;
			return 0;
		}
		size_t taken = take_data(d, in, out);
		d->has_head = d->left > 0;
		if (taken > 0) {
			*ret = TUNNEL_HAS_DATA;
			return 0;
		}
		if (d->has_head)
			return 0;
	}
}

bool tunnel_is_end(const struct tunnel_decoder *d)
{
	return d->opcode == TUNNEL_TEXT && d->small_size == strlen(TUNNEL_END) &&
	       memcmp(d->small, TUNNEL_END, d->small_size) == 0;
}

/* SHA-1 (RFC 3174) and base64: the agent is linked with no library that has them, and here they
 * protect nothing. */
static uint32_t rotate_left(uint32_t value, unsigned bits)
{
	return value << bits | value >> (32 - bits);
}

static void mix_block(uint32_t state[5], const unsigned char block[64])
{
	static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (unsigned i = 0; i < 80; i++) {
		uint32_t f = i < 20              ? (b & c) | (~b & d)
		             : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
		                                 : b ^ c ^ d;
		uint32_t next = rotate_left(a, 5) + f + e + constants[i / 20] + w[i];

		e = d;
		d = c;
		c = rotate_left(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

/* Of less than 119 bytes. */
static void hash_text(struct span text, unsigned char ret[20])
{
	uint32_t state[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	unsigned char blocks[128] = {0};
	size_t size = text.size < 56 ? 64 : 128;

	memcpy(blocks, text.data, text.size);
	blocks[text.size] = 0x80;
	blocks[size - 2] = (unsigned char)(text.size * 8 >> 8);
	blocks[size - 1] = (unsigned char)(text.size * 8);
	for (size_t at = 0; at < size; at += 64)
		mix_block(state, blocks + at);
	for (unsigned i = 0; i < 20; i++)
		ret[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void tunnel_accept(struct span key, char ret[TUNNEL_ACCEPT_SIZE])
{
	static const char digits[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	AUTO(buf_done) struct buf text = BUF(118);
	unsigned char hash[21] = {0};

	buf_add_span(&text, key);
	buf_add_text(&text, suffix);
	hash_text(buf_span(&text), hash);
	for (unsigned i = 0, at = 0; i < 21; i += 3) {
		unsigned bits = (unsigned)hash[i] << 16 | (unsigned)hash[i + 1] << 8 | hash[i + 2];

		for (int shift = 18; shift >= 0; shift -= 6)
			ret[at++] = digits[bits >> shift & 63];
	}
	ret[TUNNEL_ACCEPT_SIZE - 2] = '=';
	ret[TUNNEL_ACCEPT_SIZE - 1] = '\0';
}

struct span tunnel_header(struct span head, const char *name)
{
	struct span line, key;

	(void)span_split(&head, '\n', &line);
	while (head.size > 0) {
		(void)span_split(&head, '\n', &line);
		if (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		if (span_split(&line, ':', &key) && span_is_word(key, name))
			return span_trim(line);
	}
	return (struct span){NULL, 0};
}

bool tunnel_head_is_whole(struct span bytes, size_t *ret)
{
	const char *end = bytes.size > 0 ? memmem(bytes.data, bytes.size, "\r\n\r\n", 4) : NULL;

	if (end)
		*ret = (size_t)(end - bytes.data) + 4;
	return end;
}

bool tunnel_token_is(struct span given, const char *token)
{
	size_t size = strlen(token);
	unsigned char differs = given.size != size || size == 0;

	for (size_t i = 0; i < given.size && i < size; i++)
		differs |= (unsigned char)(given.data[i] ^ token[i]);
	return !differs;
}
