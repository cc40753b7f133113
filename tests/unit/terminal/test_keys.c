/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "terminal/keys.h"

static const char *typed(struct buf *out, const char *name)
{
	struct key key;
	struct error err;

	buf_reset(out);
	assert_int_equal(key_parse(name, &key, &err), 0);
	assert_int_equal(key.symbol, KEY_TEXT);
	key_write_text(&key, out);
	return buf_text(out);
}

TEST(characters_and_their_modifiers_are_what_terminals_send)
{
	AUTO(buf_done) struct buf out = BUF(64);

	assert_string_equal(typed(&out, "a"), "a");
	assert_string_equal(typed(&out, "é"), "é");
	assert_string_equal(typed(&out, "C-c"), "\x03");
	assert_string_equal(typed(&out, "C-i"), "\t");
	assert_string_equal(typed(&out, "C-["), "\033");
	assert_string_equal(typed(&out, "C-?"), "\x7f");
	assert_string_equal(typed(&out, "M-x"), "\033x");
	assert_string_equal(typed(&out, "C-M-a"), "\033\x01");
	assert_string_equal(typed(&out, "S-a"), "A");
	assert_string_equal(typed(&out, "Space"), " ");
	(void)typed(&out, "C-Space");
	assert_int_equal(out.size, 1);
	assert_int_equal(out.data[0], 0);
}

TEST(what_is_no_key_is_text)
{
	AUTO(buf_done) struct buf out = BUF(64);

	assert_string_equal(typed(&out, "git status"), "git status");
	assert_string_equal(typed(&out, "C-"), "C-");
	assert_string_equal(typed(&out, "F13"), "F13");
	assert_string_equal(typed(&out, "Upper"), "Upper");
	assert_string_equal(typed(&out, "-"), "-");
}

TEST(keys_have_names)
{
	static const struct {
		const char *name;
		enum key_symbol symbol;
		int number;
		bool control, alt, shift;
	} cases[] = {
	        {"Enter", KEY_ENTER, 0, 0, 0, 0},    {"enter", KEY_ENTER, 0, 0, 0, 0},
	        {"Tab", KEY_TAB, 0, 0, 0, 0},        {"S-Tab", KEY_TAB, 0, 0, 0, 1},
	        {"C-Up", KEY_UP, 0, 1, 0, 0},        {"M-Enter", KEY_ENTER, 0, 0, 1, 0},
	        {"F5", KEY_FUNCTION, 5, 0, 0, 0},    {"F12", KEY_FUNCTION, 12, 0, 0, 0},
	        {"PgDn", KEY_PAGE_DOWN, 0, 0, 0, 0}, {"C-M-S-F1", KEY_FUNCTION, 1, 1, 1, 1},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct error err;
		struct key key;

		assert_int_equal(key_parse(cases[i].name, &key, &err), 0);
		assert_int_equal(key.symbol, cases[i].symbol);
		assert_int_equal(key.number, cases[i].number);
		assert_int_equal(key.control, cases[i].control);
		assert_int_equal(key.alt, cases[i].alt);
		assert_int_equal(key.shift, cases[i].shift);
	}
}

TEST(a_modifier_before_what_it_cannot_modify_is_refused)
{
	static const char *const bad[] = {"C-Foo", "S-1", "C-é", "M-C-1", "C-Enterr"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct error err = {0};
		struct key key;

		assert_int_equal(key_parse(bad[i], &key, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.text, bad[i]));
	}
}

int main(void)
{
	return RUN(CASE(characters_and_their_modifiers_are_what_terminals_send),
	           CASE(what_is_no_key_is_text), CASE(keys_have_names),
	           CASE(a_modifier_before_what_it_cannot_modify_is_refused));
}
