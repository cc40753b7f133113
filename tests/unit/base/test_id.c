/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/random.h"

TEST(ids_are_valid_dns_labels_and_differ)
{
	for (int i = 0; i < 1000; i++) {
		struct id a = id_new(), b = id_new();

		assert_true(id_is_valid(a.text));
		assert_true(islower((unsigned char)a.text[0]));
		assert_string_not_equal(a.text, b.text);
	}
}

TEST(other_texts_are_no_ids)
{
	assert_true(id_is_valid("abcdefghij2345672345"));
	assert_false(id_is_valid(""));
	assert_false(id_is_valid("abcdefghij234567234"));
	assert_false(id_is_valid("abcdefghij23456723456"));
	assert_false(id_is_valid("2bcdefghij2345672345"));
	assert_false(id_is_valid("Abcdefghij2345672345"));
	assert_false(id_is_valid("abcdefghi/2345672345"));
	assert_false(id_is_valid("abcdefghij2345672341"));
}

TEST(random_texts_fill_their_size)
{
	char text[33];

	id_random_text(text, sizeof(text));
	assert_int_equal(strlen(text), 32);
	assert_int_equal(strspn(text, "abcdefghijklmnopqrstuvwxyz234567"), 32);
	id_random_text(text, 1);
	assert_string_equal(text, "");
}

TEST(random_numbers_stay_below_and_reach_every_value)
{
	unsigned seen = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t value = random_below(7);

		assert_in_range(value, 0, 6);
		seen |= 1u << value;
	}
	assert_int_equal(seen, 0x7F);
	assert_int_equal(random_below(1), 0);
	(void)random_below(UINT64_MAX);
}

TEST(an_id_in_hexadecimal_is_32_digits_and_its_own)
{
	char one[ID_HEX_SIZE], other[ID_HEX_SIZE];

	id_to_hex("abcdefghijklmnopqrst", one);
	assert_int_equal(strlen(one), 32);
	assert_int_equal(strspn(one, "0123456789abcdef"), 32);
	assert_string_equal(one, "0000886400531d0900a5b1ae00f84653");
	id_to_hex("abcdefghijklmnopqrsu", other);
	assert_string_not_equal(one, other);
	id_to_hex("77777777777777777777", other);
	assert_string_equal(other, "01ffffff01ffffff01ffffff01ffffff");
	id_to_hex("", other);
	assert_string_equal(other, "00000000000000000000000000000000");
}

TEST(an_id_comes_back_from_its_digits)
{
	static const char *const wrong[] = {
	        "",
	        "0123456789abcdef0123456789abcde",
	        "0000000000000000000000000000000g",
	        "ffffffff000000000000000000000000",
	        "01ffffff00000000000000000000000000",
	        "01f00000000000000000000000000000", /* begins with a digit */
	};
	struct id id = id_new(), back;
	char hex[ID_HEX_SIZE];

	id_to_hex(id.text, hex);
	assert_true(id_from_hex(hex, &back));
	assert_string_equal(back.text, id.text);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_false(id_from_hex(wrong[i], &back));
}

int main(void)
{
	return RUN(CASE(an_id_comes_back_from_its_digits),
	           CASE(an_id_in_hexadecimal_is_32_digits_and_its_own),
	           CASE(ids_are_valid_dns_labels_and_differ), CASE(other_texts_are_no_ids),
	           CASE(random_texts_fill_their_size),
	           CASE(random_numbers_stay_below_and_reach_every_value));
}
