/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/windows — named terminals: screens, input and commands
 * (docs/use/terminals.md). */
#include "surface/native/windows.h"

#include "edge/target.h"
#include "surface/native/native.h"
#include "terminal/terminal.h"
#include "terminal/viewers.h"

#define BASE "/api/sandbox/instances/:id/windows"

struct window_answer {
	const char *name, *user, *cwd;
	int64_t process, pid, rows, cols, viewers, ttl_s, quiet_ms, output_start, output_end,
	        started_at;
	bool busy, shell;
};
static const struct json_member window_shape_members[] = {
        JSON_TEXT_MEMBER(window_answer, name),
        JSON_WHOLE_MEMBER(window_answer, process, .about = "number of the process in this sandbox"),
        JSON_WHOLE_MEMBER(window_answer, pid, .about = "process id in the sandbox"),
        JSON_WHOLE_MEMBER(window_answer, rows),
        JSON_WHOLE_MEMBER(window_answer, cols),
        JSON_BOOL_MEMBER(window_answer, busy, .about = "a command runs in the foreground"),
        JSON_BOOL_MEMBER(window_answer, shell, .about = "whether …/run works in this window"),
        JSON_WHOLE_MEMBER(window_answer, viewers, .about = "number of attached connections"),
        JSON_WHOLE_MEMBER(window_answer, ttl_s, .about = "idle time after which the window closes"),
        JSON_WHOLE_MEMBER(window_answer, quiet_ms, .about = "time since the last input or output"),
        JSON_WHOLE_MEMBER(window_answer, output_start,
                          .about = "first offset that is still stored"),
        JSON_WHOLE_MEMBER(window_answer, output_end, .about = "bytes written so far"),
        JSON_TIME_MEMBER(window_answer, started_at),
        JSON_TEXT_MEMBER(window_answer, user),
        JSON_TEXT_MEMBER(window_answer, cwd, .about = "working directory at its start"),
};
static JSON_SHAPE(window_shape, "Window", window_answer, "A named terminal");

static const struct json_member window_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &window_shape),
};
static JSON_SHAPE(window_list, "WindowList", list_answer, "Windows, oldest first");

static struct window_answer make_window_answer(const struct terminal_window *w)
{
	return (struct window_answer){
	        .name = w->name,
	        .process = (int64_t)w->process.process,
	        .pid = w->process.pid,
	        .rows = w->state.rows,
	        .cols = w->state.columns,
	        .busy = w->state.is_busy != 0,
	        .shell = w->is_shell,
	        .viewers = w->state.viewers,
	        .ttl_s = (int64_t)(w->state.idle_ms / 1000),
	        .quiet_ms = (int64_t)w->state.quiet_ms,
	        .output_start = (int64_t)w->state.output_start,
	        .output_end = (int64_t)w->state.output_end,
	        .started_at = (int64_t)w->process.started_unix_ms,
	        .user = w->process.user,
	        .cwd = w->process.cwd,
	};
}

static struct terminal_at name_window(struct request *rq, const struct api_target *t)
{
	return (struct terminal_at){
	        .terminals = api_of(rq)->terminals,
	        .hold = t->hold,
	        .window = request_param(rq, "window"),
	        .deadline = rq->deadline,
	        .who = api_caller_name(rq),
	};
}

/* Holds the sandbox of ":id" and names the window of ":window". */
static int open_window(struct request *rq, struct api_target *t, struct terminal_at *ret,
                       struct error *err)
{
	if (api_target_open(rq, t, err) < 0)
		return -1;
	*ret = name_window(rq, t);
	return 0;
}

/* The same for a passive call. */
static int look_at_window(struct request *rq, struct api_target *t, struct terminal_at *ret,
                          struct error *err)
{
	if (api_target_look(rq, t, err) < 0)
		return -1;
	*ret = name_window(rq, t);
	return 0;
}

static int windows_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_windows windows;
	struct window_answer *answers;
	struct terminal_at at;

	(void)body;
	if (api_target_open(rq, &t, err) < 0)
		return -1;
	at = (struct terminal_at){
	        .terminals = api_of(rq)->terminals,
	        .hold = t.hold,
	        .deadline = rq->deadline,
	};
	if (terminal_list(&at, rq->arena, &windows, err) < 0)
		return -1;
	answers = ARENA_ARRAY(rq->arena, struct window_answer, windows.count + 1);
	for (size_t i = 0; i < windows.count; i++)
		answers[i] = make_window_answer(&windows.items[i]);
	reply_list(reply, &window_list, answers, windows.count);
	return 0;
}

