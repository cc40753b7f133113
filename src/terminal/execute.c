/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "terminal/plain.h"
#include "terminal/prompt.h"
#include "terminal/terminals.h"

#define OUTPUT_MAX ((size_t)64 * 1024)
#define SHELL_START_MS 10000 /* of a new window, whose start-up files may take long */
#define CANCEL_MS 1000       /* from one signal to the next */
#define SETTLE_MS 50         /* an interrupted command may show its prompt twice */
#define BEGIN_MS 5000        /* from the typed line to its begin mark */
#define CONTROL_C "\x03"
#define TOLD_MAX ((size_t)2048) /* raw bytes of the latest output */

/* One call. */
struct window_command {
	const struct terminal_at *at;
	const struct terminal_execute *what;
	struct terminal_window window;
	bool is_new;
	struct terminal_reader reader;
	struct prompt_scanner marks;
	struct prompt_mark last;           /* the last prompt mark seen */
	struct prompt_mark started;        /* the last begin mark (C) */
	char nonce[PROMPT_NONCE_SIZE + 1]; /* of the awaited command; "" = any */
	struct buf output;                 /* raw output since `since`, or only its end */
	uint64_t since, kept_from;         /* offsets; kept_from: of output's first byte */
	bool collects, cancelled;
	bool tells; /* output now belongs to the command and is reported as progress */
};

static size_t output_max(const struct window_command *r)
{
	return r->what->output_max ? r->what->output_max : OUTPUT_MAX;
}

/* Raw output is larger than the resulting text. */
static size_t raw_max(const struct window_command *r)
{
	return 2 * output_max(r);
}

static void collect_output(struct window_command *r, struct span bytes)
{
	size_t max = raw_max(r), over;

	if (!r->collects)
		return;
	if (bytes.size > max) {
		r->kept_from += r->output.size + (bytes.size - max);
		buf_reset(&r->output);
		bytes.data += bytes.size - max;
		bytes.size = max;
	}
	over = r->output.size + bytes.size > 2 * max ? r->output.size + bytes.size - max : 0;
	if (over) {
		buf_consume(&r->output, over);
		r->kept_from += over;
	}
	buf_add_span(&r->output, bytes);
}

static void report_progress(const struct window_command *r)
{
	struct span raw = buf_span(&r->output);
	AUTO(buf_done) struct buf plain = BUF(4 * TOLD_MAX);

	if (!r->at->on_progress || raw.size == 0)
		return;
	if (raw.size > TOLD_MAX)
		raw = (struct span){raw.data + raw.size - TOLD_MAX, TOLD_MAX};
	plain_write(&plain, raw);
	r->at->on_progress(r->at->progress_context, buf_span(&plain));
}

static void begin_output(struct window_command *r, uint64_t offset)
{
	buf_reset(&r->output);
	r->since = r->kept_from = offset;
	r->collects = true;
}

/* A reader that was too slow continues at the start of the kept output. */
static void begin_anew(struct window_command *r, uint64_t offset)
{
	r->marks = (struct prompt_scanner){.offset = offset};
	buf_reset(&r->output);
	r->kept_from = offset;
}

typedef bool run_wants(struct window_command *r, const struct prompt_mark *mark);

/* Reads marks until a wanted mark: 1; 0 = the window has ended; -1 with ERROR_TIMEOUT if none
 * arrives in time. Uses all of `pending` before it reads more. */
static int await_mark(struct window_command *r, struct span *pending, int64_t deadline,
                      run_wants *wants, struct error *err)
{
	struct agent_output output;

	for (;;) {
		struct prompt_mark mark;
		struct span before = *pending;
		bool found = prompt_scanner_next(&r->marks, pending, &mark);
		int more;

		before.size -= pending->size;
		collect_output(r, before);
		if (before.size > 0 && r->tells)
			report_progress(r);
		if (found) {
			r->last = mark;
			if (mark.kind == 'C')
				r->started = mark;
			if (wants(r, &mark))
				return 1;
			continue;
		}
		more = terminal_reader_next(&r->reader, deadline, &output, err);
		if (more <= 0)
			return more;
		if (output.offset != r->marks.offset)
			begin_anew(r, output.offset);
		*pending = output.bytes;
	}
}

