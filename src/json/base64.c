/* SPDX-License-Identifier: Apache-2.0 */
#include "json/base64.h"

#include "json/json.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const unsigned char *in, size_t count, char out[4])
{
	uint32_t bits = (uint32_t)in[0] << 16;

	if (count > 1)
		bits |= (uint32_t)in[1] << 8;
	if (count > 2)
		bits |= in[2];
	for (size_t i = 0; i < 4; i++)
		out[i] = i > count ? '=' : alphabet[(bits >> (18 - 6 * i)) & 63];
}

void base64_encode(struct buf *out, struct span bytes)
{
	const unsigned char *in = (const unsigned char *)bytes.data;
	size_t size = (bytes.size + 2) / 3 * 4;
	char *to = buf_reserve(out, size);

	if (!to)
		return;
	for (size_t at = 0; at < bytes.size; at += 3, to += 4)
		encode_group(in + at, bytes.size - at < 3 ? bytes.size - at : 3, to);
	buf_commit(out, size);
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Decodes `count` digits (2 to 4) into count - 1 bytes. */
static bool decode_group(const char *in, size_t count, char *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i < count ? digit_value(in[i]) : 0;

		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
	}
	for (size_t i = 0; i + 1 < count; i++)
		out[i] = (char)(bits >> (16 - 8 * i) & 255);
	return (bits & ((1u << (8 * (4 - count))) - 1)) == 0;
}

static size_t padding_of(struct span text)
{
	if (text.size == 0 || text.data[text.size - 1] != '=')
		return 0;
	return text.data[text.size - 2] == '=' ? 2 : 1;
}

bool base64_decode(struct arena *a, struct span text, struct span *ret)
{
	size_t padding, size;
	char *out;

	if (text.size % 4 != 0)
		return false;
	padding = padding_of(text);
	size = text.size / 4 * 3 - padding;
	out = (char *)arena_alloc(a, size + 1);
	for (size_t at = 0; at < text.size; at += 4) {
		size_t count = at + 4 == text.size ? 4 - padding : 4;

		if (!decode_group(text.data + at, count, out + at / 4 * 3))
			return false;
	}
	*ret = (struct span){out, size};
	return true;
}

bool json_read_base64(struct arena *a, struct span text, struct span *ret)
{
	return base64_decode(a, text, ret);
}
