/* SPDX-License-Identifier: Apache-2.0 */
/* json/tree.h — JSON text as values in an arena, which shapes and untyped readers walk.
 *
 * Only tree.c uses the JSON library: the library's names clash with ours, and tree.c frees its
 * reference-counted values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum tree_kind {
	TREE_NULL,
	TREE_BOOL,
	TREE_WHOLE,
	TREE_NUMBER,
	TREE_TEXT,
	TREE_LIST,
	TREE_OBJECT,
};

struct json_value {
	enum tree_kind kind;
	union {
		bool truth;
		int64_t whole;
		double number;
		struct span text; /* well-formed UTF-8 without NUL, and a NUL after it */
		struct {
			struct json_value *items;
			const char **keys; /* of an object: a key per item */
			size_t count;
		};
	};
};

/* Refuses the texts that json.h lists. The outermost value may have any kind. */
MUST_CHECK int tree_parse(struct arena *a, struct span text, struct json_value *ret,
                          struct error *err);
