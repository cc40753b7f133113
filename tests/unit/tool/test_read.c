/* SPDX-License-Identifier: Apache-2.0 */
/* What the tool read makes of the bytes of a file, and of an agent that does not keep to the form.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "store/sandbox_record.h"
#include "tool/tool.h"
#include "unit.h"
#include "unit/api/harness.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define PNG "\x89PNG\r\n\x1a\n"

static struct harness harness;
static struct sandbox_record box;
static struct fleet_hold hold;
static struct arena arena;
static struct tool_result result;
static struct error err;

/* ---- the agent: what it answers to a read ---- */

static struct span content;
static uint64_t told_size;
static unsigned files_told; /* how often it names the file */

static bool on_request(UNUSED const char *sandbox, int fd, uint16_t type)
{
	const struct agent_file file = {.path = "f", .link = "", .size = told_size};
	AUTO(buf_done) struct buf out = BUF(64 << 20);
	struct span rest = content;
	struct error ignored = {0};

	if (type != AGENT_READ)
		return false;
	for (unsigned i = 0; i < files_told; i++)
		assert_int_equal(wire_encode(&out, AGENT_FILE, agent_file_shape, &file, &ignored),
		                 0);
	while (rest.size > 0) {
		size_t size = rest.size < AGENT_DATA_MAX ? rest.size : AGENT_DATA_MAX;

		wire_add_frame(&out, AGENT_DATA, (struct span){rest.data, size});
		rest = (struct span){rest.data + size, rest.size - size};
	}
	assert_int_equal(
	        wire_encode(&out, AGENT_DONE, agent_done_shape, &(struct agent_done){0}, &ignored),
	        0);
	(void)!wire_send(fd, buf_span(&out), deadline_after(10000), &ignored);
	return true;
}

/* ---- the fixture ---- */

static int set_up(void **state)
{
	(void)state;
	harness_open(&harness);
	log_open("test", LOG_ERROR);
	err = (struct error){0};
	if (fleet_create(
	            harness.fleet, &arena,
	            &(struct fleet_create){.project_id = "default", .internet = -1, .wait = true},
	            &box, &err) < 0 ||
	    fleet_hold(harness.fleet, &arena, &(struct fleet_ref){"default", box.id}, &box, &hold,
	               &err) < 0)
		fail_msg("%s", err.text);
	files_told = 1;
	fake_agent_hook = on_request;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fleet_unhold(&hold);
	harness_close(&harness);
	fake_agent_hook = NULL;
	arena_done(&arena);
	return 0;
}

static enum error_code read_bytes(struct span bytes, const char *input)
{
	const struct tool_call call = {.fleet = harness.fleet,
	                               .store = harness.store,
	                               .config = &harness.config,
	                               .arena = &arena,
	                               .project_id = "default",
	                               .key_id = "key",
	                               .sandbox = &box,
	                               .hold = &hold,
	                               .root = "/work",
	                               .user = "user",
	                               .deadline = deadline_after(20000)};

	content = bytes;
	told_size = bytes.size;
	err = (struct error){0};
	return tool_run(tool_find("read"), &call, span_of(input), &result, &err) < 0 ? err.code
	                                                                             : ERROR_NONE;
}

static const char *text_of(struct span bytes, const char *input)
{
	if (read_bytes(bytes, input) != ERROR_NONE)
		fail_msg("%s", err.text);
	assert_int_equal(result.content[0].kind, TOOL_TEXT);
	return arena_copy(&arena, result.content[0].bytes);
}

#define WHOLE "{\"path\":\"f\"}"

TEST(lines_are_numbered_whatever_they_end_in)
{
	assert_string_equal(text_of(SPAN(""), WHOLE), "[the file is empty]\n");
	assert_string_equal(text_of(SPAN("no end"), WHOLE), "     1\tno end\n");
	assert_string_equal(text_of(SPAN("\n\nx\n"), WHOLE), "     1\t\n     2\t\n     3\tx\n");
	assert_string_equal(text_of(SPAN("a\r\nb\r\n"), WHOLE), "     1\ta\r\n     2\tb\r\n");
}

TEST(a_long_line_is_cut_and_a_long_file_comes_in_pages)
{
	AUTO(buf_done) struct buf bytes = BUF(8 << 20);
	const char *text;

	for (int i = 0; i < 5000; i++)
		buf_add_byte(&bytes, 'x');
	buf_add_text(&bytes, "\nend\n");
	text = text_of(buf_span(&bytes), WHOLE);
	assert_in_range(strlen(text), 2000, 2200);
	assert_non_null(strstr(text, "     2\tend\n"));
	buf_reset(&bytes);
	for (int i = 0; i < 300000; i++)
		buf_add_text(&bytes, "line\n");
	assert_non_null(strstr(text_of(buf_span(&bytes), WHOLE), "[more: offset=2001]\n"));
	text = text_of(buf_span(&bytes), "{\"path\":\"f\",\"offset\":299999}");
	assert_string_equal(text, "299999\tline\n300000\tline\n");
	/* A page has a size, too. */
	text = text_of(buf_span(&bytes), "{\"path\":\"f\",\"limit\":100000}");
	assert_in_range(strlen(text), 200000, 300000);
	assert_non_null(strstr(text, "[more: offset="));
}

TEST(images_are_returned_as_such_and_other_bytes_are_refused)
{
	assert_int_equal(read_bytes(SPAN(PNG "\0\0some data"), WHOLE), ERROR_NONE);
	assert_int_equal(result.content[0].kind, TOOL_IMAGE);
	assert_string_equal(result.content[0].media_type, "image/png");
	assert_int_equal(result.content[0].bytes.size, 19);
	assert_int_equal(read_bytes(SPAN("%PDF-1.7\nsome data"), WHOLE), ERROR_NONE);
	assert_int_equal(result.content[0].kind, TOOL_RESOURCE);
	assert_string_equal(result.content[0].uri, "workspace:///f");
	assert_int_equal(read_bytes(SPAN("ELF\0binary"), WHOLE), ERROR_INVALID);
	assert_non_null(strstr(err.text, "binary file"));
}

TEST(an_image_has_a_largest_size)
{
	static char image[(8 << 20) + 100] = PNG;

	assert_int_equal(read_bytes((struct span){image, sizeof(image)}, WHOLE), ERROR_TOO_LARGE);
	assert_int_equal(result.count, 0);
}

TEST(an_agent_names_a_file_once_and_first)
{
	files_told = 0;
	assert_int_not_equal(read_bytes(SPAN("a\n"), WHOLE), ERROR_NONE);
	files_told = 2;
	assert_int_equal(read_bytes(SPAN("a\n"), WHOLE), ERROR_SYSTEM);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(lines_are_numbered_whatever_they_end_in),
	           STEP(a_long_line_is_cut_and_a_long_file_comes_in_pages),
	           STEP(images_are_returned_as_such_and_other_bytes_are_refused),
	           STEP(an_image_has_a_largest_size), STEP(an_agent_names_a_file_once_and_first));
}
