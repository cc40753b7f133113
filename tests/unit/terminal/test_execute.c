/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in a window whose shell marks their begin and their end, and recordings of windows. */
#include "terminal/terminal.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "blob/blob.h"
#include "terminal/prompt.h"
#include "terminal/recording.h"
#include "unit.h"
#include "window_agent.h"

#define PROMPT "\033]133;B\a$ "

static struct window_fixture f;

/* ---- the shell ---- */

static char nonce[PROMPT_NONCE_SIZE + 1]; /* of the last command */

static void print_mark(struct window_agent *agent, struct agent_window *w, const char *kind,
                       const char *rest)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "\033]133;%s;%s%s\a", kind, nonce, rest);
	agent_window_add(agent, w, span_of(text));
}

/* "true", "false", "sleep", "exit", "open" and "flood" are what they are called. */
static void run_shell(struct window_agent *agent, struct agent_window *w, struct span bytes)
{
	static const char key[] = "\033[29;133~";
	const char *line = bytes.data + strlen(key) + PROMPT_NONCE_SIZE;

	if (bytes.size < strlen(key) + PROMPT_NONCE_SIZE) {
		agent_window_add(agent, w, SPAN(PROMPT)); /* it starts, or was interrupted */
		return;
	}
	memcpy(nonce, bytes.data + strlen(key), PROMPT_NONCE_SIZE);
	if (strncmp(line, "open", 4) == 0) {
		print_mark(agent, w, "P", "");
		return;
	}
	print_mark(agent, w, "C", ";1700000000.500000");
	if (strncmp(line, "exit", 4) == 0) {
		agent_window_end(agent, w, 5);
		return;
	}
	agent_window_add(agent, w, SPAN("\033[1mout\033[0mput\r\n"));
	for (int i = 0; strncmp(line, "flood", 5) == 0 && i < 100000; i++)
		agent_window_add(agent, w, SPAN("flood\r\n"));
	if (strncmp(line, "sleep", 5) == 0) {
		w->state.is_busy = 1;
		return;
	}
	print_mark(agent, w, strncmp(line, "false", 5) == 0 ? "D;1" : "D;0", "");
	agent_window_add(agent, w, SPAN(PROMPT));
}

/* ---- the fixture ---- */

static char spool[64], blob_folder[64];
static struct blob_store *blobs;

