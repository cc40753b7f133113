/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/text_out.h"

#include <assert.h>
#include <string.h>

#define JSON_TEXT_SIZE_MAX (128u * 1024 * 1024)

const char *text_out_safe(struct arena *a, const char *text)
{
	char *copy = arena_text(a, text);

	bool is_utf8 = span_is_utf8(span_of(copy));

	for (char *at = copy; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c < ' ' || c == 0x7F || (c >= 0x80 && !is_utf8))
			*at = '?';
		/* C1 controls are two bytes of UTF-8. */
		if (is_utf8 && c == 0xC2 && (unsigned char)at[1] < 0xA0)
			at[0] = at[1] = '?';
	}
	return copy;
}

const char *text_out_bytes(struct arena *a, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;

	while (bytes >= 1024 && unit + 1 < COUNT_OF(units)) {
		bytes /= 1024;
		unit++;
	}
	return arena_format(a, unit && bytes < 10 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

const char *text_out_duration(struct arena *a, int64_t ms)
{
	int seconds = (int)(ms / 1000 % 60), minutes = (int)(ms / 60000 % 60),
	    hours = (int)(ms / 3600000 % 24);
	long long days = ms / 86400000;

	if (ms < 0)
		return "-";
	if (days > 0)
		return arena_format(a, "%lldd %dh", days, hours);
	if (hours > 0)
		return arena_format(a, "%dh %dm", hours, minutes);
	if (minutes > 0)
		return arena_format(a, "%dm %ds", minutes, seconds);
	return arena_format(a, "%ds", seconds);
}

void table_init(struct text_table *t, struct arena *a, const char *const *head)
{
	*t = (struct text_table){.arena = a};
	while (head[t->columns])
		t->columns++;
	for (unsigned i = 0; i < t->columns; i++)
		table_add(t, head[i]);
}

void table_add(struct text_table *t, const char *cell)
{
	if (t->count == t->capacity) {
		unsigned capacity = t->capacity ? t->capacity * 2 : 64;
		const char **cells = ARENA_ARRAY(t->arena, const char *, capacity);

		if (t->count > 0)
			memcpy(cells, t->cells, t->count * sizeof(*cells));
		t->cells = cells;
		t->capacity = capacity;
	}
	t->cells[t->count++] = cell && cell[0] ? text_out_safe(t->arena, cell) : "-";
}

/* Counts characters, not bytes: continuation bytes have no width. */
static unsigned width_of(const char *text)
{
	unsigned width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xC0) != 0x80;
	return width;
}

static unsigned column_width(const struct text_table *t, unsigned column)
{
	unsigned widest = 0;

	for (unsigned i = column; i < t->count; i += t->columns) {
		unsigned width = width_of(t->cells[i]);

		if (width > widest)
			widest = width;
	}
	return widest;
}

void table_print(const struct text_table *t, FILE *out)
{
	unsigned *widths = ARENA_ARRAY(t->arena, unsigned, t->columns);

	assert(t->count % t->columns == 0);
	for (unsigned i = 0; i < t->columns; i++)
		widths[i] = column_width(t, i);
	for (unsigned i = 0; i < t->count; i++) {
		bool is_last = (i + 1) % t->columns == 0;
		unsigned padding = 0;

		if (!is_last)
			padding = widths[i % t->columns] - width_of(t->cells[i]) + 2;
		(void)fprintf(out, "%s%*s%s", t->cells[i], (int)padding, "", is_last ? "\n" : "");
	}
}

void print_json(const struct json_value *value)
{
	AUTO(buf_done) struct buf text = BUF(JSON_TEXT_SIZE_MAX);

	json_print(&text, value, 2);
	(void)printf("%s\n", buf_text(&text));
}
