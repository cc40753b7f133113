/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: opened, found, changed, closed; their screens, and what is typed into them. */
#include "terminal/terminal.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "terminal/secrets.h"
#include "unit.h"
#include "window_agent.h"
#include "wire/agent_secrets.h"

static struct window_fixture f;

static int set_up(void **state)
{
	(void)state;
	window_fixture_open(&f, &(struct terminals_options){.waits_max = 2});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	window_fixture_close(&f);
	return 0;
}

static struct terminal_at at(const char *window)
{
	return window_fixture_at(&f, window);
}

static struct terminal_window make(const char *window)
{
	return window_fixture_make(&f, window, "top");
}

static enum error_code open_with(const char *name, struct terminal_open open)
{
	const struct terminal_at call = at(name);
	struct terminal_window w;
	struct error err = {0};
	bool is_new;

	open.cwd = open.user = "";
	return terminal_open(&call, &f.arena, &open, &w, &is_new, &err) < 0 ? err.code : ERROR_NONE;
}

/* ---- windows ---- */

TEST(a_window_is_opened_once_and_found_again)
{
	const struct terminal_at call = at("main");
	const struct terminal_open open = {.cwd = "/", .user = "user", .rows = 10, .columns = 40};
	struct terminal_window w;
	struct error err = {0};
	bool is_new = false;

	assert_int_equal(terminal_open(&call, &f.arena, &open, &w, &is_new, &err), 0);
	assert_true(is_new && w.is_shell);
	assert_int_equal(w.process.process, 1);
	assert_int_equal(w.state.rows, 10);
	assert_int_equal(w.state.columns, 40);
	assert_int_equal(w.state.idle_ms, TERMINAL_TTL_MS);
	assert_int_equal(terminal_open(&call, &f.arena, &open, &w, &is_new, &err), 0);
	assert_false(is_new);
	assert_int_equal(w.process.process, 1);
	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), 0);
	assert_string_equal(w.name, "main");
	assert_string_equal(w.process.label, "terminal:main");
}

TEST(a_window_of_a_command_is_no_shell)
{
	const struct terminal_window w = make("top");

	assert_false(w.is_shell);
	assert_string_equal(w.process.args[2], "top");
}

TEST(without_bash_a_window_runs_sh)
{
	f.agent.has_no_bash = true;
	assert_string_equal(window_fixture_make(&f, "a", NULL).process.args[0], "sh");
	assert_string_equal(make("b").process.args[0], "sh");
}

TEST(a_window_without_a_name_gets_a_new_one)
{
	const struct terminal_window one = make(NULL), two = make(NULL);
	struct error err = {0};

	assert_int_equal(strncmp(one.name, "w-", 2), 0);
	assert_int_equal(terminal_name_check(one.name, &err), 0);
	assert_string_not_equal(one.name, two.name);
}

static int refuse_window(void *context, const char *window, struct error *err)
{
	assert_ptr_equal(context, &f);
	assert_string_equal(window, "main");
	return FAIL(err, ERROR_CONFLICT, "no");
}

TEST(a_window_with_values_is_for_callers_that_may_enter_it)
{
	const struct terminal_secrets secrets = {.enter = refuse_window, .context = &f};
	struct terminal_at call = at("main");
	struct error err = {0};
	struct terminal_window w;

	(void)make("main");
	call.secrets = &secrets;
	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), 0);
	assert_int_equal(open_with("main", (struct terminal_open){.secrets = &secrets}),
	                 ERROR_NONE);
	f.agent.windows[0].process.flags |= AGENT_EXEC_SECRET;
	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(open_with("main", (struct terminal_open){.secrets = &secrets}),
	                 ERROR_CONFLICT);
	call.secrets = NULL;
	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), 0);
}

static int count_keep(void *context, const char *window, struct error *err)
{
	assert_string_equal(window, "main");
	++*(int *)context;
	return err->code ? -1 : 0;
}

TEST(only_an_agent_that_does_not_know_values_is_told_to_be_too_old)
{
	static const enum error_code codes[] = {ERROR_INVALID, ERROR_UNSUPPORTED, ERROR_LIMIT,
	                                        ERROR_CONFLICT, ERROR_UNAVAILABLE};
	int kept = 0;
	const char *env[] = {"A=12345678", NULL};
	const struct terminal_secrets secrets = {.env = env, .keep = count_keep, .context = &kept};
	const struct terminal_open open = {.cwd = "", .user = "", .secrets = &secrets};
	const struct terminal_at call = at("main");
	struct terminal_window w;
	bool is_new;

	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		enum error_code code = codes[i];
		bool is_old = code == ERROR_INVALID || code == ERROR_UNSUPPORTED;
		struct error err = {0};

		f.agent.start_failure = code;
		assert_int_equal(terminal_open(&call, &f.arena, &open, &w, &is_new, &err), -1);
		assert_int_equal(err.code, code);
		assert_int_equal(strstr(err.text, "earlier versions") != NULL, is_old);
		assert_non_null(strstr(err.text, "no start"));
	}
	assert_int_equal(kept, COUNT_OF(codes));
}

