/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "terminal/screens.h"

static void free_screen(struct screen **s)
{
	screen_free(*s);
}

static struct terminal_screen read_of(struct screen *s, struct arena *a, enum terminal_form form)
{
	struct terminal_screen read;

	screen_read(s, a, form, &read);
	return read;
}

TEST(output_makes_a_screen)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(free_screen) struct screen *s = screen_new(4, 20, 100);
	struct terminal_screen r;

	screen_feed(s, SPAN("one\r\n\033[1mtwo\033[0m é漢\033]2;title\a\033[?25l"));
	r = read_of(s, &a, TERMINAL_TEXT);
	assert_string_equal(r.text, "one\ntwo é漢\n");
	assert_string_equal(r.title, "title");
	assert_int_equal(r.cursor_row, 1);
	assert_int_equal(r.cursor_column, 7);
	assert_false(r.cursor_visible);
	assert_int_equal(r.missing, 100);
	assert_int_equal(r.offset, screen_offset(s));
	r = read_of(s, &a, TERMINAL_CELLS);
	assert_int_equal(r.lines[1].count, 2);
	assert_string_equal(r.lines[1].runs[0].text, "two");
	assert_true(r.lines[1].runs[0].bold);
}

TEST(what_redraws_a_screen_gives_the_same_screen)
{
	static const char *const streams[] = {
	        "plain\r\ntext",
	        "\033[31;44mcolours\033[0m \033[38;5;200mmore\033[38;2;1;2;3mrgb",
	        "\033[?1049h\033[2J\033[3;7Halternate \033[7mreverse\033[0m",
	        "wide 漢字 and e\xcc\x81",
	        "\033[4munder\033[9mstrike\033[5mblink\033[3mitalic",
	};

	for (size_t i = 0; i < COUNT_OF(streams); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(free_screen) struct screen *s = screen_new(6, 40, 0);
		AUTO(free_screen) struct screen *again = screen_new(6, 40, 0);
		struct terminal_screen first, second;

		screen_feed(s, span_of(streams[i]));
		first = read_of(s, &a, TERMINAL_ANSI);
		screen_feed(again, span_of(first.text));
		second = read_of(again, &a, TERMINAL_ANSI);
		assert_string_equal(first.text, second.text);
		assert_int_equal(first.alternate, second.alternate);
		assert_int_equal(first.cursor_row, second.cursor_row);
		assert_int_equal(first.cursor_column, second.cursor_column);
	}
}

TEST(keys_are_what_the_program_has_asked_for)
{
	AUTO(free_screen) struct screen *s = screen_new(4, 20, 0);
	AUTO(buf_done) struct buf out = BUF(256);
	struct error err;

	assert_int_equal(screen_type_key(s, "Up", &out, &err), 0);
	assert_string_equal(buf_text(&out), "\033[A");
	buf_reset(&out);
	screen_feed(s, SPAN("\033[?1h"));
	assert_int_equal(screen_type_key(s, "Up", &out, &err), 0);
	assert_string_equal(buf_text(&out), "\033OA");
	buf_reset(&out);
	screen_type_paste(s, "a\nb\033[201~c", &out);
	assert_string_equal(buf_text(&out), "a\rb[201~c");
	buf_reset(&out);
	screen_feed(s, SPAN("\033[?2004h\033[c"));
	screen_type_paste(s, "p", &out);
	assert_string_equal(buf_text(&out), "\033[200~p\033[201~");
	buf_reset(&out);
	assert_int_equal(screen_type_key(s, "Enter", &out, &err), 0);
	assert_string_equal(buf_text(&out), "\r");
}

TEST(hostile_output_neither_breaks_nor_grows_it)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(free_screen) struct screen *s = screen_new(24, 80, 0);
	AUTO_FREE char *much = malloc(4 << 20);

	memset(much, 'A', 4 << 20);
	memcpy(much, "\033]0;", 4); /* an operating system command without an end */
	screen_feed(s, (struct span){much, 4 << 20});
	screen_feed(s, SPAN("\a\033c\033[99999;99999H\033[99999b\033[999999999999999999999X"
	                    "\033[8;10000;10000t\033P\033\\\033[;;;;;;;;;;;;;;;;;;;;;;;;;;;;m"));
	screen_feed(s, SPAN("\033cfine"));
	screen_resize(s, 1, 1);
	screen_resize(s, TERMINAL_ROWS_MAX, TERMINAL_COLUMNS_MAX);
	screen_resize(s, 24, 80);
	assert_int_equal(read_of(s, &a, TERMINAL_TEXT).rows, 24);
}

TEST(a_wide_character_where_there_is_one_column_is_survived)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(free_screen) struct screen *s = screen_new(1, 1, 0);
	struct terminal_screen r;

	screen_feed(s, SPAN("漢漢"));
	screen_resize(s, 5, 3);
	screen_resize(s, 5, 1);
	screen_feed(s, SPAN("漢漢\r\n漢"));
	r = read_of(s, &a, TERMINAL_TEXT);
	assert_non_null(strstr(r.text, "漢"));
	assert_int_equal(r.columns, 2);
}

TEST(margins_that_a_smaller_window_has_no_room_for_are_forgotten)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(free_screen) struct screen *s = screen_new(28, 20, 0);
	struct terminal_screen r;

	screen_feed(s, SPAN("\033[?69h\033[15;18s\033[5;5r\033[2;3Hhere"));
	screen_resize(s, 2, 10);
	screen_feed(s, SPAN("\033M\033D\033E\033[9L\033[9M\033[9S\033[9T\033[9@\033[9P"));
	screen_feed(s, SPAN("\033[1;1Hfirst\r\nsecond\r\nlast"));
	r = read_of(s, &a, TERMINAL_TEXT);
	assert_int_equal(r.rows, 2);
	assert_non_null(strstr(r.text, "second\nlast"));
}

TEST(kept_screens_are_found_once_and_give_way)
{
	struct screens *kept = screens_new();
	struct screen_key key = {.sandbox = "abcdefghij234567abcd", .process = 1};
	struct screen *s = screen_new(2, 2, 7);

	screens_put(kept, &key, s);
	assert_null(screens_take(kept, &(struct screen_key){key.sandbox, 1, 5}));
	assert_null(screens_take(kept, &(struct screen_key){key.sandbox, 2, 0}));
	assert_ptr_equal(screens_take(kept, &key), s);
	assert_null(screens_take(kept, &key));
	screens_put(kept, &key, s);
	for (uint64_t i = 0; i < SCREENS_MAX; i++)
		screens_put(kept, &(struct screen_key){key.sandbox, 10 + i, 0},
		            screen_new(2, 2, i));
	assert_null(screens_take(kept, &key));
	for (uint64_t i = 0; i < 20; i++)
		screens_put(kept, &(struct screen_key){key.sandbox, 100 + i, 0},
		            screen_new(TERMINAL_ROWS_MAX, TERMINAL_COLUMNS_MAX, i));
	s = screens_take(kept, &(struct screen_key){key.sandbox, 119, 0});
	assert_non_null(s);
	screen_free(s);
	screens_free(kept);
}

int main(void)
{
	return RUN(CASE(output_makes_a_screen), CASE(what_redraws_a_screen_gives_the_same_screen),
	           CASE(keys_are_what_the_program_has_asked_for),
	           CASE(hostile_output_neither_breaks_nor_grows_it),
	           CASE(a_wide_character_where_there_is_one_column_is_survived),
	           CASE(margins_that_a_smaller_window_has_no_room_for_are_forgotten),
	           CASE(kept_screens_are_found_once_and_give_way));
}
