/* SPDX-License-Identifier: Apache-2.0 */
#include <regex.h>
#include <string.h>

#include "base/clock.h"
#include "terminal/look.h"

#define REGEX_MAX 512
#define REPEATS_MAX 20 /* in braces */
#define SCREEN_TEXT_MAX ((size_t)TERMINAL_ROWS_MAX * TERMINAL_COLUMNS_MAX * 24)
/* Interval of checks of the screen while output arrives. */
#define LOOK_MS 20

const char *const terminal_reasons[] = {
        [TERMINAL_NOTHING] = "none",
        [TERMINAL_FOUND] = "found",
        [TERMINAL_CHANGED] = "changed",
        [TERMINAL_QUIET] = "quiet",
        [TERMINAL_TIMED_OUT] = "timeout",
        [TERMINAL_ENDED] = "ended",
        NULL,
};

struct wait {
	const struct terminal_operate *what;
	struct window_look look;
	regex_t regex;
	bool has_regex;
	bool is_fresh;     /* output arrived since the last input, or there was no input */
	struct buf before; /* the screen before */
	struct buf now;
	int64_t until, quiet_at;
};

/* Refuses patterns that could take the library very long: back references and nested repeats. */
static int check_regex(const char *pattern, struct error *err)
{
	unsigned braces = 0;

	if (strlen(pattern) > REGEX_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the regex is longer than %d bytes", REGEX_MAX);
	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && c[1] >= '1' && c[1] <= '9')
			return FAIL(err, ERROR_INVALID, "the regex refers back ('\\%c')", c[1]);
		if (*c == '\\' && c[1])
			c++;
		else if (*c == '{')
			braces++;
	}
	if (braces > 1)
		return FAIL(err, ERROR_INVALID, "the regex has more than one '{'");
	return 0;
}

static int check_repeats(const char *pattern, struct error *err)
{
	const char *brace = strchr(pattern, '{');
	unsigned number = 0;

	for (; brace && *brace && *brace != '}'; brace++) {
		number =
		        *brace >= '0' && *brace <= '9' ? number * 10 + (unsigned)(*brace - '0') : 0;
		if (number > REPEATS_MAX)
			return FAIL(err, ERROR_INVALID, "the regex repeats more than %d times",
			            REPEATS_MAX);
	}
	return 0;
}

