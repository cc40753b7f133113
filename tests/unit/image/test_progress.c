/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "image/progress.h"

static char line[2048];

static const char *read_line(int fd)
{
	ssize_t size = read(fd, line, sizeof(line) - 1);

	line[size > 0 ? size : 0] = '\0';
	return line;
}

TEST(progress_is_a_line_with_percent_and_text)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	progress_tell(ends[1], 40, "unpacking\nlibc6");
	assert_string_equal(read_line(ends[0]), "40 unpacking libc6\n");
	close(ends[0]);
	close(ends[1]);
}

TEST(a_failure_is_a_line_with_code_text_and_hint)
{
	struct error err = {0};
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)FAIL(&err, ERROR_NOT_FOUND, "no such image");
	progress_fail(ends[1], &err);
	assert_string_equal(read_line(ends[0]), "error not_found no such image\n");
	error_hint(&err, "look again");
	progress_fail(ends[1], &err);
	assert_string_equal(read_line(ends[0]), "error not_found no such image\tlook again\n");
	close(ends[0]);
	close(ends[1]);
}

TEST(a_long_text_is_cut_to_one_line)
{
	static char text[4000];
	int ends[2];

	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	progress_tell(ends[1], 1, text);
	read_line(ends[0]);
	assert_true(strlen(line) < 600);
	assert_int_equal(line[strlen(line) - 1], '\n');
	close(ends[0]);
	close(ends[1]);
}

TEST(a_reader_that_has_gone_is_noticed)
{
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_false(progress_is_abandoned(ends[1]));
	close(ends[0]);
	assert_true(progress_is_abandoned(ends[1]));
	progress_tell(ends[1], 1, "nobody hears it");
	close(ends[1]);
	assert_false(progress_is_abandoned(-1));
	progress_tell(-1, 1, "nobody wants it");
}

int main(void)
{
	return RUN(CASE(progress_is_a_line_with_percent_and_text),
	           CASE(a_failure_is_a_line_with_code_text_and_hint),
	           CASE(a_long_text_is_cut_to_one_line), CASE(a_reader_that_has_gone_is_noticed));
}
