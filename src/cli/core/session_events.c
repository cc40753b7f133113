/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/session.h"
#include "json/json.h"
#include "wire/agent_cause.h"

#define LINE_SIZE_MAX (8u * 1024 * 1024)

void session_events_init(struct session_events *e)
{
	*e = (struct session_events){
	        .lines.pending = BUF(LINE_SIZE_MAX),
	        .since = "0.0",
	        .out_fd = STDOUT_FILENO,
	        .err_fd = STDERR_FILENO,
	};
}

static int on_output(struct session_events *e, const struct json_value *event, int fd,
                     struct error *err)
{
	const char *data = json_get_text(event, "data", "");
	struct span bytes = span_of(data);

	/* Output that is not UTF-8. */
	if (strcmp(json_get_text(event, "encoding", ""), "base64") == 0 &&
	    !json_read_base64(&e->lines.arena, bytes, &bytes))
		return FAIL(err, ERROR_UNAVAILABLE, "the server sent malformed base64");
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

void session_print_recording(const struct json_value *ended)
{
	const char *id = json_get_text(ended, "recording", NULL);

	if (id)
		(void)fprintf(stderr, "recorded: atoll replay %s\n", id);
}

int session_exit_status(const struct json_value *ended)
{
	int64_t code = json_get_whole(ended, "exit_code", 125);

	session_print_cause(ended);
	if (json_get_bool(ended, "timed_out", false))
		return SESSION_STATUS_TIMED_OUT;
	return code < 0 || code > 255 ? 255 : (int)code;
}

static void on_started_event(struct session_events *e, const struct json_value *event)
{
	int64_t process = json_get_whole(event, "process", 0);
	bool is_first = e->process == 0;

	e->process = process;
	if (is_first && process > 0 && e->on_started)
		e->on_started(e->context, process);
}

static int on_event(void *context, const struct json_value *event, struct error *err)
{
	struct session_events *e = context;
	const char *name = json_get_text(event, "event", ""), *since;

	if (strcmp(name, "started") == 0) {
		on_started_event(e, event);
	} else if (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) {
		int fd = strcmp(name, "stdout") == 0 ? e->out_fd : e->err_fd;

		if (on_output(e, event, fd, err) < 0)
			return -1;
	} else if (strcmp(name, "exit") == 0) {
		e->ended = true;
		session_print_recording(event);
		e->status = session_exit_status(event);
	}
	/* Only after the bytes were written: a resumed stream must not skip them. */
	since = json_get_text(event, "since", NULL);
	if (since)
		(void)snprintf(e->since, sizeof(e->since), "%s", since);
	return 0;
}

int session_events_add(void *context, struct span bytes, struct error *err)
{
	struct session_events *e = context;

	return event_lines_add(&e->lines, bytes, on_event, e, err);
}
