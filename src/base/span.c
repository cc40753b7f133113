/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <inttypes.h>

bool span_equals(struct span a, struct span b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool span_equals_text(struct span a, const char *text)
{
	return span_equals(a, span_of(text));
}

bool span_starts_with(struct span a, const char *prefix)
{
	size_t size = strlen(prefix);

	return a.size >= size && (size == 0 || memcmp(a.data, prefix, size) == 0);
}

/* Unlike tolower(), independent of the locale. */
static unsigned char lower_ascii(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 32) : (unsigned char)c;
}

bool span_is_same_word(struct span a, struct span b)
{
	if (a.size != b.size)
		return false;
	for (size_t i = 0; i < a.size; i++)
		if (lower_ascii(a.data[i]) != lower_ascii(b.data[i]))
			return false;
	return true;
}

bool span_is_word(struct span a, const char *word)
{
	return span_is_same_word(a, span_of(word));
}

bool span_starts_with_word(struct span a, const char *word)
{
	size_t size = strlen(word);

	return a.size >= size && span_is_word((struct span){a.data, size}, word);
}

bool span_ends_with_word(struct span a, struct span word)
{
	if (a.size > word.size)
		a = (struct span){a.data + (a.size - word.size), word.size};
	return span_is_same_word(a, word);
}

ptrdiff_t span_find(struct span a, char byte)
{
	const char *at = a.size ? memchr(a.data, byte, a.size) : NULL;

	return at ? at - a.data : -1;
}

bool span_split(struct span *rest, char separator, struct span *ret_head)
{
	ptrdiff_t at = span_find(*rest, separator);

	if (at < 0) {
		*ret_head = *rest;
		*rest = (struct span){NULL, 0};
		return false;
	}
	*ret_head = (struct span){rest->data, (size_t)at};
	span_skip(rest, (size_t)at + 1);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct span span_trim(struct span a)
{
	while (a.size > 0 && is_blank(a.data[0])) {
		a.data++;
		a.size--;
	}
	while (a.size > 0 && is_blank(a.data[a.size - 1]))
		a.size--;
	return a;
}

/* How much of a refused text an error message shows. */
static int shown_size(struct span a)
{
	return a.size < 40 ? (int)a.size : 40;
}

int span_parse_whole(struct span a, int64_t min, int64_t max, int64_t *ret, struct error *err)
{
	int64_t value = 0;

	if (a.size == 0)
		return FAIL(err, ERROR_INVALID, "a number is missing");
	for (size_t i = 0; i < a.size; i++) {
		if (a.data[i] < '0' || a.data[i] > '9')
			return FAIL(err, ERROR_INVALID, "'%.*s' is not a whole number",
			            shown_size(a), a.data);
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, a.data[i] - '0', &value))
			return FAIL(err, ERROR_INVALID, "'%.*s' is too large", shown_size(a),
			            a.data);
	}
	if (value < min || value > max)
		return FAIL(err, ERROR_INVALID,
		            "%" PRId64 " is not between %" PRId64 " and %" PRId64, value, min, max);
	*ret = value;
	return 0;
}

/* Size of the well-formed sequence at `at`, or 0. The bounds of the second byte are what keeps
 * out overlong forms, surrogates and what lies above U+10FFFF (Unicode 15, table 3-7). */
static size_t sequence_size(const unsigned char *at, size_t left)
{
	unsigned char low = 0x80, high = 0xBF, first = at[0];
	size_t size;

	if (first < 0x80)
		return 1;
	if (first < 0xC2 || first > 0xF4)
		return 0;
	size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
	if (size > left)
		return 0;
	if (first == 0xE0)
		low = 0xA0;
	else if (first == 0xED)
		high = 0x9F;
	else if (first == 0xF0)
		low = 0x90;
	else if (first == 0xF4)
		high = 0x8F;
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
	}
	return size;
}

bool span_is_utf8(struct span a)
{
	for (size_t at = 0; at < a.size;) {
		size_t size = sequence_size((const unsigned char *)a.data + at, a.size - at);

		if (size == 0)
			return false;
		at += size;
	}
	return true;
}

int hex_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int hex_decode(struct span digits, void *ret, size_t size)
{
	unsigned char *bytes = ret;

	if (digits.size != 2 * size)
		return -1;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit_value(digits.data[2 * i]);
		int low = hex_digit_value(digits.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

void hex_encode(const void *bytes, size_t size, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < size; i++) {
		ret[2 * i] = digits[from[i] >> 4];
		ret[2 * i + 1] = digits[from[i] & 15];
	}
	ret[2 * size] = '\0';
}

bool text_is_sha256(const char *text)
{
	static const char prefix[] = "sha256:";
	const size_t start = sizeof(prefix) - 1;

	return strncmp(text, prefix, start) == 0 && strlen(text + start) == 64 &&
	       strspn(text + start, "0123456789abcdef") == 64;
}

int span_take_escaped(struct span *rest)
{
	unsigned char byte = (unsigned char)rest->data[0];
	size_t used = byte == '%' ? 3 : 1;

	if (used == 3 && (rest->size < used ||
	                  hex_decode((struct span){rest->data + 1, 2}, &byte, sizeof(byte)) < 0))
		return -1;
	span_skip(rest, used);
	return byte;
}

/* Length of the sequence that a first byte begins; 0 for a single byte. */
static size_t announced_size(unsigned char first)
{
	if (first >= 0xC2 && first <= 0xDF)
		return 2;
	if (first >= 0xE0 && first <= 0xEF)
		return 3;
	if (first >= 0xF0 && first <= 0xF4)
		return 4;
	return 0;
}

size_t span_begun(struct span bytes)
{
	for (size_t back = 1; back <= 3 && back <= bytes.size; back++) {
		unsigned char byte = (unsigned char)bytes.data[bytes.size - back];

		if ((byte & 0xC0) == 0x80)
			continue;
		return announced_size(byte) > back ? back : 0;
	}
	return 0;
}

size_t span_continued(struct span bytes)
{
	size_t count = 0;

	while (count < 3 && count < bytes.size && ((unsigned char)bytes.data[count] & 0xC0) == 0x80)
		count++;
	return count;
}

static size_t hostile_of_three(unsigned char second, unsigned char third)
{
	if (second == 0x80) /* U+200E, U+200F, U+2028 to U+202E */
		return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE) ? 3 : 0;
	return second == 0x81 && third >= 0xA6 && third <= 0xA9 ? 3 : 0; /* U+2066 to U+2069 */
}

size_t span_hostile(struct span text)
{
	const unsigned char *at = (const unsigned char *)text.data;

	if (text.size == 0)
		return 0;
	if (at[0] < 0x20 || at[0] == 0x7F)
		return 1;
	if (text.size > 1 && at[0] == 0xC2 && at[1] < 0xA0)
		return 2;
	if (text.size > 1 && at[0] == 0xD8 && at[1] == 0x9C) /* U+061C */
		return 2;
	return text.size > 2 && at[0] == 0xE2 ? hostile_of_three(at[1], at[2]) : 0;
}