static int compile_pattern(struct wait *w, const char *pattern, struct error *err)
{
	char text[100];
	int failed;

	if (check_regex(pattern, err) < 0 || check_repeats(pattern, err) < 0)
		return -1;
	failed = regcomp(&w->regex, pattern, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
	if (failed) {
		(void)regerror(failed, &w->regex, text, sizeof(text));
		return FAIL(err, ERROR_INVALID, "regex '%.60s': %s", pattern, text);
	}
	w->has_regex = true;
	return 0;
}

static int check_request(const struct terminal_operate *what, struct error *err)
{
	if (what->wait_ms < 0 || what->wait_ms > TERMINAL_WAIT_MS_MAX || what->quiet_ms < 0 ||
	    what->quiet_ms > TERMINAL_WAIT_MS_MAX)
		return FAIL(err, ERROR_INVALID, "waiting is for 0 to %lld ms",
		            (long long)TERMINAL_WAIT_MS_MAX);
	if (what->wait_text && !what->wait_text[0])
		return FAIL(err, ERROR_INVALID, "the text to wait for is empty");
	return 0;
}

static int type_input(struct wait *w, const struct terminal_at *at, struct error *err)
{
	const struct terminal_operate *what = w->what;
	AUTO(buf_done) struct buf bytes = BUF(TERMINAL_INPUT_MAX);

	if (what->text)
		buf_add_text(&bytes, what->text);
	if (what->paste)
		screen_type_paste(w->look.screen, what->paste, &bytes);
	for (const char *const *key = what->keys; key && *key; key++)
		if (screen_type_key(w->look.screen, *key, &bytes, err) < 0)
			return -1;
	if (bytes.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "more than %zu bytes to type",
		            TERMINAL_INPUT_MAX);
	w->is_fresh = bytes.size == 0;
	return terminal_feed(at, w->look.window.process.process, buf_span(&bytes), err);
}

static bool must_wait_for_screen(const struct terminal_operate *what)
{
	return what->wait_text || what->wait_regex || what->wait_change || what->quiet_ms;
}

static void report_progress(const struct wait *w, const struct terminal_at *at)
{
	const struct buf *screen = w->is_fresh ? &w->now : &w->before;

	if (at->on_progress)
		at->on_progress(at->progress_context, buf_span(screen));
}

static enum terminal_reason judge_screen(struct wait *w)
{
	const struct terminal_operate *what = w->what;

	if (!w->is_fresh)
		return TERMINAL_NOTHING;
	buf_reset(&w->now);
	screen_text(w->look.screen, &w->now);
	if (what->wait_text && strstr(buf_text(&w->now), what->wait_text))
		return TERMINAL_FOUND;
	if (w->has_regex && regexec(&w->regex, buf_text(&w->now), 0, NULL, 0) == 0)
		return TERMINAL_FOUND;
	if (what->wait_change && !span_equals(buf_span(&w->now), buf_span(&w->before)))
		return TERMINAL_CHANGED;
	return TERMINAL_NOTHING;
}

static int64_t earlier_time(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Reads output until a pause, so that a flood is not searched piece by piece. 1 = check the
 * screen; 0 = the window has ended or the time is over, with *ret_reason. */
static int take_output(struct wait *w, struct terminal_reader *reader,
                       enum terminal_reason *ret_reason, struct error *err)
{
	int64_t look_at = INT64_MAX;
	struct agent_output output;

	for (;;) {
		int64_t deadline = earlier_time(look_at, earlier_time(w->quiet_at, w->until));
		int more = terminal_reader_next(reader, deadline, &output, err);
		int64_t now = clock_monotonic_ms();

		if (more == 0) {
			*ret_reason = TERMINAL_ENDED;
			return 0;
		}
		if (more < 0 && err->code != ERROR_TIMEOUT)
			return -1;
		if (more > 0) {
			look_feed(&w->look, &output);
			w->is_fresh = true;
			w->quiet_at = w->what->quiet_ms ? now + w->what->quiet_ms : INT64_MAX;
			look_at = earlier_time(look_at, now + LOOK_MS);
		}
		if (now >= look_at || (more < 0 && look_at != INT64_MAX))
			return 1;
		if (now >= w->quiet_at || now >= w->until) {
			*ret_reason = now >= w->quiet_at ? TERMINAL_QUIET : TERMINAL_TIMED_OUT;
			return 0;
		}
	}
}

static int wait_for_screen(struct wait *w, const struct terminal_at *at,
                           struct terminal_reader *reader, enum terminal_reason *ret_reason,
                           struct error *err)
{
	enum terminal_reason last;
	int more = 1;

	w->until = deadline_after(w->what->wait_ms ? w->what->wait_ms : TERMINAL_OPERATE_WAIT_MS);
	w->quiet_at = w->what->quiet_ms ? deadline_after(w->what->quiet_ms) : INT64_MAX;
	while (more > 0) {
		*ret_reason = judge_screen(w);
		if (*ret_reason != TERMINAL_NOTHING)
			return 0;
		report_progress(w, at);
		more = take_output(w, reader, ret_reason, err);
	}
	if (more < 0)
		return -1;
	/* The match may have arrived with the last bytes. */
	last = judge_screen(w);
	if (last != TERMINAL_NOTHING)
		*ret_reason = last;
	return 0;
}

static int operate_window(struct wait *w, const struct terminal_at *at,
                          enum terminal_reason *ret_reason, struct error *err)
{
	AUTO(terminal_reader_done) struct terminal_reader reader = {.over = false};
	bool must_wait = must_wait_for_screen(w->what);

	/* Comes before the keys, so that none of their output is missed. */
	if (must_wait && terminal_reader_open(&reader, at, w->look.window.process.process,
	                                      screen_offset(w->look.screen), true, err) < 0)
		return -1;
	screen_text(w->look.screen, &w->before);
	if (type_input(w, at, err) < 0)
		return -1;
	*ret_reason = TERMINAL_NOTHING;
	return must_wait ? wait_for_screen(w, at, &reader, ret_reason, err) : 0;
}

int terminal_operate(const struct terminal_at *at, struct arena *a,
                     const struct terminal_operate *what, struct terminal_screen *ret,
                     enum terminal_reason *ret_reason, struct error *err)
{
	struct wait w = {
	        .what = what,
	        .before = BUF(SCREEN_TEXT_MAX),
	        .now = BUF(SCREEN_TEXT_MAX),
	};
	int result = -1;

	if (check_request(what, err) < 0 ||
	    (what->wait_regex && compile_pattern(&w, what->wait_regex, err) < 0))
		return -1;
	if (terminal_wait_begin(at->terminals, err) == 0) {
		if (look_open(&w.look, at, a, err) == 0 &&
		    operate_window(&w, at, ret_reason, err) == 0) {
			screen_read(w.look.screen, a, what->form, ret);
			result = 0;
		}
		terminal_wait_end(at->terminals);
	}
	look_done(&w.look);
	if (w.has_regex)
		regfree(&w.regex);
	buf_done(&w.before);
	buf_done(&w.now);
	return result;
}

int terminal_screen(const struct terminal_at *at, struct arena *a, enum terminal_form form,
                    struct terminal_screen *ret, struct error *err)
{
	AUTO(look_done) struct window_look look = {.screen = NULL};

	if (look_open(&look, at, a, err) < 0)
		return -1;
	screen_read(look.screen, a, form, ret);
	return 0;
}
