/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/code_events.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/session.h"
#include "json/json.h"

/* All forms of one result; escaping may make each byte longer. */
#define LINE_MAX_BYTES ((size_t)128 << 20)
#define FILE_MODE 0644

void code_events_init(struct code_events *e)
{
	*e = (struct code_events){
	        .lines.pending = BUF(LINE_MAX_BYTES),
	        .folder = -1,
	        .out_fd = STDOUT_FILENO,
	        .err_fd = STDERR_FILENO,
	};
}

void code_events_done(struct code_events *e)
{
	event_lines_done(&e->lines);
	fd_forget(&e->folder);
}

enum form_kind { FORM_TEXT, FORM_BYTES, FORM_JSON };
static const struct result_form {
	const char *name, *suffix;
	enum form_kind kind;
} forms[] = {
        {"html", "html", FORM_TEXT},        {"markdown", "md", FORM_TEXT},
        {"svg", "svg", FORM_TEXT},          {"latex", "tex", FORM_TEXT},
        {"javascript", "js", FORM_TEXT},    {"png", "png", FORM_BYTES},
        {"jpeg", "jpg", FORM_BYTES},        {"pdf", "pdf", FORM_BYTES},
        {"json", "json", FORM_JSON},        {"data", "data.json", FORM_JSON},
        {"chart", "chart.json", FORM_JSON}, {"extra", "extra.json", FORM_JSON},
};

static int write_form(struct code_events *e, const struct result_form *form,
                      const struct json_value *v, struct error *err)
{
	AUTO(buf_done) struct buf json = BUF(LINE_MAX_BYTES);
	struct span content = span_of(json_text(v, ""));
	char name[64];

	(void)snprintf(name, sizeof(name), "result-%u.%s", e->results, form->suffix);
	if (form->kind == FORM_BYTES && !json_read_base64(&e->lines.arena, content, &content))
		return FAIL(err, ERROR_UNAVAILABLE, "the server sent malformed base64");
	if (form->kind == FORM_JSON) {
		json_print(&json, v, 2);
		buf_add_byte(&json, '\n');
		content = buf_span(&json);
	}
	if (file_write(e->folder, name, content, FILE_MODE, err) < 0)
		return FAIL_CONTEXT(err, "write '%s/%s'", e->folder_name, name);
	(void)dprintf(e->err_fd, "%s/%s\n", e->folder_name, name);
	return 0;
}

/* A form that the value lacks is null or missing. */
static bool is_there(const struct json_value *v, enum form_kind kind)
{
	return kind == FORM_JSON ? json_count(v) > 0 : json_text(v, NULL) != NULL;
}

static int on_result(struct code_events *e, const struct json_value *result, struct error *err)
{
	const char *text = json_get_text(result, "text", NULL);

	e->results++;
	if (text && (fd_write_all(e->out_fd, text, strlen(text), err) < 0 ||
	             fd_write_all(e->out_fd, "\n", 1, err) < 0))
		return FAIL_CONTEXT(err, "write a result");
	for (size_t i = 0; e->folder >= 0 && i < COUNT_OF(forms); i++) {
		const struct json_value *v = json_get(result, forms[i].name);

		if (is_there(v, forms[i].kind) && write_form(e, &forms[i], v, err) < 0)
			return -1;
	}
	return 0;
}

static int on_output(const struct json_value *event, int fd, struct error *err)
{
	const char *data = json_get_text(event, "data", "");

	if (fd_write_all(fd, data, strlen(data), err) < 0)
		return FAIL_CONTEXT(err, "write the code's output");
	return 0;
}

static int on_error(struct code_events *e, const struct json_value *event, struct error *err)
{
	const char *text = json_get_text(event, "traceback", "");
	size_t size;

	if (!text[0])
		text = json_get_text(event, "value", "");
	size = strlen(text);
	if (fd_write_all(e->err_fd, text, size, err) < 0 ||
	    (size > 0 && text[size - 1] != '\n' && fd_write_all(e->err_fd, "\n", 1, err) < 0))
		return FAIL_CONTEXT(err, "write a failure");
	return 0;
}

static int on_event(void *context, const struct json_value *event, struct error *err)
{
	struct code_events *e = context;
	const char *name = json_get_text(event, "event", "");

	if (strcmp(name, "stdout") == 0)
		return on_output(event, e->out_fd, err);
	if (strcmp(name, "stderr") == 0)
		return on_output(event, e->err_fd, err);
	if (strcmp(name, "result") == 0)
		return on_result(e, json_get(event, "result"), err);
	if (strcmp(name, "error") == 0)
		return on_error(e, event, err);
	if (strcmp(name, "exit") == 0) {
		e->has_ended = true;
		session_print_recording(event);
		e->status = session_exit_status(event);
	}
	return 0;
}

int code_events_add(void *context, struct span bytes, struct error *err)
{
	struct code_events *e = context;
	int result = event_lines_add(&e->lines, bytes, on_event, e, err);

	(void)fflush(stdout);
	return result;
}
