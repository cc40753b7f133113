/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "json/tree.h"

static void new_line(struct buf *out, unsigned columns, bool pretty)
{
	if (!pretty)
		return;
	buf_add_byte(out, '\n');
	for (unsigned i = 0; i < columns; i++)
		buf_add_byte(out, ' ');
}

static void print_value(struct buf *out, const struct json_value *v, unsigned indent,
                        unsigned level)
{
	bool is_object = v->kind == TREE_OBJECT;

	buf_add_byte(out, is_object ? '{' : '[');
	for (size_t i = 0; i < v->count; i++) {
		if (i > 0)
			buf_add_byte(out, ',');
		new_line(out, indent * (level + 1), indent > 0);
		if (is_object) {
			json_write_text(out, span_of(v->keys[i]));
			buf_add_text(out, indent > 0 ? ": " : ":");
		}
		if (json_count(&v->items[i]) > 0)
			print_value(out, &v->items[i], indent, level + 1);
		else
			json_print(out, &v->items[i], indent);
	}
	new_line(out, indent * level, indent > 0);
	buf_add_byte(out, is_object ? '}' : ']');
}

void json_print(struct buf *out, const struct json_value *v, unsigned indent)
{
	if (!v || v->kind == TREE_NULL)
		buf_add_text(out, "null");
	else if (v->kind == TREE_BOOL)
		buf_add_text(out, v->truth ? "true" : "false");
	else if (v->kind == TREE_WHOLE)
		buf_addf(out, "%lld", (long long)v->whole);
	else if (v->kind == TREE_NUMBER)
		json_write_number(out, v->number);
	else if (v->kind == TREE_TEXT)
		json_write_text(out, v->text);
	else if (v->count == 0)
		buf_add_text(out, v->kind == TREE_LIST ? "[]" : "{}");
	else
		print_value(out, v, indent, 0);
}
