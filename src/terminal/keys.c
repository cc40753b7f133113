/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/keys.h"

#include <string.h>
#include <strings.h>

#define FUNCTION_MAX 12

static const struct {
	const char *name;
	enum key_symbol symbol;
} names[] = {
        {"Enter", KEY_ENTER},
        {"Return", KEY_ENTER},
        {"Tab", KEY_TAB},
        {"Backspace", KEY_BACKSPACE},
        {"BSpace", KEY_BACKSPACE},
        {"Escape", KEY_ESCAPE},
        {"Esc", KEY_ESCAPE},
        {"Up", KEY_UP},
        {"Down", KEY_DOWN},
        {"Left", KEY_LEFT},
        {"Right", KEY_RIGHT},
        {"Insert", KEY_INSERT},
        {"Delete", KEY_DELETE},
        {"Home", KEY_HOME},
        {"End", KEY_END},
        {"PageUp", KEY_PAGE_UP},
        {"PageDown", KEY_PAGE_DOWN},
        {"PgUp", KEY_PAGE_UP},
        {"PgDn", KEY_PAGE_DOWN},
};

static bool find_symbol(const char *name, struct key *key)
{
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (strcasecmp(names[i].name, name) != 0)
			continue;
		key->symbol = names[i].symbol;
		return true;
	}
	if (strcasecmp(name, "Space") == 0) {
		key->text = " ";
		return true;
	}
	if ((name[0] == 'F' || name[0] == 'f') && name[1] >= '1' && name[1] <= '9') {
		struct error err;
		int64_t number;

		if (span_parse_whole(span_of(name + 1), 1, FUNCTION_MAX, &number, &err) < 0)
			return false;
		key->symbol = KEY_FUNCTION;
		key->number = (int)number;
		return true;
	}
	return false;
}

/* The control character of a key with Ctrl, as terminals define it; -1 = none. */
static int control_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 1;
	if (c >= '@' && c <= '_')
		return c - '@';
	return c == ' ' ? 0 : c == '?' ? 0x7F : c == '/' ? 0x1F : -1;
}

static bool is_one_character(const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 1; i < size; i++)
		if (((unsigned char)text[i] & 0xC0) != 0x80)
			return false;
	return size > 0;
}

static bool *modifier_of(struct key *key, const char *at)
{
	if (at[0] == '\0' || at[1] != '-' || at[2] == '\0')
		return NULL;
	return at[0] == 'C'                   ? &key->control
	       : at[0] == 'M' || at[0] == 'A' ? &key->alt
	       : at[0] == 'S'                 ? &key->shift
	                                      : NULL;
}

static int refuse_key(const char *name, struct error *err)
{
	(void)FAIL(err, ERROR_INVALID, "there is no key '%.40s'", name);
	return FAIL_HINT(err,
	                 "C-, M- and S- stand before a character or a key such as Up, Enter, F5");
}

int key_parse(const char *name, struct key *ret, struct error *err)
{
	struct key key = {.symbol = KEY_TEXT, .text = name};
	const char *at = name;
	bool *modifier;

	while ((modifier = modifier_of(&key, at)) != NULL) {
		*modifier = true;
		at += 2;
	}
	key.text = at;
	if (!find_symbol(at, &key) && at != name) {
		if (!is_one_character(at) || (key.control && control_of(at[0]) < 0) ||
		    (key.shift && (at[0] < 'a' || at[0] > 'z')))
			return refuse_key(name, err);
	}
	*ret = key;
	return 0;
}

void key_write_text(const struct key *key, struct buf *out)
{
	char c = key->text[0];

	if (key->alt)
		buf_add_byte(out, '\033');
	if (key->control)
		buf_add_byte(out, (char)control_of(c));
	else if (key->shift && c >= 'a' && c <= 'z')
		buf_add_byte(out, (char)(c - 'a' + 'A'));
	else
		buf_add_text(out, key->text);
}
