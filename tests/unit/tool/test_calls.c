/* SPDX-License-Identifier: Apache-2.0 */
/* Each tool as it is called: what it answers a model, what it refuses, and what agents break. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "json/json.h"
#include "store/sandbox_record.h"
#include "store/skills.h"
#include "terminal/terminal.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "unit.h"
#include "unit/api/harness.h"
#include "fleet/core/caller.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"

static struct harness harness;
static struct sandbox_record box;
static struct fleet_hold hold;
static struct arena arena;
static const struct fleet_caller caller;
static struct tool_call call;
static struct tool_result result;
static struct terminals *terminals;
static struct error err;

static int set_up(void **state)
{
	(void)state;
	harness_open(&harness);
	log_open("test", LOG_ERROR);
	harness.config.listen = "127.0.0.1:8080";
	harness.config.tls_listen = "";
	terminals = terminals_new(&(struct terminals_options){.waits_max = 4});
	err = (struct error){0};
	if (fleet_create(
	            harness.fleet, &arena,
	            &(struct fleet_create){.project_id = "default", .internet = -1, .wait = true},
	            &box, &err) < 0 ||
	    fleet_hold(harness.fleet, &arena, &(struct fleet_ref){"default", box.id}, &box, &hold,
	               &err) < 0)
		fail_msg("%s", err.text);
	call = (struct tool_call){
	        .fleet = harness.fleet,
	        .store = harness.store,
	        .config = &harness.config,
	        .terminals = terminals,
	        .arena = &arena,
	        .project_id = "default",
	        .caller = &caller,
	        .key_id = "key",
	        .sandbox = &box,
	        .hold = &hold,
	        .root = "/work",
	        .user = "user",
	        .timeout_ms = 10000,
	        .timeout_max_ms = 20000,
	        .output_limit_bytes = 65536,
	        .deadline = deadline_after(20000),
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fleet_unhold(&hold);
	terminals_free(terminals);
	harness_close(&harness);
	arena_done(&arena);
	return 0;
}

static enum error_code run(const char *tool, const char *input)
{
	err = (struct error){0};
	return tool_run(tool_find(tool), &call, span_of(input), &result, &err) < 0 ? err.code
	                                                                           : ERROR_NONE;
}

/* The text that a model gets. */
static const char *text_of(const char *tool, const char *input)
{
	if (run(tool, input) != ERROR_NONE)
		fail_msg("%s: %s", tool, err.text);
	assert_true(result.count > 0);
	assert_int_equal(result.content[0].kind, TOOL_TEXT);
	return arena_copy(&arena, result.content[0].bytes);
}

/* A member of what a program gets, for the last call of the tool. */
static const struct json_value *structured(const char *tool, const char *member)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	const struct json_value *value;

	buf_add_byte(&out, '{');
	tool_write_result(&out, tool_find(tool), &result);
	buf_add_byte(&out, '}');
	assert_int_equal(json_load(&arena, buf_span(&out), &value, &err), 0);
	return json_get(json_get(value, "structuredContent"), member);
}

static void assert_refused(const char *tool, const char *input, enum error_code code)
{
	if (run(tool, input) != code)
		fail_msg("%s %s: code %d, not %d: %s", tool, input, err.code, code, err.text);
}

/* Paths that lead out of the workspace; '@' in the input stands for one. */
static void assert_stays_inside(const char *tool, const char *input)
{
	static const char *const ways_out[] = {"/etc/passwd", "../x", "a/../../x", ".."};
	const char *at = strchr(input, '@');

	for (size_t i = 0; i < COUNT_OF(ways_out); i++)
		assert_refused(tool,
		               arena_format(&arena, "%.*s%s%s", (int)(at - input), input,
		                            ways_out[i], at + 1),
		               ERROR_INVALID);
}

/* ---- bash ---- */

static unsigned progress_calls;

static void count_progress(void *context, struct span text)
{
	(void)context;
	progress_calls += text.size > 0;
}

TEST(bash_returns_output_and_exit_code)
{
	progress_calls = 0;
	call.on_progress = count_progress;
	assert_string_equal(text_of("bash", "{\"command\":\"hello\"}"), "hello\n");
	assert_int_equal(progress_calls, 1);
	assert_int_equal(json_whole(structured("bash", "exit_code"), -1), 0);
	assert_string_equal(json_text(structured("bash", "stdout"), ""), "hello");
	assert_string_equal(text_of("bash", "{\"command\":\"exit 3\"}"), "exit 3\n[exit code 3]\n");
	assert_int_equal(json_whole(structured("bash", "exit_code"), -1), 3);
	assert_false(json_bool(structured("bash", "truncated"), true));
}

