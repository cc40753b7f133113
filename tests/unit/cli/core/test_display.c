/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <locale.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "cli/core/progress.h"
#include "cli/core/display.h"

static bool color_with(const char *option, const char *variable, const char *value)
{
	struct display display = {0};
	struct error err;

	(void)unsetenv("NO_COLOR");
	(void)unsetenv("CLICOLOR_FORCE");
	if (variable)
		assert_int_equal(setenv(variable, value, 1), 0);
	assert_int_equal(display_find(option, &display, &err), 0);
	return display.has_color;
}

TEST(the_option_wins_over_the_environment)
{
	bool by_terminal = isatty(STDOUT_FILENO) != 0;

	(void)setenv("TERM", "xterm", 1);
	assert_int_equal(color_with(NULL, NULL, NULL), by_terminal);
	assert_int_equal(color_with("auto", "NO_COLOR", ""), by_terminal);
	assert_false(color_with("auto", "NO_COLOR", "1"));
	assert_true(color_with("always", "NO_COLOR", "1"));
	assert_true(color_with(NULL, "CLICOLOR_FORCE", "1"));
	assert_int_equal(color_with(NULL, "CLICOLOR_FORCE", "0"), by_terminal);
	assert_false(color_with("never", "CLICOLOR_FORCE", "1"));
}

TEST(an_unknown_word_for_colors_is_refused)
{
	struct display display;
	struct error err;

	assert_int_equal(display_find("sometimes", &display, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.hint, "auto, always or never");
}

TEST(the_width_is_the_terminals)
{
	const struct winsize size = {.ws_row = 24, .ws_col = 97};
	int controller, terminal, pipes[2];

	(void)unsetenv("COLUMNS");
	assert_int_equal(openpty(&controller, &terminal, NULL, NULL, &size), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(display_width(terminal), 97);
	assert_int_equal(setenv("COLUMNS", "50", 1), 0);
	assert_int_equal(display_width(terminal), 50);
	assert_int_equal(display_width(pipes[1]), 0);
	assert_int_equal(setenv("COLUMNS", "wide", 1), 0);
	assert_int_equal(display_width(terminal), 97);
	(void)unsetenv("COLUMNS");
	(void)close(controller);
	(void)close(terminal);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

TEST(a_cut_text_ends_between_characters)
{
	AUTO(arena_done) struct arena arena = {0};

	assert_string_equal(display_cut(&arena, "abc", 3), "abc");
	assert_string_equal(display_cut(&arena, "abcd", 3), "ab…");
	assert_string_equal(display_cut(&arena, "\xC3\xA9\xC3\xA9\xC3\xA9", 2), "\xC3\xA9…");
	assert_string_equal(display_cut(&arena, "\xE4\xB8\xAD\xE6\x96\x87", 3), "\xE4\xB8\xAD…");
	assert_int_equal(display_columns("a\xFF"), 2);
}

/* Shows a hundred messages while stderr is `fd`. */
static void show_progress(int fd)
{
	AUTO(arena_done) struct arena arena = {0};
	struct progress_line progress = {0};
	int kept = dup(STDERR_FILENO);

	assert_true(kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	for (int i = 0; i < 100; i++)
		progress_show(&progress, &arena, arena_format(&arena, "step %03d of 100", i));
	progress_end(&progress);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	(void)close(kept);
}

TEST(progress_is_one_line_of_a_log)
{
	AUTO(buf_done) struct buf text = BUF(65536);
	struct error err;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	show_progress(pipes[1]);
	(void)close(pipes[1]);
	assert_int_equal(fd_read_to_end(pipes[0], &text, &err), 0);
	assert_string_equal(buf_text(&text), "step 000 of 100\n");
	(void)close(pipes[0]);
}

TEST(progress_is_redrawn_and_fits_a_terminal)
{
	const struct winsize size = {.ws_row = 24, .ws_col = 12};
	char text[64 * 1024] = "";
	size_t size_read = 0;
	int controller, terminal;

	assert_int_equal(openpty(&controller, &terminal, NULL, NULL, &size), 0);
	show_progress(terminal);
	/* The kernel hands over the output in pieces. */
	while (!strstr(text, "\r\x1B[Kstep 000 o…\r\x1B[K")) {
		ssize_t got = read(controller, text + size_read, sizeof(text) - 1 - size_read);

		assert_true(got > 0);
		size_read += (size_t)got;
	}
	assert_null(strchr(text, '\n'));
	(void)close(controller);
	(void)close(terminal);
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	return RUN(CASE(the_option_wins_over_the_environment),
	           CASE(an_unknown_word_for_colors_is_refused), CASE(the_width_is_the_terminals),
	           CASE(a_cut_text_ends_between_characters), CASE(progress_is_one_line_of_a_log),
	           CASE(progress_is_redrawn_and_fits_a_terminal));
}
