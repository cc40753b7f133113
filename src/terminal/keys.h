/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/keys.h — names of keys: "C-c", "M-x", "C-M-a", "S-Tab", "Up", "Enter", "F5". Any other
 * text is typed. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

enum key_symbol {
	KEY_TEXT,
	KEY_ENTER,
	KEY_TAB,
	KEY_BACKSPACE,
	KEY_ESCAPE,
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_INSERT,
	KEY_DELETE,
	KEY_HOME,
	KEY_END,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_FUNCTION, /* `number` */
};
struct key {
	enum key_symbol symbol;
	int number;
	const char *text; /* of KEY_TEXT; with modifiers, one character */
	bool control, alt, shift;
};
/* ERROR_INVALID for modifiers before text that they cannot modify. */
MUST_CHECK int key_parse(const char *name, struct key *ret, struct error *err);
/* The bytes of KEY_TEXT. */
void key_write_text(const struct key *key, struct buf *out);
