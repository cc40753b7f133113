/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/harmless.h"

#include "unit.h"

/* In one piece, and byte by byte. */
static void becomes(const char *text, const char *expected)
{
	struct harmless whole = {HARMLESS_TEXT}, single = {HARMLESS_TEXT};
	AUTO(buf_done) struct buf a = BUF(4096), b = BUF(4096);

	harmless_take(&whole, span_of(text), &a);
	for (size_t i = 0; text[i]; i++)
		harmless_take(&single, (struct span){text + i, 1}, &b);
	assert_string_equal(buf_text(&a), expected);
	assert_string_equal(buf_text(&b), expected);
}

static void stays(const char *text)
{
	becomes(text, text);
}

TEST(what_draws_goes_through)
{
	stays("plain\r\n\ttabs \b and bell\a");
	stays("\033[1;38;5;12mbold\033[0m\033[38:2::1:2:3mx");
	stays("\033[2J\033[H\033[10;20H\033[K\033[3A\033[?25l\033[?1049h\033[?25;7h\033[4h");
	stays("\0337\0338\033M\033(0lqk\033(B\033[1;20r\033[s\033[u\033c");
	stays("caf\303\251 \302\240\342\234\223 \360\237\231\202");
}

TEST(what_the_terminal_would_answer_is_dropped)
{
	becomes("a\033[6nb\033[5n\033[c\033[>c\033[=cc\033[0x", "abc");
	becomes("\033[21t\033[14t\033[?1$p\033[?2026$p\033[?u\033[>q.", ".");
	becomes("\033Z\005.\033[?6n", ".");
	becomes("\302\2336nx", "x");
}

TEST(strings_are_dropped_whatever_ends_them)
{
	becomes("a\033]52;c;ZXZpbA==\ab", "ab");
	becomes("a\033]0;title\033\\b", "ab");
	becomes("a\033P$qm\033\\b\033_x\302\234c\033^y\033\\d\033Xz\033\\e", "abcde");
	becomes("a\302\235 52;c;eA==\302\234b\302\220q\302\234c", "abc");
	/* One that has no end ends where another sequence begins. */
	becomes("a\033]0;never\033[1mb\033]0;\033]0;x\ac", "a\033[1mbc");
	becomes("a\033]0;never", "a");
}

TEST(modes_of_keys_and_mouse_would_outlast_it)
{
	becomes("\033[?1000h\033[?1002;1006h\033[?1004h\033[?2004h\033[?1h\033=\033[20hx", "x");
	becomes("\033[?25;1000hx", "x");
	becomes("\033[>4;2m\033[>1u\033[=1u\033[<ux", "x");
	becomes("\033[0i\033[5ix\033[1 q\033[!p", "x");
}

TEST(what_is_no_sequence_does_no_harm)
{
	becomes("a\033[12\0306nb", "a6nb");
	becomes("a\033[12\033[1mb", "a\033[1mb");
	becomes("a\033[1\0022mb\033[\1771mc", "abc");
	becomes("\001\002\004\020\177x", "x");
	becomes("a\033[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24;25;26;27mb",
	        "ab");
	becomes("\302", "");
	becomes("\302\0336\233", "\233");
	becomes("\302\205x", "x");
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(what_draws_goes_through),
	        CASE(what_the_terminal_would_answer_is_dropped),
	        CASE(strings_are_dropped_whatever_ends_them),
	        CASE(modes_of_keys_and_mouse_would_outlast_it),
	        CASE(what_is_no_sequence_does_no_harm),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