static int window_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_window window;
	struct window_answer answer;
	struct terminal_at at;

	(void)body;
	if (open_window(rq, &t, &at, err) < 0 || terminal_find(&at, rq->arena, &window, err) < 0)
		return -1;
	answer = make_window_answer(&window);
	reply_json(reply, &window_shape, &answer);
	return 0;
}

struct window_change {
	int64_t rows, cols, ttl_s;
};
static const struct json_member window_change_shape_members[] = {
        JSON_WHOLE_MEMBER(window_change, rows, .min = 1, .max = TERMINAL_ROWS_MAX),
        JSON_WHOLE_MEMBER(window_change, cols, .min = 1, .max = TERMINAL_COLUMNS_MAX),
        JSON_WHOLE_MEMBER(window_change, ttl_s, .min = 1, .max = TERMINAL_TTL_MS_MAX / 1000),
};
static JSON_SHAPE(window_change_shape, "WindowChange", window_change, "Changes of a window");

static int window_change(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct window_change *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_change change = {
	        .rows = (uint32_t)b->rows,
	        .columns = (uint32_t)b->cols,
	        .ttl_ms = b->ttl_s * 1000,
	};
	struct terminal_window window;
	struct window_answer answer;
	struct terminal_at at;

	if (open_window(rq, &t, &at, err) < 0 ||
	    terminal_change(&at, rq->arena, &change, &window, err) < 0)
		return -1;
	answer = make_window_answer(&window);
	reply_json(reply, &window_shape, &answer);
	return 0;
}