TEST(names_sizes_and_times_have_bounds)
{
	static const char *const bad[] = {"",    ".hidden",   "a b",
	                                  "a/b", "h\xc3\xa9", "123456789012345678901234567890123"};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(terminal_name_check(bad[i], &err), -1);
		assert_int_equal(open_with(bad[i], (struct terminal_open){0}), ERROR_INVALID);
	}
	assert_int_equal(terminal_name_check("12345678901234567890123456789012", &err), 0);
	assert_int_equal(open_with("a", (struct terminal_open){.rows = TERMINAL_ROWS_MAX + 1}),
	                 ERROR_INVALID);
	assert_int_equal(
	        open_with("a", (struct terminal_open){.columns = TERMINAL_COLUMNS_MAX + 1}),
	        ERROR_INVALID);
	assert_int_equal(open_with("a", (struct terminal_open){.ttl_ms = -1}), ERROR_INVALID);
	assert_int_equal(open_with("a", (struct terminal_open){.ttl_ms = TERMINAL_TTL_MS_MAX + 1}),
	                 ERROR_INVALID);
	assert_int_equal(open_with("a", (struct terminal_open){.record_for = "project"}),
	                 ERROR_UNSUPPORTED);
	assert_int_equal(open_with("b", (struct terminal_open){.rows = TERMINAL_ROWS_MAX,
	                                                       .columns = TERMINAL_COLUMNS_MAX,
	                                                       .ttl_ms = TERMINAL_TTL_MS_MAX}),
	                 ERROR_NONE);
}

TEST(a_sandbox_has_only_so_many_windows)
{
	char name[16];

	for (int i = 0; i < TERMINAL_WINDOWS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "w%d", i);
		make(name);
	}
	assert_int_equal(open_with("more", (struct terminal_open){0}), ERROR_LIMIT);
	assert_int_equal(open_with("w3", (struct terminal_open){0}), ERROR_NONE);
}

TEST(processes_that_are_no_windows_are_not_listed)
{
	const struct terminal_at call = at(NULL);
	struct terminal_windows list;
	struct error err = {0};

	make("one");
	make("two");
	make("three");
	make("four");
	f.agent.windows[0].process.label = "other";
	f.agent.windows[1].process.flags = 0; /* no terminal */
	f.agent.windows[2].process.label = "terminal:a/b";
	assert_int_equal(terminal_list(&call, &f.arena, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].name, "four");
}

