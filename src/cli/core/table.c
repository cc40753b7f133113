/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/table.h"

#include <assert.h>
#include <string.h>

#include "cli/core/display.h"
#include "cli/core/text_out.h"

#define GAP 2         /* between columns */
#define WIDTH_LEAST 6 /* of a cut column */

#define RED "\x1B[31m"
#define GREEN "\x1B[32m"
#define YELLOW "\x1B[33m"

/* Words of states; all others have no colour. */
static const struct {
	const char *word, *color;
} states[] = {
        {"started", GREEN},   {"running", GREEN},   {"ready", GREEN},     {"ok", GREEN},
        {"active", GREEN},    {"completed", GREEN}, {"delivered", GREEN}, {"approved", GREEN},
        {"stopped", RED},     {"failed", RED},      {"error", RED},       {"dead", RED},
        {"lost", RED},        {"denied", RED},      {"pending", YELLOW},  {"creating", YELLOW},
        {"starting", YELLOW}, {"waiting", YELLOW},  {"building", YELLOW}, {"making", YELLOW},
        {"paused", YELLOW},   {"sending", YELLOW},  {"stopping", YELLOW}, {"deleting", YELLOW},
        {"removing", YELLOW}, {"being", YELLOW}, /* being deleted */
};

static bool is_of_states(const char *head)
{
	return strcmp(head, "STATE") == 0 || strcmp(head, "STATUS") == 0;
}

void table_init(struct text_table *t, struct arena *a, const char *const *head)
{
	*t = (struct text_table){.arena = a, .has_head = true};
	while (head[t->columns])
		t->columns++;
	while (t->state_column < t->columns && !is_of_states(head[t->state_column]))
		t->state_column++;
	for (unsigned i = 0; i < t->columns; i++)
		table_add(t, head[i]);
}

void table_drop_head(struct text_table *t)
{
	t->count = 0;
	t->has_head = false;
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

static unsigned column_width(const struct text_table *t, unsigned column)
{
	unsigned widest = 0;

	for (unsigned i = column; i < t->count; i += t->columns) {
		unsigned width = display_columns(t->cells[i]);

		if (width > widest)
			widest = width;
	}
	return widest;
}

static unsigned table_width(const struct text_table *t, const unsigned *widths)
{
	unsigned sum = GAP * (t->columns - 1);

	for (unsigned i = 0; i < t->columns; i++)
		sum += widths[i];
	return sum;
}

/* Takes columns from the widest of widths[first..], until the table fits or none is above the least
 * width. */
static void narrow_columns(const struct text_table *t, unsigned first, unsigned width_max,
                           unsigned *widths)
{
	unsigned width = table_width(t, widths);

	for (; width > width_max; width--) {
		unsigned widest = first;

		for (unsigned i = first; i < t->columns; i++)
			widest = widths[i] > widths[widest] ? i : widest;
		if (widest >= t->columns || widths[widest] <= WIDTH_LEAST)
			return;
		widths[widest]--;
	}
}

static const char *state_color(const char *cell)
{
	struct span word = {cell, strcspn(cell, " ")};

	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		if (span_equals_text(word, states[i].word))
			return states[i].color;
	}
	return NULL;
}

static const char *cell_color(const struct text_table *t, unsigned index)
{
	if (t->has_head && index < t->columns)
		return DISPLAY_BOLD;
	return index % t->columns == t->state_column ? state_color(t->cells[index]) : NULL;
}

static void print_cell(const struct text_table *t, unsigned index, unsigned width, FILE *out,
                       const char *color)
{
	const char *text = display_cut(t->arena, t->cells[index], width);
	bool is_last = (index + 1) % t->columns == 0;
	unsigned padding = is_last ? 0 : width - display_columns(text) + GAP;

	(void)fprintf(out, "%s%s%s%*s%s", color ? color : "", text, color ? DISPLAY_NORMAL : "",
	              (int)padding, "", is_last ? "\n" : "");
}

void table_print(const struct text_table *t, FILE *out, const struct display *display)
{
	unsigned *widths = ARENA_ARRAY(t->arena, unsigned, t->columns);

	assert(t->count % t->columns == 0);
	for (unsigned i = 0; i < t->columns; i++)
		widths[i] = column_width(t, i);
	if (display->width > 0) {
		narrow_columns(t, 1, display->width, widths);
		narrow_columns(t, 0, display->width, widths);
	}
	for (unsigned i = 0; i < t->count; i++)
		print_cell(t, i, widths[i % t->columns], out,
		           display->has_color ? cell_color(t, i) : NULL);
}
