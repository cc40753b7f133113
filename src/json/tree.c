/* SPDX-License-Identifier: Apache-2.0 */
#include "json/tree.h"

#include <jansson.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The library allocates some 100 bytes for each empty list, so both bounds are checked before it
 * sees the text. */
#define DEPTH_MAX 32
#define VALUES_MAX 200000

static void release_tree(json_t **value)
{
	json_decref(*value);
}

static int check_size(size_t depth, size_t values, struct error *err)
{
	if (depth > DEPTH_MAX)
		return FAIL(err, ERROR_INVALID, "JSON is nested deeper than %d levels", DEPTH_MAX);
	if (values > VALUES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "JSON holds more than %d values", VALUES_MAX);
	return 0;
}

/* Counts what might become a value: never too few, whether or not the text is valid. */
static int check_structure(struct span text, struct error *err)
{
	size_t depth = 0, values = 1;
	bool quoted = false;

	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (quoted && c == '\\') {
			i++;
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted && (c == '[' || c == '{')) {
			depth++;
			values++;
		} else if (!quoted && (c == ']' || c == '}')) {
			depth -= depth > 0;
		} else if (!quoted && c == ',') {
			values++;
		}
		if (check_size(depth, values, err) < 0)
			return -1;
	}
	return 0;
}

static void convert_value(struct arena *a, json_t *from, struct json_value *to);

static void convert_list(struct arena *a, json_t *from, struct json_value *to)
{
	to->kind = TREE_LIST;
	to->count = json_array_size(from);
	to->items = ARENA_ARRAY(a, struct json_value, to->count);
	for (size_t i = 0; i < to->count; i++)
		convert_value(a, json_array_get(from, i), &to->items[i]);
}

static void convert_object(struct arena *a, json_t *from, struct json_value *to)
{
	const char *key;
	json_t *item;
	size_t i = 0;

	to->kind = TREE_OBJECT;
	to->count = json_object_size(from);
	to->items = ARENA_ARRAY(a, struct json_value, to->count);
	to->keys = ARENA_ARRAY(a, const char *, to->count);
	json_object_foreach(from, key, item)
	{
		to->keys[i] = arena_text(a, key);
		convert_value(a, item, &to->items[i++]);
	}
}

static void convert_text(struct arena *a, json_t *from, struct json_value *to)
{
	struct span text = {json_string_value(from), json_string_length(from)};

	to->kind = TREE_TEXT;
	to->text = (struct span){arena_copy(a, text), text.size};
}

static void convert_value(struct arena *a, json_t *from, struct json_value *to)
{
	switch (json_typeof(from)) {
	case JSON_OBJECT:
		convert_object(a, from, to);
		break;
	case JSON_ARRAY:
		convert_list(a, from, to);
		break;
	case JSON_STRING:
		convert_text(a, from, to);
		break;
	case JSON_INTEGER:
		*to = (struct json_value){.kind = TREE_WHOLE, .whole = json_integer_value(from)};
		break;
	case JSON_REAL:
		*to = (struct json_value){.kind = TREE_NUMBER, .number = json_real_value(from)};
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		*to = (struct json_value){.kind = TREE_BOOL, .truth = json_is_true(from)};
		break;
	case JSON_NULL:
		*to = (struct json_value){.kind = TREE_NULL};
		break;
	}
}

/* The library quotes the text around the mistake ("… near 'hunter2'"). Errors are logged and the
 * text may hold a secret, so only the reason and the position are kept. */
static int fail_syntax(const json_error_t *from, struct error *err)
{
	const char *near = strstr(from->text, " near ");
	int size = near ? (int)(near - from->text) : (int)strlen(from->text);

	/* The library names a flag of its own. */
	if (strstr(from->text, "JSON_ALLOW_NUL"))
		return FAIL(err, ERROR_INVALID,
		            "not valid here at line %d, column %d: a text may not hold the "
		            "character U+0000 (\\u0000)",
		            from->line, from->column);
	return FAIL(err, ERROR_INVALID, "not valid JSON at line %d, column %d: %.*s", from->line,
	            from->column, size, from->text);
}

/* Texts may be secrets, and the library frees its copies before the caller sees the tree. */
static void wipe_block(void *block)
{
	if (block)
		explicit_bzero(block, malloc_usable_size(block));
	free(block);
}

static void set_memory(void)
{
	json_set_alloc_funcs(malloc, wipe_block);
}

int tree_parse(struct arena *a, struct span text, struct json_value *ret, struct error *err)
{
	AUTO(release_tree) json_t *root = NULL;
	static pthread_once_t has_memory = PTHREAD_ONCE_INIT;
	json_error_t failure;

	if (check_structure(text, err) < 0)
		return -1;
	(void)pthread_once(&has_memory, set_memory);
	root = json_loadb(text.data ? text.data : "", text.size,
	                  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &failure);
	if (!root)
		return fail_syntax(&failure, err);
	convert_value(a, root, ret);
	return 0;
}