static int set_up(void **state)
{
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	unit_folder(spool, sizeof(spool), "spool");
	unit_folder(blob_folder, sizeof(blob_folder), "blobs");
	assert_int_equal(blob_open(blob_folder, &blobs, &err), 0);
	window_fixture_open(
	        &f, &(struct terminals_options){.waits_max = 2, .blobs = blobs, .spool = spool});
	f.agent.on_typed = run_shell;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const folders[] = {"/recordings/project", "/recordings", ""};
	char path[128];

	(void)state;
	terminals_stop(f.terminals);
	window_fixture_close(&f);
	blob_close(blobs);
	for (unsigned i = 0; i < COUNT_OF(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", blob_folder, folders[i]);
		(void)rmdir(path);
	}
	unit_remove_folder(spool);
	return 0;
}

static int execute(struct terminal_execute what, struct terminal_result *ret, struct error *err)
{
	const struct terminal_at call = window_fixture_at(&f, "main");

	*err = (struct error){0};
	what.open.cwd = what.open.user = "";
	return terminal_execute(&call, &f.arena, &what, ret, err);
}

static struct terminal_result run(struct terminal_execute what)
{
	struct terminal_result result;
	struct error err;

	if (execute(what, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

static enum error_code refused(struct terminal_execute what)
{
	struct terminal_result result;
	struct error err;

	return execute(what, &result, &err) < 0 ? err.code : ERROR_NONE;
}

static void assert_output(const struct terminal_result *r, const char *expected)
{
	assert_int_equal(r->output.size, strlen(expected));
	assert_memory_equal(r->output.data, expected, r->output.size);
}

/* ---- commands ---- */

TEST(a_command_has_its_output_as_text_and_its_exit_code)
{
	struct terminal_result r = run((struct terminal_execute){.command = "true"});

	assert_output(&r, "output\n");
	assert_int_equal(r.exit_code, 0);
	assert_int_equal(r.process, 1);
	assert_int_equal(r.began, 1700000000500);
	assert_false(r.running || r.cancelled || r.closed);
	assert_int_equal(r.dropped, 0);
	r = run((struct terminal_execute){.command = "false"});
	assert_int_equal(r.exit_code, 1);
	assert_output(&r, "output\n");
	assert_int_equal(f.agent.count, 1);
}

/* Progress: the command that is waited for ends. */
static void end_command(void *context, struct span text)
{
	(void)context;
	assert_memory_equal(text.data, "output\n", 7);
	if (text.size > 7)
		return;
	(void)pthread_mutex_lock(&f.agent.mutex);
	agent_window_add(&f.agent, &f.agent.windows[0], SPAN("more\r\n"));
	print_mark(&f.agent, &f.agent.windows[0], "D;7", "");
	(void)pthread_mutex_unlock(&f.agent.mutex);
}

TEST(a_command_that_takes_longer_runs_on_and_can_be_waited_for)
{
	struct terminal_at call = window_fixture_at(&f, "main");
	struct error err = {0};
	struct terminal_result r = run((struct terminal_execute){.command = "sleep", .wait_ms = 1});

	assert_true(r.running);
	assert_true(run((struct terminal_execute){.wait_ms = 1}).running);
	call.on_progress = end_command;
	assert_int_equal(terminal_execute(&call, &f.arena, &(struct terminal_execute){0}, &r, &err),
	                 0);
	assert_false(r.running);
	assert_int_equal(r.exit_code, 7);
	assert_output(&r, "output\nmore\n");
	assert_int_equal(refused((struct terminal_execute){.wait_ms = 1}), ERROR_CONFLICT);
}

TEST(the_next_command_cancels_what_runs_unless_it_is_to_be_kept)
{
	struct terminal_result r;

	(void)run((struct terminal_execute){.command = "sleep", .wait_ms = 1});
	assert_int_equal(refused((struct terminal_execute){.command = "true", .keep = true}),
	                 ERROR_CONFLICT);
	assert_int_equal(f.agent.signal, 0);
	r = run((struct terminal_execute){.command = "true"});
	assert_true(r.cancelled);
	assert_int_equal(f.agent.signal, SIGINT);
	assert_output(&r, "output\n");
}

TEST(a_command_that_ends_the_shell_closes_the_window)
{
	struct terminal_result r = run((struct terminal_execute){.command = "exit"});

	assert_true(r.closed);
	assert_int_equal(r.exit_code, 5);
	assert_false(run((struct terminal_execute){.command = "true"}).closed);
	assert_int_equal(f.agent.count, 2);
}

TEST(a_line_that_is_not_complete_is_refused_and_taken_back)
{
	assert_int_equal(refused((struct terminal_execute){.command = "open 'quote"}),
	                 ERROR_INVALID);
	assert_non_null(strchr(buf_text(&f.agent.typed), '\x03'));
	assert_int_equal(run((struct terminal_execute){.command = "true"}).exit_code, 0);
}

TEST(of_much_output_the_last_lines_are_kept)
{
	struct terminal_result r =
	        run((struct terminal_execute){.command = "flood", .output_max = 100});

	assert_in_range(r.output.size, 90, 100);
	assert_memory_equal(r.output.data, "flood\n", 6);
	assert_true(r.dropped > 500000);
	assert_int_equal(r.end - r.since, 8 + 7 + 100000 * 7 + 1);
}

TEST(commands_and_waits_have_bounds)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);

	for (size_t i = 0; i <= TERMINAL_COMMAND_MAX; i++)
		buf_add_byte(&text, 'x');
	assert_int_equal(refused((struct terminal_execute){.command = buf_text(&text)}),
	                 ERROR_TOO_LARGE);
	assert_int_equal(refused((struct terminal_execute){.command = " "}), ERROR_INVALID);
	assert_int_equal(refused((struct terminal_execute){.command = "a\rb"}), ERROR_INVALID);
	assert_int_equal(refused((struct terminal_execute){.command = "true", .wait_ms = -1}),
	                 ERROR_INVALID);
	assert_int_equal(refused((struct terminal_execute){.command = "true",
	                                                   .output_max = TERMINAL_OUTPUT_MAX + 1}),
	                 ERROR_INVALID);
	assert_int_equal(f.agent.count, 0);
}

TEST(a_window_without_our_shell_runs_no_commands)
{
	(void)window_fixture_make(&f, "main", "top");
	assert_int_equal(refused((struct terminal_execute){.command = "true"}), ERROR_UNSUPPORTED);
	f.agent.windows[0].process.state = AGENT_PROCESS_ENDED;
	f.agent.has_no_bash = true;
	assert_int_equal(refused((struct terminal_execute){.command = "true"}), ERROR_UNSUPPORTED);
}

TEST(a_wait_in_a_window_that_is_not_there_finds_nothing)
{
	assert_int_equal(refused((struct terminal_execute){.wait_ms = 1}), ERROR_NOT_FOUND);
	(void)window_fixture_make(&f, "main", NULL);
	assert_int_equal(refused((struct terminal_execute){.wait_ms = 1}), ERROR_CONFLICT);
}

TEST(only_so_many_calls_wait)
{
	terminals_free(f.terminals);
	f.terminals = terminals_new(&(struct terminals_options){.waits_max = 0});
	assert_int_equal(refused((struct terminal_execute){.command = "true"}), ERROR_UNAVAILABLE);
	/* A call that was refused counts for nothing. */
	assert_int_equal(refused((struct terminal_execute){.command = "true"}), ERROR_UNAVAILABLE);
}

/* ---- recordings ---- */

static const char *recorded_text(const char *id)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);
	AUTO_CLOSE int fd = -1;
	struct error err = {0};
	int64_t size;

	assert_int_equal(terminal_recording_open(f.terminals, "project", id, &fd, &size, &err), 0);
	assert_int_equal(fd_read_to_end(fd, &text, &err), 0);
	assert_int_equal(terminal_recording_delete(f.terminals, "project", id, &err), 0);
	return arena_text(&f.arena, buf_text(&text));
}

