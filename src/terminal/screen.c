/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "base/bytes.h"
#include "terminal/filter.h"
#include "terminal/keys.h"

#define FEED_SIZE ((size_t)16 * 1024)
#define CELL_TEXT_MAX (VTERM_MAX_CHARS_PER_CELL * 4)
/* Bytes of a line as ANSI: each cell with its own colours. */
#define LINE_ANSI_MAX ((size_t)TERMINAL_COLUMNS_MAX * (CELL_TEXT_MAX + 64))
#define SCREEN_TEXT_MAX ((size_t)TERMINAL_ROWS_MAX * (LINE_ANSI_MAX + 64))

struct screen {
	VTerm *vterm;
	VTermScreen *screen;
	VTermState *state;
	uint64_t start, offset;
	bool cursor_visible, alternate;
	char title[SCREEN_TITLE_MAX];
	struct filter filter;
	struct buf filtered;
	struct buf typed; /* the library's answers to queries and keys */
};

static void add_rune(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_add_byte(out, (char)c);
	} else if (c < 0x800) {
		buf_add_byte(out, (char)(0xC0 | c >> 6));
		buf_add_byte(out, (char)(0x80 | (c & 0x3F)));
	} else if (c < 0x10000) {
		buf_add_byte(out, (char)(0xE0 | c >> 12));
		buf_add_byte(out, (char)(0x80 | (c >> 6 & 0x3F)));
		buf_add_byte(out, (char)(0x80 | (c & 0x3F)));
	} else {
		buf_add_byte(out, (char)(0xF0 | (c >> 18 & 7)));
		buf_add_byte(out, (char)(0x80 | (c >> 12 & 0x3F)));
		buf_add_byte(out, (char)(0x80 | (c >> 6 & 0x3F)));
		buf_add_byte(out, (char)(0x80 | (c & 0x3F)));
	}
}

static int on_property(VTermProp property, VTermValue *value, void *context)
{
	struct screen *s = context;

	if (property == VTERM_PROP_CURSORVISIBLE)
		s->cursor_visible = value->boolean;
	else if (property == VTERM_PROP_ALTSCREEN)
		s->alternate = value->boolean;
#if VTERM_VERSION_MAJOR == 0 && VTERM_VERSION_MINOR < 2
	else if (property == VTERM_PROP_TITLE) {
		size_t size = strnlen(value->string, SCREEN_TITLE_MAX - 1);

		memcpy(s->title, value->string, size);
		s->title[size] = '\0';
	}
#else
	else if (property == VTERM_PROP_TITLE) {
		size_t at = value->string.initial ? 0 : strlen(s->title), size = value->string.len;

		if (size > SCREEN_TITLE_MAX - 1 - at)
			size = SCREEN_TITLE_MAX - 1 - at;
		memcpy(s->title + at, value->string.str, size);
		s->title[at + size] = '\0';
	}
#endif
	return 1;
}

static void on_typed(const char *bytes, size_t size, void *context)
{
	struct screen *s = context;

	buf_add(&s->typed, bytes, size);
}

static const VTermScreenCallbacks callbacks = {.settermprop = on_property};

/* libvterm 0.1.4 writes past the end of a line that has no room for a wide character. */
static uint32_t columns_of_model(uint32_t columns)
{
	return columns < 2 ? 2 : columns;
}

struct screen *screen_new(uint32_t rows, uint32_t columns, uint64_t offset)
{
	struct screen *s = memory_new(sizeof(*s));

	s->vterm = vterm_new((int)rows, (int)columns_of_model(columns));
	if (!s->vterm)
		abort();
	s->start = s->offset = offset;
	s->cursor_visible = true;
	s->typed = BUF(TERMINAL_INPUT_MAX);
	s->filtered = BUF(FEED_SIZE * FILTER_GROWTH_MAX);
	vterm_set_utf8(s->vterm, 1);
	vterm_output_set_callback(s->vterm, on_typed, s);
	s->screen = vterm_obtain_screen(s->vterm);
	s->state = vterm_obtain_state(s->vterm);
	vterm_screen_set_callbacks(s->screen, &callbacks, s);
	vterm_screen_enable_altscreen(s->screen, 1);
	vterm_screen_reset(s->screen, 1);
	return s;
}

void screen_free(struct screen *s)
{
	if (!s)
		return;
	vterm_free(s->vterm);
	buf_done(&s->typed);
	buf_done(&s->filtered);
	free(s);
}