TEST(bash_cuts_the_middle_of_long_output)
{
	AUTO(buf_done) struct buf input = BUF(1 << 20);
	const char *text;

	buf_add_text(&input, "{\"command\":\"begin ");
	for (int i = 0; i < 10000; i++)
		buf_add_byte(&input, 'x');
	buf_add_text(&input, " end\"}");
	call.output_limit_bytes = 1000;
	text = text_of("bash", buf_text(&input));
	assert_in_range(strlen(text), 500, 1400);
	assert_int_equal(strncmp(text, "begin", 5), 0);
	assert_non_null(strstr(text, " end\n"));
	assert_true(json_bool(structured("bash", "truncated"), false));
}

TEST(bash_refuses_what_is_beyond_its_limits)
{
	static const char *const python[] = {"python", NULL};

	assert_refused("bash", "{\"command\":\"\"}", ERROR_INVALID);
	assert_refused("bash", "{\"command\":\"a\",\"timeout_ms\":20001}", ERROR_INVALID);
	assert_stays_inside("bash", "{\"command\":\"a\",\"artifacts\":\"@\"}");
	assert_refused("bash", "{\"command\":\"a\",\"background\":true}", ERROR_UNAVAILABLE);
	call.runtimes = python;
	assert_refused("bash", "{\"command\":\"node a.js\"}", ERROR_FORBIDDEN);
	assert_string_equal(text_of("bash", "{\"command\":\"python3 a.py\"}"), "python3 a.py\n");
}

TEST(an_agent_that_goes_away_fails_the_call)
{
	assert_int_not_equal(run("bash", "{\"command\":\"die\"}"), ERROR_NONE);
	assert_int_equal(result.count, 0);
}

/* ---- read ---- */

TEST(read_answers_lines_with_their_numbers)
{
	assert_string_equal(text_of("read", "{\"path\":\"a.txt\"}"),
	                    "     1\tone\n     2\ttwo\n     3\tthree\n");
	assert_int_equal(json_whole(structured("read", "total_lines"), -1), 3);
	assert_int_equal(json_whole(structured("read", "size"), -1), 14);
	assert_string_equal(json_text(structured("read", "media_type"), ""), "text/plain");
	assert_string_equal(text_of("read", "{\"path\":\"a.txt\",\"offset\":2,\"limit\":1}"),
	                    "     2\ttwo\n[more: offset=3]\n");
	assert_int_equal(json_whole(structured("read", "next_offset"), -1), 3);
	assert_string_equal(text_of("read", "{\"path\":\"a.txt\",\"offset\":3}"),
	                    "     3\tthree\n");
	assert_refused("read", "{\"path\":\"a.txt\",\"offset\":4}", ERROR_INVALID);
}

TEST(read_reads_files_whose_size_is_not_known)
{
	assert_string_equal(text_of("read", "{\"path\":\"kernel\",\"limit\":1}"),
	                    "     1\tone\n[more: offset=2]\n");
}

TEST(read_fails_for_what_cannot_be_read)
{
	assert_refused("read", "{\"path\":\"missing\"}", ERROR_NOT_FOUND);
	assert_refused("read", "{}", ERROR_INVALID);
	assert_int_not_equal(run("read", "{\"path\":\"wild\"}"), ERROR_NONE);
	assert_stays_inside("read", "{\"path\":\"@\"}");
	assert_non_null(strstr(err.hint, "relative to the workspace"));
}

/* ---- write and edit ---- */

TEST(write_takes_text_or_bytes)
{
	assert_string_equal(text_of("write", "{\"path\":\"a.txt\",\"content\":\"hello\"}"),
	                    "wrote a.txt, 5 bytes");
	assert_int_equal(json_whole(structured("write", "size"), -1), 5);
	assert_string_equal(text_of("write", "{\"path\":\"a\",\"content_base64\":\"AP8=\"}"),
	                    "wrote a, 2 bytes");
	assert_string_equal(text_of("write", "{\"path\":\"a\",\"content\":\"\"}"),
	                    "wrote a, 0 bytes");
}

