/* SPDX-License-Identifier: Apache-2.0 */

#include "json/json.h"
#include "tool/builtin.h"
#include "tool/window.h"

struct operator_input {
	const char *window, *text, *paste, *wait_text, *wait_regex;
	const char **keys;
	bool wait_change;
	int64_t quiet_ms, wait_ms;
};
static const struct json_member operator_input_members[] = {
        JSON_TEXT_MEMBER(operator_input, window, .max = TERMINAL_NAME_MAX,
                         .about = "name of the terminal window; default: main"),
        JSON_TEXT_MEMBER(operator_input, text, .max = TERMINAL_INPUT_MAX, .about = "text to type",
                         .example = "Y"),
        JSON_TEXT_MEMBER(operator_input, paste, .max = TERMINAL_INPUT_MAX,
                         .about = "pasted after `text`; for many lines"),
        JSON_TEXT_LIST_MEMBER(
                operator_input, keys, .max = 1024,
                .about = "pressed after both: C-c, M-x, S-Tab, Up, Enter, Escape, PgDn, F5, "
                         "…; other texts are typed"),
        JSON_TEXT_MEMBER(
                operator_input, wait_text, .max = 4096,
                .about = "wait until the screen has this text; the first of several conditions "
                         "ends the wait"),
        JSON_TEXT_MEMBER(operator_input, wait_regex, .max = 512,
                         .about = "wait until a line of the screen matches (POSIX extended)"),
        JSON_BOOL_MEMBER(operator_input, wait_change, .about = "wait until the screen changes"),
        JSON_WHOLE_MEMBER(
                operator_input, quiet_ms, .min = 0, .max = TERMINAL_WAIT_MS_MAX,
                .about = "wait until there was no output for this time; default after typing "
                         "without another condition: 300"),
        JSON_WHOLE_MEMBER(operator_input, wait_ms, .min = 0, .max = TERMINAL_WAIT_MS_MAX,
                          .about = "wait at most this time; 0 = 10000"),
};
static JSON_SHAPE(operator_input, "TerminalOperatorInput", operator_input,
                  "What to type, and what to wait for");

struct operator_output {
	const char *reason, *screen, *title;
	int64_t rows, cols, cursor_row, cursor_column;
	bool alternate;
};
static const struct json_member operator_output_members[] = {
        JSON_TEXT_MEMBER(operator_output, reason,
                         .about = "none, found, changed, quiet, timeout or ended"),
        JSON_TEXT_MEMBER(operator_output, screen),
        JSON_TEXT_MEMBER(operator_output, title),
        JSON_WHOLE_MEMBER(operator_output, rows),
        JSON_WHOLE_MEMBER(operator_output, cols),
        JSON_WHOLE_MEMBER(operator_output, cursor_row, .about = "from 0"),
        JSON_WHOLE_MEMBER(operator_output, cursor_column, .about = "from 0"),
        JSON_BOOL_MEMBER(operator_output, alternate,
                         .about = "a full-screen program uses the screen"),
};
static JSON_SHAPE(operator_output, "TerminalOperatorOutput", operator_output, "The screen");

#define QUIET_MS 300

static struct span format_screen(struct arena *a, const struct terminal_screen *s,
                                 const char *reason)
{
	size_t size = strlen(s->text);
	AUTO(buf_done) struct buf text = BUF(size + 512);

	buf_add(&text, s->text, size);
	if (size > 0 && s->text[size - 1] != '\n')
		buf_add_byte(&text, '\n');
	buf_addf(&text, "[%ux%u, cursor at row %u, column %u%s; waiting: %s]\n", s->rows,
	         s->columns, s->cursor_row, s->cursor_column,
	         s->alternate ? ", full-screen program" : "", reason);
	return (struct span){arena_copy(a, buf_span(&text)), text.size};
}

static bool has_typing(const struct operator_input *in)
{
	return in->text || in->paste || (in->keys && in->keys[0]);
}

static int operator_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                         struct error *err)
{
	const struct operator_input *in = input;
	struct tool_window_secrets keep;
	const struct terminal_secrets secrets = tool_guard_window(call, &keep);
	struct terminal_at at = tool_window_at(call, in->window);
	bool waits = in->wait_text || in->wait_regex || in->wait_change || in->quiet_ms;
	struct terminal_operate what = {
	        .text = in->text,
	        .paste = in->paste,
	        .keys = in->keys,
	        .wait_text = in->wait_text,
	        .wait_regex = in->wait_regex,
	        .wait_change = in->wait_change,
	        .quiet_ms = has_typing(in) && !waits ? QUIET_MS : in->quiet_ms,
	};
	struct operator_output *out = ARENA_NEW(call->arena, struct operator_output);
	struct terminal_screen screen;
	enum terminal_reason reason;

	at.secrets = &secrets;
	if (tool_wait_ms(call, in->wait_ms, TERMINAL_OPERATE_WAIT_MS, &what.wait_ms, err) < 0 ||
	    tool_enter_window(call, in->window, err) < 0 ||
	    terminal_operate(&at, call->arena, &what, &screen, &reason, err) < 0)
		return -1;
	*out = (struct operator_output){
	        .reason = terminal_reasons[reason],
	        .screen = screen.text,
	        .title = screen.title,
	        .rows = screen.rows,
	        .cols = screen.columns,
	        .cursor_row = screen.cursor_row,
	        .cursor_column = screen.cursor_column,
	        .alternate = screen.alternate,
	};
	tool_add_text(ret, format_screen(call->arena, &screen, out->reason));
	ret->structured = out;
	return 0;
}

const struct tool terminal_operator_tool = {
        .name = "terminal_operator",
        .title = "Operate a terminal window",
        .description =
                "Types into a terminal window, waits, and returns its screen with the cursor, "
                "without disturbing what runs there: for a [Y/n] that execute_command hangs at, "
                "for menus, editors and other full-screen programs. Without text, paste and keys "
                "it only looks.",
        .input = &operator_input,
        .output = &operator_output,
        .class = TOOL_RUNS,
        .flags = TOOL_DESTRUCTIVE | TOOL_OPEN_WORLD,
        .reason = USAGE_TERMINAL,
        .call = operator_call,
};