static void get_size(const struct screen *s, int *rows, int *columns)
{
	vterm_get_size(s->vterm, rows, columns);
}

/* After a change of size the whole terminal scrolls. libvterm 0.1.4 keeps margins that lie outside
 * the new size and computes a negative size when it scrolls there. */
static void forget_margins(struct screen *s)
{
	static const char forget[] = "\033[r\033[s";
	char back[32];
	VTermPos at;

	vterm_state_get_cursorpos(s->state, &at);
	(void)vterm_input_write(s->vterm, forget, sizeof(forget) - 1);
	(void)snprintf(back, sizeof(back), "\033[%d;%dH", at.row + 1, at.col + 1);
	(void)vterm_input_write(s->vterm, back, strlen(back));
}

void screen_resize(struct screen *s, uint32_t rows, uint32_t columns)
{
	int now_rows, now_columns;

	columns = columns_of_model(columns);
	get_size(s, &now_rows, &now_columns);
	if ((uint32_t)now_rows == rows && (uint32_t)now_columns == columns)
		return;
	forget_margins(s);
	vterm_set_size(s->vterm, (int)rows, (int)columns);
}

/* Answers of the model to queries are dropped: the viewers' own terminals answer them. */
void screen_feed(struct screen *s, struct span bytes)
{
	s->offset += bytes.size;
	while (bytes.size > 0) {
		filter_write(&s->filter, span_take(&bytes, FEED_SIZE), &s->filtered);
		(void)vterm_input_write(s->vterm, buf_text(&s->filtered), s->filtered.size);
		buf_reset(&s->filtered);
		buf_reset(&s->typed);
	}
	vterm_screen_flush_damage(s->screen);
	if (s->filtered.capacity > 4 * FEED_SIZE)
		buf_done(&s->filtered);
}

uint64_t screen_offset(const struct screen *s)
{
	return s->offset;
}

size_t screen_cells(const struct screen *s)
{
	int rows, columns;

	get_size(s, &rows, &columns);
	return (size_t)rows * (size_t)columns;
}

static void add_cell(struct buf *out, const VTermScreenCell *cell)
{
	if (cell->chars[0] == 0)
		buf_add_byte(out, ' ');
	/* The right half of a wide character is marked by a value that is no character. */
	for (unsigned i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++)
		if (cell->chars[i] < 0x110000)
			add_rune(out, cell->chars[i]);
}

static int step_of(const VTermScreenCell *cell)
{
	return cell->width > 1 ? cell->width : 1;
}

static bool get_cell(const struct screen *s, int row, int column, VTermScreenCell *ret)
{
	return vterm_screen_get_cell(s->screen, (VTermPos){.row = row, .col = column}, ret) != 0;
}

static void trim_line(struct buf *out, size_t from)
{
	while (out->size > from && out->data[out->size - 1] == ' ')
		out->size--;
	if (out->data)
		out->data[out->size] = '\0';
}

void screen_text(struct screen *s, struct buf *out)
{
	int rows, columns;
	size_t end = out->size; /* of the last line that is not blank */

	get_size(s, &rows, &columns);
	for (int row = 0; row < rows; row++) {
		size_t from = out->size;
		VTermScreenCell cell;

		for (int column = 0; column < columns && get_cell(s, row, column, &cell);
		     column += step_of(&cell))
			add_cell(out, &cell);
		trim_line(out, from);
		if (out->size > from)
			end = out->size + 1;
		buf_add_byte(out, '\n');
	}
	if (end < out->size)
		out->size = end;
	if (out->data)
		out->data[out->size] = '\0';
}

static bool looks_same(const VTermScreenCell *a, const VTermScreenCell *b)
{
	return a->attrs.bold == b->attrs.bold && a->attrs.italic == b->attrs.italic &&
	       a->attrs.underline == b->attrs.underline && a->attrs.reverse == b->attrs.reverse &&
	       a->attrs.blink == b->attrs.blink && a->attrs.strike == b->attrs.strike &&
	       vterm_color_is_equal(&a->fg, &b->fg) && vterm_color_is_equal(&a->bg, &b->bg);
}

