/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/event_lines.h"
#include "cli/core/session.h"
#include "json/json.h"
#include "wire/agent_cause.h"

#define LINE_SIZE_MAX (8u * 1024 * 1024)

void session_events_init(struct session_events *e)
{
	*e = (struct session_events){
	        .pending = BUF(LINE_SIZE_MAX),
	        .since = "0.0",
	        .out_fd = STDOUT_FILENO,
	        .err_fd = STDERR_FILENO,
	};
}

void session_events_done(struct session_events *e)
{
	arena_done(&e->arena);
	buf_done(&e->pending);
}

static int sextet_of(char c)
{
	static const char alphabet[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* RFC 4648 with padding; the server uses it for output that is not UTF-8. */
static int decode_base64(struct arena *a, const char *text, struct span *ret, struct error *err)
{
	char *out = arena_alloc(a, strlen(text) / 4 * 3 + 3);
	unsigned bits = 0, count = 0;
	size_t size = 0;

	for (; *text && *text != '='; text++) {
		int value = sextet_of(*text);

		if (value < 0)
			return FAIL(err, ERROR_UNAVAILABLE, "the server sent malformed base64");
		bits = bits << 6 | (unsigned)value;
		if (++count % 4 == 1)
			continue;
		out[size++] = (char)(bits >> (6 - 2 * ((count - 1) % 4)) & 0xFF);
	}
	*ret = (struct span){out, size};
	return 0;
}

static int on_output(struct session_events *e, const struct json_value *event, int fd,
                     struct error *err)
{
	const char *data = json_get_text(event, "data", "");
	struct span bytes = span_of(data);

	if (strcmp(json_get_text(event, "encoding", ""), "base64") == 0 &&
	    decode_base64(&e->arena, data, &bytes, err) < 0)
		return -1;
	if (fd_write_all(fd, bytes.data, bytes.size, err) < 0)
		return FAIL_CONTEXT(err, "write the command's output");
	return 0;
}

void session_print_cause(const struct json_value *ended)
{
	const char *why = agent_cause_explain(json_get_text(ended, "cause", ""));

	if (why)
		(void)fprintf(stderr, "atoll: %s\n", why);
}

static void on_exit_event(struct session_events *e, const struct json_value *event)
{
	int64_t code = json_get_whole(event, "exit_code", 125);

	e->ended = true;
	e->status = code < 0 || code > 255 ? 255 : (int)code;
	if (json_get_bool(event, "timed_out", false))
		e->status = SESSION_STATUS_TIMED_OUT;
	session_print_cause(event);
}

static void on_started_event(struct session_events *e, const struct json_value *event)
{
	int64_t process = json_get_whole(event, "process", 0);
	bool is_first = e->process == 0;

	e->process = process;
	if (is_first && process > 0 && e->on_started)
		e->on_started(e->context, process);
}

static int on_line(void *context, struct span line, struct error *err)
{
	struct session_events *e = context;
	const struct json_value *event;
	const char *name, *since;

	if (line.size == 0)
		return 0;
	arena_reset(&e->arena);
	if (json_load(&e->arena, line, &event, err) < 0)
		return FAIL_CONTEXT(err, "read the server's events");
	name = json_get_text(event, "event", "");
	if (strcmp(name, "started") == 0)
		on_started_event(e, event);
	else if (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) {
		int fd = strcmp(name, "stdout") == 0 ? e->out_fd : e->err_fd;

		if (on_output(e, event, fd, err) < 0)
			return -1;
	} else if (strcmp(name, "exit") == 0) {
		on_exit_event(e, event);
	}
	/* Only after the bytes were written: a resumed stream must not skip them. */
	since = json_get_text(event, "since", NULL);
	if (since)
		(void)snprintf(e->since, sizeof(e->since), "%s", since);
	return 0;
}

int session_events_add(struct session_events *e, struct span bytes, struct error *err)
{
	return event_lines_add(&e->pending, bytes, on_line, e, err);
}
