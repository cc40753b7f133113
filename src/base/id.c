/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/random.h"

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567"; /* the letters come first */

void id_random_text(char *out, unsigned size)
{
	assert(size > 0);
	random_bytes(out, size);
	for (unsigned i = 0; i + 1 < size; i++)
		out[i] = alphabet[(unsigned char)out[i] % 32];
	out[size - 1] = '\0';
}

bool id_is_of_image(const char *text)
{
	return strncmp(text, ID_IMAGE_PREFIX, sizeof(ID_IMAGE_PREFIX) - 1) == 0;
}

struct id id_new(void)
{
	struct id id;

	do {
		id_random_text(id.text, sizeof(id.text));
		id.text[0] = alphabet[random_below(26)];
	} while (id_is_of_image(id.text));
	return id;
}

bool id_is_valid(const char *text)
{
	if (strlen(text) != ID_SIZE || text[0] < 'a' || text[0] > 'z')
		return false;
	return strspn(text, alphabet) == ID_SIZE;
}

/* Five characters are 25 bits, and eight digits hold them. */
void id_to_hex(const char *id, char out[ID_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned group = 0; group < 4; group++) {
		uint32_t bits = 0;

		for (unsigned i = 0; i < 5; i++) {
			const char *at = *id ? strchr(alphabet, *id++) : NULL;

			bits = bits << 5 | (at ? (uint32_t)(at - alphabet) : 0);
		}
		for (unsigned i = 0; i < 8; i++)
			out[group * 8 + i] = digits[bits >> (28 - 4 * i) & 15];
	}
	out[ID_HEX_SIZE - 1] = '\0';
}

static bool read_group(const char *hex, uint32_t *ret)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < 8; i++) {
		int digit = hex_digit_value(hex[i]);

		if (digit < 0)
			return false;
		bits = bits << 4 | (uint32_t)digit;
	}
	*ret = bits;
	return bits < 1U << 25;
}

bool id_from_hex(const char *hex, struct id *ret)
{
	struct id id;
	uint32_t bits;

	if (strlen(hex) != ID_HEX_SIZE - 1)
		return false;
	for (unsigned group = 0; group < 4; group++) {
		if (!read_group(hex + (size_t)8 * group, &bits))
			return false;
		for (unsigned i = 0; i < 5; i++)
			id.text[5 * group + i] = alphabet[bits >> 5 * (4 - i) & 31];
	}
	id.text[ID_SIZE] = '\0';
	if (!id_is_valid(id.text))
		return false;
	*ret = id;
	return true;
}
