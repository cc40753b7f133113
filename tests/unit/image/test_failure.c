/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "image/failure.h"

static struct error report(const char *const *lines)
{
	struct command_failure f = {.rank = 0};
	struct error err = {0};

	for (; *lines; lines++)
		failure_note(&f, *lines);
	assert_int_equal(failure_report(&f, "tool", 1, &err), -1);
	return err;
}

#define REPORT(...) report((const char *const[]){__VA_ARGS__, NULL})

TEST(a_missing_network_is_told_with_a_hint)
{
	struct error err = REPORT("I: running apt-get update...",
	                          "E: Could not resolve 'mirror.example'", "I: cleaning up");

	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_string_equal(err.text, "tool: Could not resolve 'mirror.example'");
	assert_non_null(strstr(err.hint, "network"));
}

TEST(a_full_disk_is_told_with_a_hint)
{
	struct error err = REPORT("tar: x: write: No space left on device", "error: exit 2");

	assert_int_equal(err.code, ERROR_NO_SPACE);
	assert_non_null(strstr(err.hint, "full"));
}

TEST(a_log_lines_decoration_is_cut_off)
{
	struct error err = REPORT("time=\"2026\" level=fatal msg=\"reading x: manifest unknown\"");

	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_string_equal(err.text, "tool: reading x: manifest unknown");
}

TEST(the_last_telling_line_wins_over_chatter)
{
	struct error err = REPORT("error: first", "error: second", "bye");

	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.text, "tool: second");
	err = REPORT("just words");
	assert_string_equal(err.text, "tool: just words");
}

TEST(silence_is_told_by_the_status)
{
	struct error err = REPORT("");

	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.text, "tool ended with status 1");
}

int main(void)
{
	return RUN(CASE(a_missing_network_is_told_with_a_hint),
	           CASE(a_full_disk_is_told_with_a_hint), CASE(a_log_lines_decoration_is_cut_off),
	           CASE(the_last_telling_line_wins_over_chatter),
	           CASE(silence_is_told_by_the_status));
}