static int window_close(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_at at;

	(void)body;
	if (open_window(rq, &t, &at, err) < 0 || terminal_close(&at, rq->arena, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct viewer_answer {
	const char *who, *peer;
	int64_t viewer, attached_at, typed_at;
	bool writes;
};
static const struct json_member viewer_shape_members[] = {
        JSON_WHOLE_MEMBER(viewer_answer, viewer, .about = "number of the viewer on this server"),
        JSON_TEXT_MEMBER(viewer_answer, who, .about = "user or key of the viewer"),
        JSON_TEXT_MEMBER(viewer_answer, peer, .about = "network address of the viewer"),
        JSON_BOOL_MEMBER(viewer_answer, writes, .about = "false: read-only"),
        JSON_TIME_MEMBER(viewer_answer, attached_at),
        JSON_TIME_MEMBER(viewer_answer, typed_at,
                         .about = "last input, accurate to two seconds; null: never"),
};
static JSON_SHAPE(viewer_shape, "Viewer", viewer_answer,
                  "A viewer that is attached to a window by WebSocket");

static const struct json_member viewer_list_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &viewer_shape),
};
static JSON_SHAPE(viewer_list, "ViewerList", list_answer, "Viewers, in the order of attachment");

static int window_viewers(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_viewers viewers;
	struct terminal_window window;
	struct viewer_answer *answers;
	struct terminal_at at;

	(void)body;
	if (open_window(rq, &t, &at, err) < 0 || terminal_find(&at, rq->arena, &window, err) < 0)
		return -1;
	viewers = terminal_viewers_list(at.terminals, rq->arena, t.id, window.process.process);
	answers = ARENA_ARRAY(rq->arena, struct viewer_answer, viewers.count + 1);
	for (size_t i = 0; i < viewers.count; i++) {
		const struct terminal_viewer *v = &viewers.items[i];

		answers[i] = (struct viewer_answer){
		        .viewer = (int64_t)v->id,
		        .who = v->who,
		        .peer = v->peer,
		        .writes = v->writes,
		        .attached_at = v->attached_at,
		        .typed_at = v->typed_at,
		};
	}
	reply_list(reply, &viewer_list, answers, viewers.count);
	return 0;
}

static const char *const forms[] = {"text", "ansi", "cells", NULL};

struct screen_run_answer {
	int64_t column;
	const char *text, *foreground, *background;
	bool bold, italic, underline, reverse, blink, strike;
};
static const struct json_member run_shape_members[] = {
        JSON_WHOLE_MEMBER(screen_run_answer, column),
        JSON_TEXT_MEMBER(screen_run_answer, text),
        JSON_TEXT_MEMBER(screen_run_answer, foreground, .flags = JSON_NULLABLE, .about = "#rrggbb"),
        JSON_TEXT_MEMBER(screen_run_answer, background, .flags = JSON_NULLABLE),
        JSON_BOOL_MEMBER(screen_run_answer, bold),
        JSON_BOOL_MEMBER(screen_run_answer, italic),
        JSON_BOOL_MEMBER(screen_run_answer, underline),
        JSON_BOOL_MEMBER(screen_run_answer, reverse),
        JSON_BOOL_MEMBER(screen_run_answer, blink),
        JSON_BOOL_MEMBER(screen_run_answer, strike),
};
static JSON_SHAPE(run_shape, "ScreenRun", screen_run_answer, "Characters with the same attributes");

struct screen_line_answer {
	struct json_list runs;
};
static const struct json_member line_shape_members[] = {
        JSON_LIST_MEMBER(screen_line_answer, runs, &run_shape),
};
static JSON_SHAPE(line_shape, "ScreenLine", screen_line_answer, "A line of a screen");

struct screen_answer {
	const char *reason, *text, *title;
	int64_t rows, cols, cursor_row, cursor_column, offset, missing;
	bool cursor_visible, alternate;
	struct json_list lines;
};
static const struct json_member screen_shape_members[] = {
        JSON_TEXT_MEMBER(screen_answer, reason,
                         .about = "why the wait ended: found, changed, quiet, timeout or ended; "
                                  "none if there was no condition"),
        JSON_TEXT_MEMBER(
                screen_answer, text, .flags = JSON_NULLABLE,
                .about = "lines without trailing blanks, or escape sequences that draw the screen"),
        JSON_LIST_MEMBER(screen_answer, lines, &line_shape, .about = "only for the form cells"),
        JSON_WHOLE_MEMBER(screen_answer, rows),
        JSON_WHOLE_MEMBER(screen_answer, cols),
        JSON_WHOLE_MEMBER(screen_answer, cursor_row, .about = "from 0"),
        JSON_WHOLE_MEMBER(screen_answer, cursor_column, .about = "from 0"),
        JSON_BOOL_MEMBER(screen_answer, cursor_visible),
        JSON_BOOL_MEMBER(screen_answer, alternate,
                         .about = "true: the alternate screen of a full-screen program"),
        JSON_TEXT_MEMBER(screen_answer, title),
        JSON_WHOLE_MEMBER(screen_answer, offset,
                          .about = "the screen includes output up to this offset"),
        JSON_WHOLE_MEMBER(screen_answer, missing,
                          .about = "bytes that are no longer stored at the beginning of the "
                                   "output; text that they drew may be missing"),
};
static JSON_SHAPE(screen_shape, "Screen", screen_answer, "Content of a window's screen");

static struct json_list make_screen_runs(struct arena *a, const struct terminal_line *line)
{
	struct screen_run_answer *runs = ARENA_ARRAY(a, struct screen_run_answer, line->count + 1);

	for (size_t i = 0; i < line->count; i++) {
		const struct terminal_run *r = &line->runs[i];

		runs[i] = (struct screen_run_answer){
		        .column = r->column,
		        .text = r->text,
		        .foreground = r->foreground,
		        .background = r->background,
		        .bold = r->bold,
		        .italic = r->italic,
		        .underline = r->underline,
		        .reverse = r->reverse,
		        .blink = r->blink,
		        .strike = r->strike,
		};
	}
	return (struct json_list){runs, line->count, .present = true};
}

static struct json_list make_screen_lines(struct arena *a, const struct terminal_screen *s)
{
	struct screen_line_answer *lines = ARENA_ARRAY(a, struct screen_line_answer, s->rows + 1);

	for (size_t i = 0; s->lines && i < s->rows; i++)
		lines[i].runs = make_screen_runs(a, &s->lines[i]);
	return (struct json_list){lines, s->lines ? s->rows : 0, .present = true};
}

static void reply_screen(struct request *rq, struct reply *reply, const struct terminal_screen *s,
                         enum terminal_reason reason)
{
	struct screen_answer answer = {
	        .reason = terminal_reasons[reason],
	        .text = s->text,
	        .title = s->title,
	        .rows = s->rows,
	        .cols = s->columns,
	        .cursor_row = s->cursor_row,
	        .cursor_column = s->cursor_column,
	        .offset = (int64_t)s->offset,
	        .missing = (int64_t)s->missing,
	        .cursor_visible = s->cursor_visible,
	        .alternate = s->alternate,
	        .lines = make_screen_lines(rq->arena, s),
	};

	reply_json(reply, &screen_shape, &answer);
}

struct screen_query {
	int form;
	bool passive;
};
static const struct json_member screen_query_members[] = {
        JSON_CHOICE_MEMBER(screen_query, form, .choices = forms),
        JSON_BOOL_MEMBER(screen_query, passive,
                         .about = "true: neither wakes the sandbox nor counts as its use; 409 "
                                  "while it is paused"),
};
static JSON_SHAPE(screen_query, "ScreenQuery", screen_query, "Format of the screen");

static int window_screen(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct screen_query *q = rq->query;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_screen screen;
	struct terminal_at at;

	(void)body;
	if ((q->passive ? look_at_window(rq, &t, &at, err) : open_window(rq, &t, &at, err)) < 0 ||
	    terminal_screen(&at, rq->arena, (enum terminal_form)q->form, &screen, err) < 0)
		return -1;
	reply_screen(rq, reply, &screen, TERMINAL_NOTHING);
	return 0;
}

struct window_keys_body {
	const char *text, *paste, *wait_text, *wait_regex;
	const char **keys;
	bool wait_change;
	int64_t quiet_ms, wait_ms;
	int form;
};
static const struct json_member keys_shape_members[] = {
        JSON_TEXT_MEMBER(window_keys_body, text, .max = TERMINAL_INPUT_MAX,
                         .about = "text to type"),
        JSON_TEXT_MEMBER(
                window_keys_body, paste, .max = TERMINAL_INPUT_MAX,
                .about = "text to paste; uses bracketed paste if the program has enabled it"),
        JSON_TEXT_LIST_MEMBER(window_keys_body, keys, .max = 1024,
                              .about = "keys to press after text and paste: C-c, M-x, S-Tab, Up, "
                                       "Enter, Escape, F5, …; other strings are typed"),
        JSON_TEXT_MEMBER(window_keys_body, wait_text, .max = 4096,
                         .about = "wait until the screen shows this text; the first condition that "
                                  "holds ends the wait; after typing, only later output counts"),
        JSON_TEXT_MEMBER(
                window_keys_body, wait_regex, .max = 512,
                .about = "wait until a line matches this POSIX extended regular expression"),
        JSON_BOOL_MEMBER(window_keys_body, wait_change, .about = "wait until the screen changes"),
        JSON_WHOLE_MEMBER(window_keys_body, quiet_ms, .min = 0, .max = TERMINAL_WAIT_MS_MAX,
                          .about = "wait until there was no output for this time"),
        JSON_WHOLE_MEMBER(window_keys_body, wait_ms, .min = 0, .max = TERMINAL_WAIT_MS_MAX,
                          .about = "maximum wait (default 10000)"),
        JSON_CHOICE_MEMBER(window_keys_body, form, .choices = forms,
                           .about = "format of the screen"),
};
static JSON_SHAPE(keys_shape, "WindowKeys", window_keys_body,
                  "Input for a window, and conditions to wait for");

static int window_keys(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct window_keys_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct terminal_operate request = {
	        .text = b->text,
	        .paste = b->paste,
	        .keys = b->keys,
	        .wait_text = b->wait_text,
	        .wait_regex = b->wait_regex,
	        .wait_change = b->wait_change,
	        .quiet_ms = b->quiet_ms,
	        .wait_ms = b->wait_ms,
	        .form = (enum terminal_form)b->form,
	};
	struct terminal_screen screen;
	enum terminal_reason reason;
	struct terminal_at at;

	if (open_window(rq, &t, &at, err) < 0 ||
	    terminal_operate(&at, rq->arena, &request, &screen, &reason, err) < 0)
		return -1;
	reply_screen(rq, reply, &screen, reason);
	return 0;
}

struct window_run_body {
	const char *command, *cwd, *user;
	struct json_map env;
	bool keep;
	int64_t wait_ms, output_limit;
};
static const struct json_member window_run_members[] = {
        JSON_TEXT_MEMBER(window_run_body, command, .max = TERMINAL_COMMAND_MAX,
                         .about = "command line; a command that runs in the window is cancelled "
                                  "first; without command, wait for the running one"),
        JSON_BOOL_MEMBER(window_run_body, keep,
                         .about = "answer 409 instead of cancelling a running command"),
        JSON_WHOLE_MEMBER(window_run_body, wait_ms, .min = 0, .max = TERMINAL_WAIT_MS_MAX,
                          .about =
                                  "maximum wait; afterwards the command continues (default 30000)"),
        JSON_WHOLE_MEMBER(window_run_body, output_limit, .min = 1, .max = TERMINAL_OUTPUT_MAX,
                          .name = "outputLimitBytes",
                          .about = "bytes kept from the end of the output (default 65536)"),
        JSON_TEXT_MEMBER(window_run_body, cwd, .max = 4096,
                         .about = "working directory, if the window is created"),
        JSON_TEXT_MEMBER(window_run_body, user, .max = 64,
                         .about = "user, if the window is created"),
        JSON_TEXT_MAP_MEMBER(window_run_body, env, .max = 256, .flags = JSON_SECRET,
                             .about = "environment, if the window is created"),
};
static JSON_SHAPE(window_run, "WindowRun", window_run_body, "A command for a window");

struct window_result_answer {
	const char *window, *output;
	int64_t process, exit_code, since, end, dropped;
	bool running, cancelled, closed;
};
static const struct json_member window_result_members[] = {
        JSON_TEXT_MEMBER(window_result_answer, window),
        JSON_WHOLE_MEMBER(window_result_answer, process),
        JSON_BOOL_MEMBER(window_result_answer, running, .about = "the command still runs"),
        JSON_WHOLE_MEMBER(window_result_answer, exit_code, .about = "-1 while the command runs"),
        JSON_TEXT_MEMBER(window_result_answer, output, .about = "output without escape sequences"),
        JSON_WHOLE_MEMBER(window_result_answer, since,
                          .about = "offset of the output in the output of the process"),
        JSON_WHOLE_MEMBER(window_result_answer, end),
        JSON_WHOLE_MEMBER(window_result_answer, dropped, .about = "bytes dropped before `output`"),
        JSON_BOOL_MEMBER(window_result_answer, cancelled,
                         .about = "a command that ran in the window was cancelled"),
        JSON_BOOL_MEMBER(window_result_answer, closed,
                         .about = "the window closed when the command ended"),
};
static JSON_SHAPE(window_result, "WindowResult", window_result_answer,
                  "Result of a command in a window");

static int window_execute(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct window_run_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct window_open_request open_request = {.cwd = b->cwd, .user = b->user, .env = &b->env};
	struct terminal_execute request = {
	        .command = b->command,
	        .keep = b->keep,
	        .wait_ms = b->wait_ms,
	        .output_max = (size_t)b->output_limit,
	};
	struct terminal_result result;
	struct window_result_answer answer;
	struct terminal_at at;

	if (open_window(rq, &t, &at, err) < 0 ||
	    terminal_options_resolve(rq, &t, &open_request, &request.open, err) < 0 ||
	    terminal_execute(&at, rq->arena, &request, &result, err) < 0)
		return -1;
	answer = (struct window_result_answer){
	        .window = result.window,
	        .process = (int64_t)result.process,
	        .running = result.running,
	        .exit_code = result.running ? -1 : result.exit_code,
	        .output = result.output.data,
	        .since = (int64_t)result.since,
	        .end = (int64_t)result.end,
	        .dropped = (int64_t)result.dropped,
	        .cancelled = result.cancelled,
	        .closed = result.closed,
	};
	reply_json(reply, &window_result, &answer);
	return 0;
}

#define TAG .tag = "terminals"
const struct route windows_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &window_list, .handle = windows_list, TAG,
         .summary = "List the open windows of a sandbox"},
        {HTTP_GET, BASE "/:window", SCOPE_SANDBOX_READ, .answer = &window_shape,
         .handle = window_get, TAG, .summary = "Get a window"},
        {HTTP_PATCH, BASE "/:window", SCOPE_SANDBOX_WRITE, .body = &window_change_shape,
         .answer = &window_shape, .handle = window_change, TAG,
         .summary = "Change a window's size or idle timeout"},
        {HTTP_DELETE, BASE "/:window", SCOPE_SANDBOX_WRITE, .status = 204, .handle = window_close,
         TAG, .summary = "Close a window and end its processes"},
        {HTTP_GET, BASE "/:window/viewers", SCOPE_SANDBOX_READ, .answer = &viewer_list,
         .handle = window_viewers, TAG, .summary = "List the viewers of a window"},
        {HTTP_GET, BASE "/:window/screen", SCOPE_SANDBOX_READ, .query = &screen_query,
         .answer = &screen_shape, .handle = window_screen, TAG,
         .summary = "Get a window's screen and cursor"},
        {HTTP_POST, BASE "/:window/keys", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_LONG,
         .body = &keys_shape, .answer = &screen_shape, .handle = window_keys, TAG,
         .summary = "Type into a window, wait, and get the screen; running programs are not "
                    "interrupted"},
        {HTTP_POST, BASE "/:window/run", SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_LONG,
         .body = &window_run, .answer = &window_result, .handle = window_execute, TAG,
         .summary = "Run a command in a window; the window is created if needed"},
        {.path = NULL},
};
