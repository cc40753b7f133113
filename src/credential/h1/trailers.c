/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/h1/trailers.h"

bool h1_trailers_read(const struct buf *lines, struct arena *a, struct http_head *ret)
{
	char *text;

	if (lines->size == 0 || lines->overflowed)
		return false;
	text = arena_format(a, "HTTP/1.1 200\r\n%s\r\n", buf_text(lines));
	return head_parse_answer(text, strlen(text), ret) == FAULT_NONE;
}

void h1_trailers_write(struct buf *out, const struct head_field *fields, size_t count)
{
	buf_add_text(out, "0\r\n");
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%s: %s\r\n", fields[i].name, fields[i].value);
	buf_add_text(out, "\r\n");
}
