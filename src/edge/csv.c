/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/csv.h"

#include <string.h>

static void add_separator(struct buf *out)
{
	if (out->size > 0 && out->data[out->size - 1] != '\n')
		buf_add_byte(out, ',');
}

void csv_text(struct buf *out, const char *text)
{
	bool is_formula = text[0] && strchr("=+-@\t\r", text[0]);

	add_separator(out);
	/* Always with quotes: a row that starts with an empty cell must not look like an empty row,
	 * because add_separator looks at the last byte. */
	buf_add_text(out, is_formula ? "\"'" : "\"");
	for (; *text; text++) {
		if (*text == '"')
			buf_add_byte(out, '"');
		buf_add_byte(out, *text);
	}
	buf_add_byte(out, '"');
}

void csv_number(struct buf *out, double value, int decimals)
{
	add_separator(out);
	buf_addf(out, "%.*f", decimals, value);
}

void csv_end(struct buf *out)
{
	buf_add_text(out, "\r\n");
}
