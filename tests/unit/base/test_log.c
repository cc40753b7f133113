/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

static char line[8192];
static int ends[2], saved_stderr;

static void capture(void)
{
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	saved_stderr = dup(STDERR_FILENO);
	(void)dup2(ends[1], STDERR_FILENO);
}

/* What one read gives: a line was one write. */
static const char *captured(void)
{
	ssize_t got;

	(void)dup2(saved_stderr, STDERR_FILENO);
	(void)close(saved_stderr);
	got = read(ends[0], line, sizeof(line) - 1);
	line[got > 0 ? got : 0] = '\0';
	(void)close(ends[0]);
	(void)close(ends[1]);
	return line;
}

static int open_log(void **state)
{
	(void)state;
	(void)setenv("JOURNAL_STREAM", "1:2", 1);
	log_open("unit", LOG_INFO);
	return 0;
}

TEST(an_event_is_one_line_of_typed_fields)
{
	capture();
	log_info("sandbox started", TEXT("sandbox", "a1"), NUMBER("took_ms", -3));
	assert_string_equal(captured(), "info unit: sandbox started sandbox=a1 took_ms=-3\n");
	capture();
	log_warning("plain");
	assert_string_equal(captured(), "warning unit: plain\n");
}

TEST(values_cannot_forge_fields_or_lines)
{
	capture();
	log_info("e", TEXT("a", "x y"), TEXT("b", "1=2"), TEXT("c", "say \"\\\""),
	         TEXT("d", "two\nlines\r\x1B[31m"), TEXT("e", ""), TEXT("f", NULL));
	assert_string_equal(captured(), "info unit: e a=\"x y\" b=\"1=2\" c=\"say \\\"\\\\\\\"\" "
	                                "d=\"two\\nlines\\x0d\\x1b[31m\" e=\"\" f=\"\"\n");
}

TEST(terminal_controls_hidden_in_utf8_are_escaped)
{
	capture();
	log_info("e", TEXT("euro", "\xE2\x82\xAC"), TEXT("c1", "a\xC2\x9B.\xC2\xA9"),
	         TEXT("bad", "\xFFz"));
	assert_string_equal(captured(),
	                    "info unit: e euro=\"\xE2\x82\xAC\" c1=\"a\\xc2\\x9b.\xC2\xA9\" "
	                    "bad=\"\\xffz\"\n");
}

TEST(characters_that_turn_a_line_around_are_escaped)
{
	const char *evil = "a\xE2\x80\xAE"
	                   "b\xE2\x81\xA6\xD8\x9C\xE2\x80\xA8.\xE2\x80\x9C";

	capture();
	log_info("e", TEXT("t", evil));
	assert_string_equal(captured(),
	                    "info unit: e t=\"a\\xe2\\x80\\xae"
	                    "b\\xe2\\x81\\xa6\\xd8\\x9c\\xe2\\x80\\xa8.\xE2\x80\x9C\"\n");
	log_format_set("json");
	capture();
	log_info("e", TEXT("t", evil), TEXT("c1", "\xC2\x9B"));
	log_format_set("text");
	assert_non_null(strstr(captured(), "\"t\":\"a\\u202eb\\u2066\\u061c\\u2028.\xE2\x80\x9C\","
	                                   "\"c1\":\"\\u009b\"}"));
}

TEST(a_failure_is_written_with_its_place)
{
	struct error err;

	errno = EACCES;
	(void)FAIL_ERRNO(&err, "open '%s'", "x");
	err.where = "f.c:1";
	capture();
	log_error("request failed", FAILURE(&err));
	assert_string_equal(captured(), "error unit: request failed code=forbidden "
	                                "error=\"open 'x': Permission denied\" where=f.c:1 "
	                                "errno=13\n");
}

TEST(a_long_line_is_cut_and_still_ends)
{
	static char text[10000];
	size_t size;

	memset(text, 'a', sizeof(text) - 1);
	capture();
	log_info("e", TEXT("a", text), TEXT("b", "lost"));
	size = strlen(captured());
	assert_in_range(size, 3900, 4096);
	assert_string_equal(line + size - 5, "a...\n");
}

TEST(the_request_of_the_thread_is_on_each_line)
{
	capture();
	log_request_set("r1");
	log_info("e");
	log_request_set(NULL);
	assert_string_equal(captured(), "info unit: e request=r1\n");
}