static bool is_prompt(UNUSED struct window_command *r, const struct prompt_mark *mark)
{
	return mark->kind == 'B';
}

static bool is_mine(const struct window_command *r, const struct prompt_mark *mark)
{
	return strcmp(mark->nonce, r->nonce) == 0;
}

/* A line with a syntax error has an end mark and no begin mark. */
static bool is_begin(struct window_command *r, const struct prompt_mark *mark)
{
	return mark->kind != 'B' && is_mine(r, mark);
}

static bool is_end(struct window_command *r, const struct prompt_mark *mark)
{
	return mark->kind == 'D' && is_mine(r, mark);
}

static bool is_nothing(UNUSED struct window_command *r, UNUSED const struct prompt_mark *mark)
{
	return false;
}

/* Reads the existing output: the reader stops at the end as of the request. */
static int read_past(struct window_command *r, struct error *err)
{
	struct span pending = {NULL, 0};
	int result;

	if (terminal_reader_open(&r->reader, r->at, r->window.process.process,
	                         r->window.state.output_start, false, err) < 0)
		return -1;
	result = await_mark(r, &pending, r->at->deadline, is_nothing, err);
	terminal_reader_done(&r->reader);
	if (result < 0)
		return -1;
	return terminal_reader_open(&r->reader, r->at, r->window.process.process, r->marks.offset,
	                            true, err);
}

static int ask_agent(struct window_command *r, uint32_t signal, struct error *err)
{
	return terminal_ask(
	        r->at,
	        &(struct agent_terminal){.process = r->window.process.process, .signal = signal},
	        &r->window.state, err);
}

static int still_busy(struct window_command *r, struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT, "what runs in window '%s' does not give way",
	           r->at->window);
	return FAIL_HINT(err, "close the window, or use another");
}

static int fail_closed(const struct window_command *r, struct error *err)
{
	return FAIL(err, ERROR_CONFLICT, "window '%s' has closed", r->at->window);
}

static int await_prompt(struct window_command *r, struct span *pending, struct error *err)
{
	int result = 1;

	while (result > 0)
		result = await_mark(r, pending, deadline_after(SETTLE_MS), is_prompt, err);
	if (result == 0)
		return fail_closed(r, err);
	return err->code == ERROR_TIMEOUT ? 0 : -1;
}

/* By ^C if the shell itself is busy (a builtin, a loop, an open quote), else by a signal to the
 * foreground group; waits for the prompt each time. */
static int cancel_command(struct window_command *r, struct span *pending, struct error *err)
{
	static const uint32_t signals[] = {SIGINT, SIGTERM, SIGKILL, SIGINT, SIGKILL, SIGKILL};

	if (r->what->keep) {
		(void)FAIL(err, ERROR_CONFLICT, "something runs in window '%s'", r->at->window);
		return FAIL_HINT(err, "wait for it, or let it be cancelled");
	}
	r->cancelled = true;
	for (size_t i = 0; i < COUNT_OF(signals); i++) {
		int result;

		if (ask_agent(r, signals[i], err) < 0 ||
		    (!r->window.state.is_busy &&
		     terminal_feed(r->at, r->window.process.process, SPAN(CONTROL_C), err) < 0))
			return -1;
		result = await_mark(r, pending, deadline_after(CANCEL_MS), is_prompt, err);
		if (result == 0)
			return fail_closed(r, err);
		if (result < 0 && err->code != ERROR_TIMEOUT)
			return -1;
		if (result > 0)
			return await_prompt(r, pending, err);
	}
	return still_busy(r, err);
}

static int find_prompt(struct window_command *r, struct span *pending, struct error *err)
{
	int result = 1;

	if (read_past(r, err) < 0 || ask_agent(r, 0, err) < 0)
		return -1;
	/* A shell without output is starting; a shell whose command has just ended is about to
	 * show its prompt. */
	if (!r->last.kind || r->last.kind == 'D')
		result = await_mark(r, pending, deadline_after(SHELL_START_MS), is_prompt, err);
	if (result == 0)
		return fail_closed(r, err);
	if (result < 0 && err->code != ERROR_TIMEOUT)
		return -1;
	if (r->last.kind == 'B' && !r->window.state.is_busy)
		return 0;
	return cancel_command(r, pending, err);
}