/* All recordings have ended. */
static struct terminal_recordings stop_and_list(void)
{
	struct terminal_recordings list;
	struct error err = {0};

	terminals_stop(f.terminals);
	assert_int_equal(terminal_recordings_list(f.terminals, &f.arena, "project", &list, &err),
	                 0);
	return list;
}

TEST(a_window_is_recorded_with_what_it_has_shown_before)
{
	const struct terminal_at call = window_fixture_at(&f, "main");
	struct terminal_window w;
	struct terminal_recordings list;
	struct error err = {0};
	const char *text;

	(void)run((struct terminal_execute){.command = "true"});
	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), 0);
	assert_int_equal(terminal_record(&call, "project", &w, &err), 0);
	assert_int_equal(terminal_record(&call, "project", &w, &err), 0);
	assert_int_equal(terminal_close(&call, &f.arena, &err), 0);
	/* The recorder ends by itself, as the window has. */
	list = stop_and_list();
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].sandbox, "box");
	terminal_recording_describe(f.terminals, &f.arena, "project", &list.items[0]);
	assert_int_equal(list.items[0].process, 1);
	text = recorded_text(list.items[0].id);
	assert_int_equal(strncmp(text, "{\"version\":", 11), 0);
	assert_int_equal(terminal_record(&call, "project", &w, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(a_command_has_its_output_as_text_and_its_exit_code),
	           STEP(a_command_that_takes_longer_runs_on_and_can_be_waited_for),
	           STEP(the_next_command_cancels_what_runs_unless_it_is_to_be_kept),
	           STEP(a_command_that_ends_the_shell_closes_the_window),
	           STEP(a_line_that_is_not_complete_is_refused_and_taken_back),
	           STEP(of_much_output_the_last_lines_are_kept),
	           STEP(commands_and_waits_have_bounds),
	           STEP(a_window_without_our_shell_runs_no_commands),
	           STEP(a_wait_in_a_window_that_is_not_there_finds_nothing),
	           STEP(only_so_many_calls_wait),
	           STEP(a_window_is_recorded_with_what_it_has_shown_before));
}
