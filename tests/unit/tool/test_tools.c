/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "json/json.h"
#include "tool/tool.h"

#include "unit.h"

TEST(every_tool_is_whole_and_found_by_its_name)
{
	for (const struct tool *const *at = tools; *at; at++) {
		const struct tool *tool = *at;

		assert_ptr_equal(tool_find(tool->name), tool);
		assert_int_equal(strspn(tool->name, "abcdefghijklmnopqrstuvwxyz_"),
		                 strlen(tool->name));
		assert_true(tool->title && tool->description && tool->input && tool->call);
		assert_in_range(tool->class, TOOL_READS, TOOL_RUNS);
		/* What only reads destroys nothing. */
		assert_false(tool->class == TOOL_READS && tool->flags & TOOL_DESTRUCTIVE);
	}
	assert_null(tool_find("no_such_tool"));
	assert_null(tool_find(""));
}

TEST(a_tool_is_described_by_schemas_that_stand_by_themselves)
{
	for (const struct tool *const *at = tools; *at; at++) {
		AUTO(arena_done) struct arena a = {.blocks = NULL};
		AUTO(buf_done) struct buf out = BUF(64 * 1024);
		const struct json_value *value;
		struct error err;

		tool_write(&out, *at);
		assert_int_equal(json_load(&a, buf_span(&out), &value, &err), 0);
		assert_string_equal(json_text(json_get(value, "name"), ""), (*at)->name);
		assert_string_equal(json_text(json_get(json_get(value, "inputSchema"), "type"), ""),
		                    "object");
		assert_null(strstr(buf_text(&out), "$ref"));
	}
}

TEST(text_for_json_has_neither_nul_nor_bad_sequences)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};

	assert_string_equal(tool_text(&a, SPAN("")), "");
	assert_string_equal(tool_text(&a, SPAN("h\xC3\xBC")), "h\xC3\xBC");
	assert_string_equal(tool_text(&a, SPAN("a\0b")), "a\xEF\xBF\xBD"
	                                                 "b");
	assert_string_equal(tool_text(&a, SPAN("\xFFz\xC3")), "\xEF\xBF\xBDz\xEF\xBF\xBD");
}

TEST(a_result_is_written_in_the_words_of_mcp)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct tool_result result = {.count = 0};

	tool_add_text(&result, SPAN("a\"b"));
	result.content[result.count++] = (struct tool_content){
	        .kind = TOOL_IMAGE, .bytes = SPAN("\x01\x02"), .media_type = "image/png"};
	result.content[result.count++] = (struct tool_content){.kind = TOOL_RESOURCE,
	                                                       .bytes = SPAN("x"),
	                                                       .media_type = "application/pdf",
	                                                       .uri = "workspace:///a.pdf"};
	tool_write_result(&out, tools[0], &result);
	assert_string_equal(buf_text(&out),
	                    "\"content\":[{\"type\":\"text\",\"text\":\"a\\\"b\"},"
	                    "{\"type\":\"image\",\"data\":\"AQI=\",\"mimeType\":\"image/png\"},"
	                    "{\"type\":\"resource\",\"resource\":{\"uri\":\"workspace:///a.pdf\","
	                    "\"mimeType\":\"application/pdf\",\"blob\":\"eA==\"}}]");
}

TEST(what_the_shape_refuses_does_not_reach_the_tool)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct tool_call call = {.arena = &a}; /* with a NULL hold: calling it would crash */
	struct tool_result result;
	struct error err;

	assert_int_equal(tool_run(tool_find("bash"), &call, SPAN("{}"), &result, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "bash: command"));
	assert_int_equal(
	        tool_run(tool_find("read"), &call, SPAN("{\"path\":\"a\",\"b\":1}"), &result, &err),
	        -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(a_command_is_kept_in_the_workspace_where_there_is_one)
{
	struct tool_call call = {.root = "/workspace", .keeps_to_workspace = true};
	struct error err;

	assert_int_equal(tool_check_command(&call, "cat /etc/passwd", &err), -1);
	assert_int_equal(err.code, ERROR_FORBIDDEN);
	assert_int_equal(tool_check_command(&call, "cat /workspace/a b/c", &err), 0);
	/* All paths are below it. */
	call.root = "/";
	assert_int_equal(tool_check_command(&call, "cat /etc/passwd", &err), 0);
	call = (struct tool_call){.root = "/workspace"};
	assert_int_equal(tool_check_command(&call, "cat /etc/passwd", &err), 0);
}

int main(void)
{
	return RUN(CASE(every_tool_is_whole_and_found_by_its_name),
	           CASE(a_tool_is_described_by_schemas_that_stand_by_themselves),
	           CASE(text_for_json_has_neither_nul_nor_bad_sequences),
	           CASE(a_result_is_written_in_the_words_of_mcp),
	           CASE(what_the_shape_refuses_does_not_reach_the_tool),
	           CASE(a_command_is_kept_in_the_workspace_where_there_is_one));
}