TEST(write_sends_a_large_file_in_pieces)
{
	AUTO(buf_done) struct buf input = BUF(1 << 20);

	buf_add_text(&input, "{\"path\":\"big\",\"content\":\"");
	for (int i = 0; i < 300000; i++)
		buf_add_byte(&input, 'x');
	buf_add_text(&input, "\"}");
	assert_string_equal(text_of("write", buf_text(&input)), "wrote big, 300000 bytes");
}

TEST(write_refuses_bad_input_and_full_disks)
{
	assert_refused("write", "{\"path\":\"a\"}", ERROR_INVALID);
	assert_refused("write", "{\"path\":\"a\",\"content\":\"a\",\"content_base64\":\"AA==\"}",
	               ERROR_INVALID);
	assert_refused("write", "{\"path\":\"a\",\"content_base64\":\"?\"}", ERROR_INVALID);
	assert_refused("write", "{\"path\":\"full\",\"content\":\"a\"}", ERROR_LIMIT);
	assert_stays_inside("write", "{\"path\":\"@\",\"content\":\"a\"}");
}

TEST(edit_replaces_a_text_that_is_there_once)
{
	assert_string_equal(
	        text_of("edit", "{\"path\":\"a\",\"old_string\":\"two\",\"new_string\":\"2\"}"),
	        "edited a: 1 replacement, at line 2");
	assert_string_equal(text_of("edit", "{\"path\":\"a\",\"old_string\":\"t\",\"new_string\":"
	                                    "\"T\",\"replace_all\":true}"),
	                    "edited a: 2 replacements, the first at line 2");
	assert_refused("edit", "{\"path\":\"a\",\"old_string\":\"t\",\"new_string\":\"T\"}",
	               ERROR_CONFLICT);
	assert_refused("edit", "{\"path\":\"a\",\"old_string\":\"four\",\"new_string\":\"4\"}",
	               ERROR_CONFLICT);
	assert_refused("edit", "{\"path\":\"missing\",\"old_string\":\"a\",\"new_string\":\"b\"}",
	               ERROR_NOT_FOUND);
	assert_stays_inside("edit", "{\"path\":\"@\",\"old_string\":\"a\",\"new_string\":\"b\"}");
}

/* ---- lists and searches ---- */

TEST(glob_lists_paths_of_the_workspace)
{
	assert_string_equal(text_of("glob", "{\"pattern\":\"**\"}"), "a.txt\nb/c.txt\n");
	assert_int_equal(json_whole(structured("glob", "total"), -1), 2);
	assert_string_equal(text_of("glob", "{\"pattern\":\"*\",\"path\":\"src\"}"),
	                    "src/a.txt\nsrc/b/c.txt\n");
	assert_string_equal(text_of("glob", "{\"pattern\":\"*\",\"limit\":1}"),
	                    "a.txt\n[1 more]\n");
	assert_true(json_bool(structured("glob", "truncated"), false));
	assert_stays_inside("glob", "{\"pattern\":\"*\",\"path\":\"@\"}");
}

TEST(list_files_lists_a_folder)
{
	assert_string_equal(text_of("list_files", "{}"), "a.txt\nb/c.txt\n");
	assert_string_equal(text_of("list_files", "{\"path\":\"src\",\"depth\":3}"),
	                    "src/a.txt\nsrc/b/c.txt\n");
	assert_refused("list_files", "{\"depth\":17}", ERROR_INVALID);
	assert_stays_inside("list_files", "{\"path\":\"@\"}");
}

TEST(grep_lists_files_lines_or_counts)
{
	assert_string_equal(text_of("grep", "{\"pattern\":\"os\",\"output_mode\":\"content\"}"),
	                    "a.py:3:import os\n");
	assert_int_equal(
	        json_whole(json_get(json_item_at(structured("grep", "matches"), 0), "line"), -1),
	        3);
	assert_stays_inside("grep", "{\"pattern\":\"a\",\"path\":\"@\"}");
	assert_refused("grep", "{\"pattern\":\"\"}", ERROR_INVALID);
	assert_refused("grep", "{\"pattern\":\"(?=x)\"}", ERROR_UNSUPPORTED);
	assert_refused("grep", "{\"pattern\":\"a\",\"output_mode\":\"poem\"}", ERROR_INVALID);
}