TEST(an_unknown_window_is_not_found)
{
	const struct terminal_at call = at("main");
	struct terminal_window w;
	struct error err = {0};

	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(terminal_close(&call, &f.arena, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

TEST(a_closed_window_leaves_its_name_free)
{
	const struct terminal_at call = at("main");
	struct terminal_window w;
	struct error err = {0};

	make("main");
	assert_int_equal(terminal_close(&call, &f.arena, &err), 0);
	assert_int_equal(f.agent.windows[0].process.exit_code, 137);
	assert_int_equal(terminal_find(&call, &f.arena, &w, &err), -1);
	assert_int_equal(make("main").process.process, 2);
}

TEST(a_change_keeps_what_it_does_not_name)
{
	const struct terminal_at call = at("main");
	struct terminal_change change = {.columns = 100};
	struct terminal_window w;
	struct error err = {0};

	make("main");
	assert_int_equal(terminal_change(&call, &f.arena, &change, &w, &err), 0);
	assert_int_equal(w.state.rows, 24);
	assert_int_equal(w.state.columns, 100);
	assert_int_equal(w.state.idle_ms, TERMINAL_TTL_MS);
	change = (struct terminal_change){.ttl_ms = 5000};
	assert_int_equal(terminal_change(&call, &f.arena, &change, &w, &err), 0);
	assert_int_equal(w.state.columns, 100);
	assert_int_equal(w.state.idle_ms, 5000);
	change.rows = TERMINAL_ROWS_MAX + 1;
	assert_int_equal(terminal_change(&call, &f.arena, &change, &w, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

/* ---- screens ---- */

static struct terminal_screen screen_of(const char *window)
{
	const struct terminal_at call = at(window);
	struct terminal_screen s;
	struct error err = {0};

	if (terminal_screen(&call, &f.arena, TERMINAL_TEXT, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

TEST(a_screen_goes_on_where_the_last_look_ended)
{
	make("main");
	assert_string_equal(screen_of("main").text, "");
	window_agent_print(&f.agent, 0, SPAN("one\r\n"));
	assert_string_equal(screen_of("main").text, "one\n");
	window_agent_print(&f.agent, 0, SPAN("two"));
	assert_string_equal(screen_of("main").text, "one\ntwo\n");
	assert_int_equal(screen_of("main").offset, 8);
	assert_int_equal(screen_of("main").missing, 0);
}

TEST(a_screen_tells_what_is_lost_before_it)
{
	make("main");
	window_agent_print(&f.agent, 0, SPAN("lost\r\nkept"));
	f.agent.windows[0].state.output_start = 6;
	assert_string_equal(screen_of("main").text, "kept\n");
	assert_int_equal(screen_of("main").missing, 6);
}

TEST(a_screen_whose_next_output_is_lost_begins_anew)
{
	make("main");
	window_agent_print(&f.agent, 0, SPAN("one\r\n"));
	assert_string_equal(screen_of("main").text, "one\n");
	window_agent_print(&f.agent, 0, SPAN("lost\r\nnew"));
	f.agent.windows[0].state.output_start = 11;
	assert_string_equal(screen_of("main").text, "new\n");
	assert_int_equal(screen_of("main").missing, 11);
}

TEST(an_agent_whose_output_goes_backwards_gets_a_new_screen)
{
	make("main");
	window_agent_print(&f.agent, 0, SPAN("one two"));
	(void)screen_of("main");
	f.agent.windows[0].state.output_end = 3;
	assert_string_equal(screen_of("main").text, "one\n");
}

/* ---- typing and waiting ---- */

static enum terminal_reason operate(struct terminal_operate what, struct error *err)
{
	const struct terminal_at call = at("main");
	enum terminal_reason reason = TERMINAL_NOTHING;
	struct terminal_screen screen;

	*err = (struct error){0};
	if (terminal_operate(&call, &f.arena, &what, &screen, &reason, err) == 0)
		assert_int_equal(err->code == ERROR_NONE || err->code == ERROR_TIMEOUT, true);
	return reason;
}

static void echo(struct window_agent *agent, struct agent_window *w, struct span bytes)
{
	agent_window_add(agent, w, bytes);
}

TEST(keys_text_and_pastes_are_typed_in_their_order)
{
	struct error err;

	make("main");
	assert_int_equal(
	        operate((struct terminal_operate){.text = "ls",
	                                          .paste = "a b",
	                                          .keys = (const char *[]){"Enter", "C-c", NULL}},
	                &err),
	        TERMINAL_NOTHING);
	assert_string_equal(buf_text(&f.agent.typed), "lsa b\r\x03");
	window_agent_print(&f.agent, 0, SPAN("\033[?2004h"));
	(void)operate((struct terminal_operate){.paste = "x"}, &err);
	assert_non_null(strstr(buf_text(&f.agent.typed), "\033[200~x\033[201~"));
}

TEST(a_wait_ends_by_what_it_waits_for)
{
	struct error err;

	make("main");
	f.agent.on_typed = echo;
	assert_int_equal(
	        operate((struct terminal_operate){.text = "hello", .wait_text = "ell"}, &err),
	        TERMINAL_FOUND);
	assert_int_equal(
	        operate((struct terminal_operate){.text = "42", .wait_regex = "[0-9]{2}$"}, &err),
	        TERMINAL_FOUND);
	assert_int_equal(operate((struct terminal_operate){.text = "x", .wait_change = true}, &err),
	                 TERMINAL_CHANGED);
	assert_int_equal(operate((struct terminal_operate){.quiet_ms = 1}, &err), TERMINAL_QUIET);
	assert_int_equal(
	        operate((struct terminal_operate){.wait_text = "never", .wait_ms = 1}, &err),
	        TERMINAL_TIMED_OUT);
}

TEST(what_was_on_the_screen_before_the_typing_does_not_count)
{
	struct error err;

	make("main");
	window_agent_print(&f.agent, 0, SPAN("ready"));
	assert_int_equal(operate((struct terminal_operate){.wait_text = "ready"}, &err),
	                 TERMINAL_FOUND);
	assert_int_equal(
	        operate((struct terminal_operate){.text = "x", .wait_text = "ready", .wait_ms = 1},
	                &err),
	        TERMINAL_TIMED_OUT);
}

static void end_window(struct window_agent *agent, struct agent_window *w, struct span bytes)
{
	if (bytes.size > 0)
		agent_window_end(agent, w, 0);
}

TEST(a_window_that_ends_ends_the_wait)
{
	struct error err;

	make("main");
	f.agent.on_typed = end_window;
	assert_int_equal(
	        operate((struct terminal_operate){.text = "exit", .wait_text = "never"}, &err),
	        TERMINAL_ENDED);
}

TEST(waits_and_patterns_that_could_take_long_are_refused)
{
	static const char *const patterns[] = {"(a)\\1", "a{2}b{3}", "a{21}", "a{1,99}", "("};
	char longest[600];
	struct error err;

	make("main");
	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		(void)operate((struct terminal_operate){.wait_regex = patterns[i]}, &err);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	(void)operate((struct terminal_operate){.wait_regex = longest}, &err);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	(void)operate((struct terminal_operate){.wait_text = ""}, &err);
	assert_int_equal(err.code, ERROR_INVALID);
	(void)operate((struct terminal_operate){.wait_ms = TERMINAL_WAIT_MS_MAX + 1}, &err);
	assert_int_equal(err.code, ERROR_INVALID);
	(void)operate((struct terminal_operate){.quiet_ms = -1}, &err);
	assert_int_equal(err.code, ERROR_INVALID);
	(void)operate((struct terminal_operate){.keys = (const char *[]){"C-Nope", NULL}}, &err);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(f.agent.typed.size, 0);
}

TEST(more_than_may_be_typed_types_nothing)
{
	AUTO(buf_done) struct buf text = BUF(1 << 20);
	struct error err;

	make("main");
	for (size_t i = 0; i <= TERMINAL_INPUT_MAX; i++)
		buf_add_byte(&text, 'x');
	(void)operate((struct terminal_operate){.text = buf_text(&text)}, &err);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(f.agent.typed.size, 0);
}

/* ---- who has typed ---- */

static char typed_by[64];

static void note_typist(void *context, const char *sandbox, uint64_t process, const char *who)
{
	(void)context;
	(void)snprintf(typed_by, sizeof(typed_by), "%s/%d/%s", sandbox, (int)process, who);
}

TEST(a_name_that_types_is_told)
{
	struct terminal_screen screen;
	enum terminal_reason reason;
	struct terminal_at call;
	struct error err = {0};

	terminals_free(f.terminals);
	f.terminals =
	        terminals_new(&(struct terminals_options){.waits_max = 1, .on_typed = note_typist});
	make("main");
	call = at("main");
	assert_int_equal(terminal_operate(&call, &f.arena, &(struct terminal_operate){.text = "a"},
	                                  &screen, &reason, &err),
	                 0);
	assert_string_equal(typed_by, "");
	call.who = "ann";
	assert_int_equal(terminal_operate(&call, &f.arena, &(struct terminal_operate){.text = "a"},
	                                  &screen, &reason, &err),
	                 0);
	assert_string_equal(typed_by, "box/1/ann");
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(a_window_is_opened_once_and_found_again),
	           STEP(a_window_of_a_command_is_no_shell), STEP(without_bash_a_window_runs_sh),
	           STEP(a_window_with_values_is_for_callers_that_may_enter_it),
	           STEP(only_an_agent_that_does_not_know_values_is_told_to_be_too_old),
	           STEP(a_window_without_a_name_gets_a_new_one),
	           STEP(names_sizes_and_times_have_bounds),
	           STEP(a_sandbox_has_only_so_many_windows),
	           STEP(processes_that_are_no_windows_are_not_listed),
	           STEP(an_unknown_window_is_not_found), STEP(a_closed_window_leaves_its_name_free),
	           STEP(a_change_keeps_what_it_does_not_name),
	           STEP(a_screen_goes_on_where_the_last_look_ended),
	           STEP(a_screen_tells_what_is_lost_before_it),
	           STEP(a_screen_whose_next_output_is_lost_begins_anew),
	           STEP(an_agent_whose_output_goes_backwards_gets_a_new_screen),
	           STEP(keys_text_and_pastes_are_typed_in_their_order),
	           STEP(a_wait_ends_by_what_it_waits_for),
	           STEP(what_was_on_the_screen_before_the_typing_does_not_count),
	           STEP(a_window_that_ends_ends_the_wait),
	           STEP(waits_and_patterns_that_could_take_long_are_refused),
	           STEP(more_than_may_be_typed_types_nothing), STEP(a_name_that_types_is_told));
}
