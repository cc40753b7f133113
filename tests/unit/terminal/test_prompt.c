/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "terminal/prompt.h"

#define NONCE "0123456789abcdef0123456789abcdef"
#define STREAM                                                                                     \
	"$ \033]133;B\aline\r\n\033]133;C;" NONCE "\aout\033]0;t\a\033]133;D;7;" NONCE             \
	"\a\033]133;X\a\033]133;D;999;" NONCE "\a\033]133;D;0;nonsense\a\033]\033]133;P;\a"

/* The kinds of the marks found, fed in pieces of `step`. */
static void find(struct span stream, size_t step, char *kinds, struct prompt_mark *last_d)
{
	struct prompt_scanner marks = {.offset = 1000};

	while (stream.size > 0) {
		struct span piece = {stream.data, stream.size < step ? stream.size : step};
		struct prompt_mark mark;

		stream.data += piece.size;
		stream.size -= piece.size;
		while (prompt_scanner_next(&marks, &piece, &mark)) {
			*kinds++ = mark.kind;
			if (mark.kind == 'D')
				*last_d = mark;
		}
	}
	*kinds = '\0';
}

TEST(marks_are_found_however_the_bytes_come)
{
	for (size_t step = 1; step < 50; step++) {
		struct prompt_mark d = {.kind = 0};
		char kinds[16];

		find(SPAN(STREAM), step, kinds, &d);
		assert_string_equal(kinds, "BCDP");
		assert_int_equal(d.status, 7);
		assert_string_equal(d.nonce, NONCE);
		assert_int_equal(d.start, 1000 + (strstr(STREAM, "\033]133;D;7") - STREAM));
		assert_int_equal(d.end, d.start + strlen("\033]133;D;7;" NONCE "\a"));
	}
}

TEST(a_begin_tells_its_time_in_any_locale)
{
	static const struct {
		const char *text;
		int64_t unix_ms;
	} cases[] = {
	        {"\033]133;C;" NONCE ";1700000000.123456\a", 1700000000123},
	        {"\033]133;C;;1700000000,123456\a", 1700000000123},
	        {"\033]133;C;" NONCE ";1700000000\u066b123456\a", 1700000000123},
	        {"\033]133;C;" NONCE ";\a", 0},
	        {"\033]133;C;" NONCE ";yesterday, at about noon\a", 0},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct span text = span_of(cases[i].text);
		struct prompt_scanner marks = {.offset = 0};
		struct prompt_mark mark;

		assert_true(prompt_scanner_next(&marks, &text, &mark));
		assert_int_equal(mark.unix_ms, cases[i].unix_ms);
	}
}

TEST(a_mark_without_an_end_is_none)
{
	struct prompt_mark d = {.kind = 0};
	char endless[4096], kinds[16];

	memset(endless, 'x', sizeof(endless));
	memcpy(endless, "\033]133;D;0;", 10);
	find((struct span){endless, sizeof(endless)}, 100, kinds, &d);
	assert_string_equal(kinds, "");
}

TEST(one_line_is_typed_as_it_is_and_several_as_one_command)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	prompt_line_write(&out, NONCE, "echo 'a'\n");
	assert_string_equal(buf_text(&out), "\033[29;133~" NONCE "echo 'a'\x1e\r");
	buf_reset(&out);
	prompt_line_write(&out, NONCE, "echo 'a'\ntrue");
	assert_string_equal(buf_text(&out),
	                    "\033[29;133~" NONCE "eval 'echo '\\''a'\\''\ntrue'\x1e\r");
}

TEST(control_characters_and_nothing_are_refused)
{
	/* \36 is \x1e, which would take the letter behind it for a digit of its own */
	static const char *const bad[] = {"", " \n\t", "a\36b", "a\rb", "\033[A", "a\x7f"};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(prompt_line_check(bad[i], &err), -1);
	assert_int_equal(prompt_line_check("echo\ta\nb é", &err), 0);
}

TEST(our_shell_is_told_by_its_arguments_which_lists_show_whole)
{
	const char *const *args = prompt_shell_args();
	size_t size = 0;

	assert_true(prompt_shell_is_ours(args));
	/* one that an earlier server has opened */
	assert_true(prompt_shell_is_ours((const char *const[]){
	        "bash", "-c", "exec bash --rcfile /dev/fd/3 -i 3<<'__ATOLL'\n:\n__ATOLL\n", NULL}));
	assert_false(prompt_shell_is_ours(
	        (const char *const[]){"bash", "-c", "exec bash --rcfile /dev/fd/3 -i", NULL}));
	assert_false(prompt_shell_is_ours((const char *const[]){"bash", "-c", "echo", NULL}));
	assert_false(prompt_shell_is_ours((const char *const[]){"bash", NULL}));
	for (; *args; args++)
		size += strlen(*args) + sizeof(char *);
	assert_in_range(size, 1, 4095); /* what the agent keeps of arguments */
}

int main(void)
{
	return RUN(CASE(marks_are_found_however_the_bytes_come),
	           CASE(a_begin_tells_its_time_in_any_locale), CASE(a_mark_without_an_end_is_none),
	           CASE(one_line_is_typed_as_it_is_and_several_as_one_command),
	           CASE(control_characters_and_nothing_are_refused),
	           CASE(our_shell_is_told_by_its_arguments_which_lists_show_whole));
}