static void add_colour(const struct screen *s, struct buf *out, VTermColor colour, bool is_text)
{
	if (is_text ? VTERM_COLOR_IS_DEFAULT_FG(&colour) : VTERM_COLOR_IS_DEFAULT_BG(&colour))
		return;
	if (VTERM_COLOR_IS_INDEXED(&colour)) {
		buf_addf(out, ";%d;5;%u", is_text ? 38 : 48, (unsigned)colour.indexed.idx);
		return;
	}
	vterm_screen_convert_color_to_rgb(s->screen, &colour);
	buf_addf(out, ";%d;2;%u;%u;%u", is_text ? 38 : 48, (unsigned)colour.rgb.red,
	         (unsigned)colour.rgb.green, (unsigned)colour.rgb.blue);
}

static void add_style(const struct screen *s, struct buf *out, const VTermScreenCell *cell)
{
	const struct {
		unsigned on;
		int code;
	} attributes[] = {
	        {cell->attrs.bold, 1},  {cell->attrs.italic, 3},  {cell->attrs.underline, 4},
	        {cell->attrs.blink, 5}, {cell->attrs.reverse, 7}, {cell->attrs.strike, 9},
	};

	buf_add_text(out, "\033[0");
	for (size_t i = 0; i < COUNT_OF(attributes); i++)
		if (attributes[i].on)
			buf_addf(out, ";%d", attributes[i].code);
	add_colour(s, out, cell->fg, true);
	add_colour(s, out, cell->bg, false);
	buf_add_byte(out, 'm');
}

static void add_ansi_line(const struct screen *s, struct buf *out, int row, int columns)
{
	VTermScreenCell cell, last = {.width = 0};
	bool has_last = false;

	buf_addf(out, "\033[%d;1H", row + 1);
	for (int column = 0; column < columns && get_cell(s, row, column, &cell);
	     column += step_of(&cell)) {
		if (!has_last || !looks_same(&last, &cell))
			add_style(s, out, &cell);
		last = cell;
		has_last = true;
		add_cell(out, &cell);
	}
}

static void add_ansi(const struct screen *s, struct buf *out)
{
	int rows, columns;
	VTermPos cursor;

	get_size(s, &rows, &columns);
	vterm_state_get_cursorpos(s->state, &cursor);
	buf_addf(out, "\033[?1049%c\033[0m\033[2J", s->alternate ? 'h' : 'l');
	for (int row = 0; row < rows; row++)
		add_ansi_line(s, out, row, columns);
	buf_addf(out, "\033[0m\033[%d;%dH\033[?25%c", cursor.row + 1, cursor.col + 1,
	         s->cursor_visible ? 'h' : 'l');
}

static const char *colour_text(const struct screen *s, struct arena *a, VTermColor colour,
                               bool is_text)
{
	if (is_text ? VTERM_COLOR_IS_DEFAULT_FG(&colour) : VTERM_COLOR_IS_DEFAULT_BG(&colour))
		return NULL;
	vterm_screen_convert_color_to_rgb(s->screen, &colour);
	return arena_format(a, "#%02x%02x%02x", colour.rgb.red, colour.rgb.green, colour.rgb.blue);
}

static struct terminal_run run_of(const struct screen *s, struct arena *a,
                                  const VTermScreenCell *cell, int column)
{
	return (struct terminal_run){
	        .column = (uint32_t)column,
	        .foreground = colour_text(s, a, cell->fg, true),
	        .background = colour_text(s, a, cell->bg, false),
	        .bold = cell->attrs.bold,
	        .italic = cell->attrs.italic,
	        .underline = cell->attrs.underline != 0,
	        .reverse = cell->attrs.reverse,
	        .blink = cell->attrs.blink,
	        .strike = cell->attrs.strike,
	};
}

static void read_line(const struct screen *s, struct arena *a, int row, int columns,
                      struct terminal_line *ret)
{
	AUTO(buf_done) struct buf text = BUF(LINE_ANSI_MAX);
	VTermScreenCell cell, last = {.width = 0};

	ret->runs = ARENA_ARRAY(a, struct terminal_run, (size_t)columns);
	for (int column = 0; column < columns && get_cell(s, row, column, &cell);
	     column += step_of(&cell)) {
		if (ret->count == 0 || !looks_same(&last, &cell)) {
			if (ret->count)
				ret->runs[ret->count - 1].text = arena_copy(a, buf_span(&text));
			buf_reset(&text);
			ret->runs[ret->count++] = run_of(s, a, &cell, column);
		}
		last = cell;
		add_cell(&text, &cell);
	}
	if (ret->count)
		ret->runs[ret->count - 1].text = arena_copy(a, buf_span(&text));
}

