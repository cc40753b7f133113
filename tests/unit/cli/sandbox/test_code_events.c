/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/sandbox/code_events.h"

static struct code_events events;
static struct error err;
static char folder[] = "/tmp/atoll-code-XXXXXX";
static int out[2], errors[2];

static int open_events(void **state)
{
	(void)state;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	if (!mkdtemp(folder) || pipe(out) < 0 || pipe(errors) < 0)
		return -1;
	code_events_init(&events);
	events.out_fd = out[1];
	events.err_fd = errors[1];
	events.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	events.folder_name = "plots";
	return 0;
}

static int close_events(void **state)
{
	static const char *const names[] = {"result-1.png", "result-1.html", "result-2.chart.json"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlinkat(events.folder, names[i], 0);
	code_events_done(&events);
	(void)rmdir(folder);
	for (unsigned i = 0; i < 2; i++) {
		(void)close(out[i]);
		(void)close(errors[i]);
	}
	return 0;
}

static int add(const char *text)
{
	return code_events_add(&events, span_of(text), &err);
}

static void expect(int fd, const char *text)
{
	char room[256];

	assert_int_equal(read(fd, room, sizeof(room)), strlen(text));
	assert_memory_equal(room, text, strlen(text));
}

static void expect_file(const char *name, const char *text)
{
	AUTO(buf_done) struct buf content = BUF(4096);

	assert_int_equal(file_read(events.folder, name, &content, &err), 0);
	assert_string_equal(buf_text(&content), text);
}

TEST(output_goes_where_it_belongs_and_the_status_is_the_blocks)
{
	assert_int_equal(add("{\"event\":\"started\",\"execution_count\":1}\n"
	                     "{\"event\":\"stdout\",\"data\":\"hi\\n\"}\n"
	                     "{\"event\":\"stderr\",\"data\":\"oh\"}\n"),
	                 0);
	expect(out[0], "hi\n");
	expect(errors[0], "oh");
	assert_false(events.has_ended);
	assert_int_equal(
	        add("{\"event\":\"error\",\"name\":\"E\",\"value\":\"v\",\"traceback\":\"T\"}"
	            "\n{\"event\":\"exit\",\"exit_code\":3}\n"),
	        0);
	expect(errors[0], "T\n");
	assert_true(events.has_ended);
	assert_int_equal(events.status, 3);
}

TEST(a_timeout_is_told_as_timeouts_are)
{
	assert_int_equal(add("{\"event\":\"exit\",\"exit_code\":1,\"timed_out\":true}\n"), 0);
	assert_int_equal(events.status, 124);
}

TEST(forms_of_results_become_files)
{
	assert_int_equal(
	        add("{\"event\":\"result\",\"result\":{\"text\":\"<Figure>\",\"png\":\"aGk=\","
	            "\"html\":\"<b>\",\"svg\":null}}\n"),
	        0);
	expect(out[0], "<Figure>\n");
	expect(errors[0], "plots/result-1.html\nplots/result-1.png\n");
	expect_file("result-1.png", "hi");
	expect_file("result-1.html", "<b>");
	assert_int_equal(add("{\"event\":\"result\",\"result\":{\"chart\":{\"type\":\"line\"}}}\n"),
	                 0);
	expect_file("result-2.chart.json", "{\n  \"type\": \"line\"\n}\n");
}

TEST(what_is_no_event_and_no_base64_is_refused)
{
	assert_int_equal(add("{\"event\":\"result\",\"result\":{\"png\":\"*\"}}\n"), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(add("nonsense\n"), -1);
}

TEST(a_line_may_come_byte_by_byte)
{
	const char *line = "{\"event\":\"stdout\",\"data\":\"x\"}\n";

	for (; *line; line++)
		assert_int_equal(code_events_add(&events, (struct span){line, 1}, &err), 0);
	expect(out[0], "x");
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, open_events, close_events)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(output_goes_where_it_belongs_and_the_status_is_the_blocks),
	        EACH(a_timeout_is_told_as_timeouts_are),
	        EACH(forms_of_results_become_files),
	        EACH(what_is_no_event_and_no_base64_is_refused),
	        EACH(a_line_may_come_byte_by_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