/* ---- code, terminals and jobs ---- */

TEST(run_code_refuses_bad_input)
{
	static const char *const bash[] = {"bash", NULL};

	assert_refused("run_code", "{}", ERROR_INVALID);
	assert_refused("run_code", "{\"code\":\"1\",\"language\":\"cobol\"}", ERROR_UNSUPPORTED);
	assert_refused("run_code", "{\"code\":\"1\",\"timeout_ms\":20001}", ERROR_INVALID);
	assert_stays_inside("run_code", "{\"code\":\"1\",\"artifacts\":\"@\"}");
	call.runtimes = bash;
	assert_refused("run_code", "{\"code\":\"1\"}", ERROR_FORBIDDEN);
	assert_refused("run_code", "{\"code\":\"node x\",\"language\":\"bash\"}", ERROR_FORBIDDEN);
}

TEST(terminal_tools_refuse_bad_input)
{
	assert_refused("terminal_operator", "{}", ERROR_NOT_FOUND);
	assert_refused("terminal_operator", "{\"window\":\"a/b\"}", ERROR_INVALID);
	assert_refused("terminal_operator", "{\"wait_ms\":20001}", ERROR_INVALID);
	assert_refused("execute_command", "{\"command\":\"a\",\"wait_ms\":20001}", ERROR_INVALID);
	assert_refused("execute_command", "{\"command\":\"\"}", ERROR_INVALID);
	assert_refused("execute_command", "{}", ERROR_NOT_FOUND);
	assert_stays_inside("execute_command", "{\"command\":\"a\",\"artifacts\":\"@\"}");
}

TEST(without_jobs_there_is_no_status)
{
	assert_refused("async_status", "{\"resultId\":\"x\"}", ERROR_UNAVAILABLE);
	assert_refused("async_status", "{}", ERROR_INVALID);
	assert_refused("async_status", "{\"resultId\":\"x\",\"action\":\"dance\"}", ERROR_INVALID);
}

TEST(a_wait_is_as_long_as_the_sandbox_allows)
{
	int64_t wait_ms = 0;

	assert_int_equal(tool_wait_ms(&call, 0, 30000, &wait_ms, &err), 0);
	assert_int_equal(wait_ms, 20000);
	assert_int_equal(tool_wait_ms(&call, 0, 500, &wait_ms, &err), 0);
	assert_int_equal(wait_ms, 500);
	assert_int_equal(tool_wait_ms(&call, 20000, 500, &wait_ms, &err), 0);
	assert_int_equal(wait_ms, 20000);
	assert_int_equal(tool_wait_ms(&call, 20001, 500, &wait_ms, &err), -1);
}

/* ---- skills ---- */

TEST(load_skill_copies_its_files_and_answers_its_main_file)
{
	const struct skill_record skill = {
	        .id = "s",
	        .project_id = "default",
	        .name = "pdf",
	        .description = "",
	        .files_json = "{\"files\":[{\"path\":\"run.py\",\"content\":\"\"},"
	                      "{\"path\":\"SKILL.md\",\"content\":\"UmVhZCBtZQ==\"}]}",
	        .file_count = 2,
	        .updated_at = 1,
	};

	assert_refused("load_skill", "{\"name\":\"pdf\"}", ERROR_NOT_FOUND);
	assert_int_equal(store_skill_put(harness.store, &skill, &err), 0);
	assert_string_equal(text_of("load_skill", "{\"name\":\"pdf\"}"),
	                    "2 files are in .claude/skills/pdf. SKILL.md:");
	assert_int_equal(result.count, 2);
	assert_string_equal(arena_copy(&arena, result.content[1].bytes), "Read me");
	call.project_id = "other";
	assert_refused("load_skill", "{\"name\":\"pdf\"}", ERROR_NOT_FOUND);
}

/* ---- sandboxes ---- */