TEST(debug_lines_are_written_for_named_folders_only)
{
	assert_false(log_debug_is_on("../src/provider/native/native.c"));
	log_debug_set("http, provider/native");
	assert_true(log_debug_is_on("../src/provider/native/native.c"));
	assert_true(log_debug_is_on("src/http/server/server.c"));
	assert_false(log_debug_is_on("../src/provider/null/null.c"));
	assert_false(log_debug_is_on("../src/httpd/x.c"));
	log_debug_set("all");
	assert_true(log_debug_is_on("anything.c"));
	capture();
	log_debug("seen");
	assert_string_equal(captured(), "debug unit: seen\n");
	log_debug_set("");
	capture();
	log_debug("unseen");
	assert_string_equal(captured(), "");
}

TEST(levels_above_the_chosen_one_are_silent)
{
	log_open("unit", LOG_WARNING);
	capture();
	log_info("unseen");
	assert_string_equal(captured(), "");
	log_open("unit", LOG_INFO);
}

TEST(lines_carry_the_time_unless_journald_adds_it)
{
	(void)unsetenv("JOURNAL_STREAM");
	log_open("unit", LOG_INFO);
	capture();
	log_info("e");
	assert_int_equal(strlen(captured()), strlen("2026-11-21T02:25:00.123Z info unit: e\n"));
	assert_string_equal(line + strlen("2026-11-21T02:25:00.123Z"), " info unit: e\n");
	(void)open_log(NULL);
}

TEST(a_person_is_told_in_a_sentence)
{
	struct error err;

	assert_int_equal(FAIL(&err, ERROR_CONFLICT, "the port is in use: \"%s\"", "\x1B[2J\n"), -1);
	capture();
	log_tell(&err);
	assert_string_equal(captured(), "unit: the port is in use: \"\\x1b[2J\\n\"\n");
	error_hint(&err, "end the other program");
	capture();
	log_tell(&err);
	assert_non_null(strstr(captured(), "\"\n  hint: end the other program\n"));
}

TEST(json_has_an_object_per_line)
{
	struct error err = {.code = ERROR_SYSTEM, .sys_errno = 5, .text = "x", .where = "a.c:1"};

	log_format_set("json");
	log_request_set("r1");
	capture();
	log_info("it \"ran\"", TEXT("a", "x\n\x1B\xFF\\"), NUMBER("n", -3), FAILURE(&err));
	log_request_set(NULL);
	log_format_set("text");
	assert_memory_equal(captured(), "{\"time\":\"20", 11);
	assert_non_null(strstr(line, "Z\",\"level\":\"info\",\"program\":\"unit\",\"event\":"
	                             "\"it \\\"ran\\\"\",\"request\":\"r1\","
	                             "\"a\":\"x\\u000a\\u001b\xEF\xBF\xBD\\\\\",\"n\":-3,"));
	assert_non_null(strstr(line, ",\"errno\":5}\n"));
}

TEST(json_of_a_long_event_ends_as_an_object)
{
	char value[3000];

	memset(value, '"', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	log_format_set("json");
	capture();
	log_info("long", TEXT("short", "a"), TEXT("long", value), TEXT("later", "b"));
	log_format_set("text");
	assert_non_null(strstr(captured(), ",\"short\":\"a\",\"cut\":true}\n"));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(an_event_is_one_line_of_typed_fields),
	        CASE(json_has_an_object_per_line),
	        CASE(json_of_a_long_event_ends_as_an_object),
	        CASE(a_person_is_told_in_a_sentence),
	        CASE(values_cannot_forge_fields_or_lines),
	        CASE(terminal_controls_hidden_in_utf8_are_escaped),
	        CASE(characters_that_turn_a_line_around_are_escaped),
	        CASE(a_failure_is_written_with_its_place),
	        CASE(a_long_line_is_cut_and_still_ends),
	        CASE(the_request_of_the_thread_is_on_each_line),
	        CASE(debug_lines_are_written_for_named_folders_only),
	        CASE(levels_above_the_chosen_one_are_silent),
	        CASE(lines_carry_the_time_unless_journald_adds_it),
	};

	return cmocka_run_group_tests(cases, open_log, NULL);
}