static void make_nonce(char out[PROMPT_NONCE_SIZE + 1])
{
	unsigned char bytes[PROMPT_NONCE_SIZE / 2];

	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), out);
}

static int refuse_open_line(struct window_command *r, struct span *pending, struct error *err)
{
	if (terminal_feed(r->at, r->window.process.process, SPAN(CONTROL_C), err) < 0 ||
	    (await_mark(r, pending, deadline_after(CANCEL_MS), is_prompt, err) < 0 &&
	     err->code != ERROR_TIMEOUT))
		return -1;
	(void)FAIL(err, ERROR_INVALID, "the command is not complete");
	return FAIL_HINT(err, "a quote, a bracket, a block or a here-document is left open");
}

/* Types the line and waits for its begin. */
static int begin_command(struct window_command *r, struct span *pending, struct error *err)
{
	AUTO(buf_done) struct buf line = BUF(TERMINAL_INPUT_MAX);
	int result;

	make_nonce(r->nonce);
	r->started = (struct prompt_mark){.kind = 0};
	prompt_line_write(&line, r->nonce, r->what->command);
	if (line.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the command is too long to type");
	begin_output(r, r->marks.offset);
	if (terminal_feed(r->at, r->window.process.process, buf_span(&line), err) < 0)
		return -1;
	result = await_mark(r, pending, deadline_after(BEGIN_MS), is_begin, err);
	if (result < 0 && err->code == ERROR_TIMEOUT) {
		(void)FAIL(err, ERROR_CONFLICT, "the shell of window '%s' does not take commands",
		           r->at->window);
		return FAIL_HINT(err, "close the window, or use another");
	}
	if (result < 0)
		return -1;
	if (result > 0 && r->last.kind == 'P')
		return refuse_open_line(r, pending, err);
	if (r->last.kind == 'C')
		begin_output(r, r->last.end);
	return 0;
}

/* Takes over the running command as if this call had started it; 1 if none runs. */
static int resume_command(struct window_command *r, struct error *err)
{
	if (read_past(r, err) < 0)
		return -1;
	if (r->last.kind != 'C')
		return FAIL(err, ERROR_CONFLICT, "nothing runs in window '%s'", r->at->window);
	memcpy(r->nonce, r->started.nonce, sizeof(r->nonce));
	begin_output(r, r->started.end);
	/* Reads its output so far again and keeps it. */
	terminal_reader_done(&r->reader);
	r->marks = (struct prompt_scanner){.offset = r->started.end};
	return terminal_reader_open(&r->reader, r->at, r->window.process.process, r->started.end,
	                            true, err);
}

/* Waits for the command's end: a mark with its number, or a prompt for a command that a viewer
 * typed. */
static bool is_end_or_prompt(struct window_command *r, const struct prompt_mark *mark)
{
	return is_end(r, mark) || (r->nonce[0] == '\0' && mark->kind == 'B');
}

static int finish_command(struct window_command *r, struct span *pending,
                          struct terminal_result *ret, struct error *err)
{
	int64_t until =
	        deadline_after(r->what->wait_ms ? r->what->wait_ms : TERMINAL_EXECUTE_WAIT_MS);
	int result = 1;

	r->tells = true;
	if (r->last.kind != 'D' || !is_mine(r, &r->last) || !r->nonce[0])
		result = await_mark(r, pending, until, is_end_or_prompt, err);
	if (result < 0 && err->code != ERROR_TIMEOUT)
		return -1;
	ret->running = result < 0;
	ret->closed = result == 0;
	ret->exit_code = result == 0           ? r->reader.process.exit_code
	                 : r->last.kind == 'D' ? r->last.status
	                                       : 0;
	ret->end = result > 0 ? r->last.start : r->marks.offset;
	return 0;
}

/* Cuts at the start of a line if possible. */
static struct span last_of(struct span text, size_t max)
{
	const char *line;

	if (text.size <= max)
		return text;
	text.data += text.size - max;
	text.size = max;
	line = memchr(text.data, '\n', text.size);
	if (line && (size_t)(line - text.data) < text.size / 2) {
		text.size -= (size_t)(line + 1 - text.data);
		text.data = line + 1;
		return text;
	}
	while (text.size > 0 && ((unsigned char)text.data[0] & 0xC0) == 0x80) {
		text.data++;
		text.size--;
	}
	return text;
}

static void set_output(struct window_command *r, struct arena *a, struct terminal_result *ret)
{
	struct span raw = buf_span(&r->output), text;
	AUTO(buf_done) struct buf plain = BUF(3 * r->output.size_max);
	size_t whole;

	if (r->since > ret->end)
		r->since = r->kept_from = ret->end;
	if (raw.size > ret->end - r->kept_from)
		raw.size = (size_t)(ret->end - r->kept_from);
	plain_write(&plain, raw);
	whole = plain.size;
	text = last_of(buf_span(&plain), output_max(r));
	ret->output = (struct span){arena_copy(a, text), text.size};
	ret->since = r->since;
	ret->dropped = r->kept_from - r->since + (whole - text.size) + plain.overflowed;
}

static int open_window(struct window_command *r, struct arena *a, struct error *err)
{
	if (!r->what->command)
		return terminal_find(r->at, a, &r->window, err);
	return terminal_open(r->at, a, &r->what->open, &r->window, &r->is_new, err);
}

static int run_command(struct window_command *r, struct terminal_result *ret, struct error *err)
{
	AUTO(terminal_unlock) pthread_mutex_t *lock = NULL;
	struct span pending = {NULL, 0};

	if (!r->what->command)
		return resume_command(r, err) < 0 ? -1 : finish_command(r, &pending, ret, err);
	if (terminal_lock(r->at->terminals->running, r->at, &lock, err) < 0 ||
	    find_prompt(r, &pending, err) < 0 || begin_command(r, &pending, err) < 0)
		return -1;
	/* From here on the next call may cancel it. */
	terminal_unlock(&lock);
	lock = NULL;
	return finish_command(r, &pending, ret, err);
}

static int check_request(const struct terminal_execute *what, struct error *err)
{
	if (what->wait_ms < 0 || what->wait_ms > TERMINAL_WAIT_MS_MAX)
		return FAIL(err, ERROR_INVALID, "waiting is for 0 to %lld ms",
		            (long long)TERMINAL_WAIT_MS_MAX);
	if (what->output_max > TERMINAL_OUTPUT_MAX)
		return FAIL(err, ERROR_INVALID, "at most %zu bytes of output are kept",
		            TERMINAL_OUTPUT_MAX);
	if (what->command && strlen(what->command) > TERMINAL_COMMAND_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the command is longer than %zu bytes",
		            TERMINAL_COMMAND_MAX);
	return what->command ? prompt_line_check(what->command, err) : 0;
}

static int check_shell(const struct window_command *r, struct error *err)
{
	if (r->window.is_shell)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "window '%s' has no bash of ours to run commands in",
	           r->at->window);
	return FAIL_HINT(
	        err, "type keys, or use a window that was opened without a command, in a sandbox "
	             "that has bash");
}

int terminal_execute(const struct terminal_at *at, struct arena *a,
                     const struct terminal_execute *what, struct terminal_result *ret,
                     struct error *err)
{
	struct terminal_result result = {.window = at->window};
	struct window_command r = {.at = at, .what = what, .reader = {.over = false}};
	int done = -1;

	r.output = BUF(2 * raw_max(&r) + 1);
	if (check_request(what, err) < 0 || terminal_wait_begin(at->terminals, err) < 0)
		return -1;
	if (open_window(&r, a, err) == 0 && check_shell(&r, err) == 0 &&
	    run_command(&r, &result, err) == 0) {
		result.process = r.window.process.process;
		result.cancelled = r.cancelled;
		result.began = r.started.unix_ms;
		set_output(&r, a, &result);
		*ret = result;
		done = 0;
	}
	terminal_wait_end(at->terminals);
	terminal_reader_done(&r.reader);
	buf_done(&r.output);
	return done;
}