TEST(sandboxes_are_created_listed_and_deleted)
{
	const char *text = text_of("create_sandbox", "{\"name\":\"second\",\"internet\":false}");

	assert_non_null(strstr(text, "(second)"));
	assert_string_equal(json_text(structured("create_sandbox", "state"), ""), "started");
	assert_refused("create_sandbox", "{\"name\":\"second\"}", ERROR_CONFLICT);
	text = text_of("list_sandboxes", "{}");
	assert_non_null(strstr(text, "second\n"));
	assert_non_null(strstr(text, box.id));
	assert_string_equal(text_of("delete_sandbox", "{\"sandbox\":\"second\"}"),
	                    "deleted second");
	assert_null(strstr(text_of("list_sandboxes", "{}"), "second\n"));
	assert_refused("delete_sandbox", "{\"sandbox\":\"second\"}", ERROR_NOT_FOUND);
	call.project_id = "other";
	assert_string_equal(text_of("list_sandboxes", "{}"), "[no sandboxes]\n");
	assert_refused("delete_sandbox", arena_format(&arena, "{\"sandbox\":\"%s\"}", box.id),
	               ERROR_NOT_FOUND);
}

TEST(a_provider_without_snapshots_takes_none)
{
	assert_refused("snapshot", "{}", ERROR_UNSUPPORTED);
	assert_refused("rollback", "{\"snapshot\":\"x\"}", ERROR_NOT_FOUND);
}

/* ---- links ---- */

TEST(a_link_is_to_an_address_that_a_browser_reaches)
{
	static const struct {
		const char *address, *listen, *tls, *expected;
	} rows[] = {
	        {"https://client:1", "0.0.0.0:8080", "", "https://client:1"},
	        {NULL, "10.0.0.1:8080", "", "http://10.0.0.1:8080"},
	        {NULL, "0.0.0.0:8080", "", "http://127.0.0.1:8080"},
	        {NULL, "[::]:8080", "", "http://[::1]:8080"},
	        {NULL, "unix:/run/a.sock", "0.0.0.0:443", "https://127.0.0.1:443"},
	        {NULL, "unix:/run/a.sock", "", "http://localhost"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		call.address = rows[i].address;
		harness.config.listen = rows[i].listen;
		harness.config.tls_listen = rows[i].tls;
		assert_string_equal(tool_server_address(&call), rows[i].expected);
	}
}

TEST(preview_url_links_to_a_port_with_previews)
{
	const char *text = text_of("preview_url", "{\"port\":3000}");

	assert_int_equal(strncmp(text, "http://127.0.0.1:8080/api/sandbox/preview/", 42), 0);
	assert_true(json_whole(structured("preview_url", "port"), -1) == 3000);
	harness.config.preview_origin = "https://previews.test";
	text = text_of("preview_url", "{\"port\":3000}");
	assert_int_equal(strncmp(text, "https://previews.test/api/", 26), 0);
	harness.config.preview_domain = "box.test";
	text = text_of("preview_url", "{\"port\":3000}");
	assert_int_equal(strncmp(text, "http://3000-", 12), 0);
	assert_non_null(strstr(text, ".box.test/?atoll_preview="));
	assert_int_not_equal(run("preview_url", "{\"port\":22}"), ERROR_NONE);
	assert_refused("preview_url", "{\"port\":65536}", ERROR_INVALID);
	assert_refused("preview_url", "{\"port\":0}", ERROR_INVALID);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(bash_returns_output_and_exit_code),
	           STEP(bash_cuts_the_middle_of_long_output),
	           STEP(bash_refuses_what_is_beyond_its_limits),
	           STEP(an_agent_that_goes_away_fails_the_call),
	           STEP(read_answers_lines_with_their_numbers),
	           STEP(read_reads_files_whose_size_is_not_known),
	           STEP(read_fails_for_what_cannot_be_read), STEP(write_takes_text_or_bytes),
	           STEP(write_sends_a_large_file_in_pieces),
	           STEP(write_refuses_bad_input_and_full_disks),
	           STEP(edit_replaces_a_text_that_is_there_once),
	           STEP(glob_lists_paths_of_the_workspace), STEP(list_files_lists_a_folder),
	           STEP(grep_lists_files_lines_or_counts), STEP(run_code_refuses_bad_input),
	           STEP(terminal_tools_refuse_bad_input), STEP(without_jobs_there_is_no_status),
	           STEP(a_wait_is_as_long_as_the_sandbox_allows),
	           STEP(load_skill_copies_its_files_and_answers_its_main_file),
	           STEP(sandboxes_are_created_listed_and_deleted),
	           STEP(a_provider_without_snapshots_takes_none),
	           STEP(a_link_is_to_an_address_that_a_browser_reaches),
	           STEP(preview_url_links_to_a_port_with_previews));
}