static struct terminal_line *read_lines(const struct screen *s, struct arena *a)
{
	struct terminal_line *lines;
	int rows, columns;

	get_size(s, &rows, &columns);
	lines = ARENA_ARRAY(a, struct terminal_line, (size_t)rows);
	for (int row = 0; row < rows; row++)
		read_line(s, a, row, columns, &lines[row]);
	return lines;
}

void screen_read(struct screen *s, struct arena *a, enum terminal_form form,
                 struct terminal_screen *ret)
{
	AUTO(buf_done) struct buf text = BUF(SCREEN_TEXT_MAX);
	int rows, columns;
	VTermPos cursor;

	get_size(s, &rows, &columns);
	vterm_state_get_cursorpos(s->state, &cursor);
	*ret = (struct terminal_screen){
	        .rows = (uint32_t)rows,
	        .columns = (uint32_t)columns,
	        .cursor_row = (uint32_t)cursor.row,
	        .cursor_column = (uint32_t)cursor.col,
	        .cursor_visible = s->cursor_visible,
	        .alternate = s->alternate,
	        .title = arena_text(a, s->title),
	        .offset = s->offset,
	        .missing = s->start,
	};
	if (form == TERMINAL_CELLS) {
		ret->lines = read_lines(s, a);
		return;
	}
	if (form == TERMINAL_ANSI)
		add_ansi(s, &text);
	else
		screen_text(s, &text);
	ret->text = arena_copy(a, buf_span(&text));
}

static const struct {
	enum key_symbol symbol;
	VTermKey key;
} symbols[] = {
        {KEY_ENTER, VTERM_KEY_ENTER},
        {KEY_TAB, VTERM_KEY_TAB},
        {KEY_BACKSPACE, VTERM_KEY_BACKSPACE},
        {KEY_ESCAPE, VTERM_KEY_ESCAPE},
        {KEY_UP, VTERM_KEY_UP},
        {KEY_DOWN, VTERM_KEY_DOWN},
        {KEY_LEFT, VTERM_KEY_LEFT},
        {KEY_RIGHT, VTERM_KEY_RIGHT},
        {KEY_INSERT, VTERM_KEY_INS},
        {KEY_DELETE, VTERM_KEY_DEL},
        {KEY_HOME, VTERM_KEY_HOME},
        {KEY_END, VTERM_KEY_END},
        {KEY_PAGE_UP, VTERM_KEY_PAGEUP},
        {KEY_PAGE_DOWN, VTERM_KEY_PAGEDOWN},
};

static VTermKey vterm_key_of(const struct key *key)
{
	if (key->symbol == KEY_FUNCTION)
		return (VTermKey)VTERM_KEY_FUNCTION(key->number);
	for (size_t i = 0; i < COUNT_OF(symbols); i++)
		if (symbols[i].symbol == key->symbol)
			return symbols[i].key;
	return VTERM_KEY_NONE;
}

int screen_type_key(struct screen *s, const char *name, struct buf *out, struct error *err)
{
	struct key key;
	unsigned modifier;

	if (key_parse(name, &key, err) < 0)
		return -1;
	if (key.symbol == KEY_TEXT) {
		key_write_text(&key, out);
		return 0;
	}
	modifier = (key.shift ? VTERM_MOD_SHIFT : 0u) | (key.alt ? VTERM_MOD_ALT : 0u) |
	           (key.control ? VTERM_MOD_CTRL : 0u);
	buf_reset(&s->typed);
	vterm_keyboard_key(s->vterm, vterm_key_of(&key), (VTermModifier)modifier);
	buf_add_span(out, buf_span(&s->typed));
	buf_reset(&s->typed);
	return 0;
}

/* A keyboard sends newlines as carriage returns. Bytes that would end the paste early are left
 * out. */
void screen_type_paste(struct screen *s, const char *text, struct buf *out)
{
	buf_reset(&s->typed);
	vterm_keyboard_start_paste(s->vterm);
	buf_add_span(out, buf_span(&s->typed));
	for (; *text; text++)
		if (*text != '\033')
			buf_add_byte(out, (char)(*text == '\n' ? '\r' : *text));
	buf_reset(&s->typed);
	vterm_keyboard_end_paste(s->vterm);
	buf_add_span(out, buf_span(&s->typed));
	buf_reset(&s->typed);
}
