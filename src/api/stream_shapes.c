/* SPDX-License-Identifier: Apache-2.0 */
#include "api/stream_shapes.h"

#include <stdio.h>
#include <string.h>

#include "calls/figures.h"
#include "fleet/core/events.h"
#include "json/json.h"
#include "json/write.h"
#include "surface/native/native.h"

#define EVENT(struct_, names)                                                                      \
	JSON_TEXT_MEMBER(struct_, event, .choices = (names), .flags = JSON_REQUIRED,               \
	                 .about = "kind of the message; with SSE also its event name")
#define ABOUT_ERROR "with error: the member error of Error"
#define ABOUT_EXIT "with exit"
#define REFERENCE_SIZE 256

#define EXIT_MEMBERS(struct_)                                                                      \
	JSON_WHOLE_MEMBER(struct_, exit_code, .min = INT64_MIN, .about = ABOUT_EXIT),              \
	        JSON_TEXT_MEMBER(struct_, signal, .flags = JSON_NULLABLE, .about = ABOUT_EXIT),    \
	        JSON_BOOL_MEMBER(struct_, timed_out, .about = ABOUT_EXIT),                         \
	        JSON_TEXT_MEMBER(struct_, cause, .about = ABOUT_EXIT)

struct command_message {
	const char *event, *since, *data, *encoding, *signal, *cause, *recording;
	int64_t process, pid, offset, exit_code, duration_ms;
	bool ok, timed_out, warm;
	struct span error, artifact;
};
static const char *const command_events[] = {"started", "stdout",   "stderr", "exit",
                                             "error",   "artifact", NULL};
static const struct json_member command_message_shape_members[] = {
        EVENT(command_message, command_events),
        JSON_TEXT_MEMBER(command_message, since, .flags = JSON_REQUIRED,
                         .about =
                                 "offsets after this message, STDOUT.STDERR: continue with since="),
        JSON_WHOLE_MEMBER(command_message, process, .about = "with started and exit"),
        JSON_WHOLE_MEMBER(command_message, pid, .about = "with started"),
        JSON_WHOLE_MEMBER(command_message, offset,
                          .about = "with stdout and stderr: of the first byte of data"),
        JSON_TEXT_MEMBER(command_message, data, .about = "with stdout and stderr: output"),
        JSON_TEXT_MEMBER(command_message, encoding,
                         .about = "base64 when data is no UTF-8; else absent"),
        JSON_BOOL_MEMBER(command_message, ok, .about = ABOUT_EXIT),
        EXIT_MEMBERS(command_message),
        JSON_WHOLE_MEMBER(command_message, duration_ms, .about = ABOUT_EXIT),
        JSON_BOOL_MEMBER(command_message, warm,
                         .about = "with exit: a waiting interpreter ran the command"),
        JSON_TEXT_MEMBER(command_message, recording,
                         .about = "with exit: id of the recording, when the call asked for one"),
        JSON_RAW_MEMBER(command_message, artifact, .about = "with artifact: a stored file"),
        JSON_RAW_MEMBER(command_message, error, .about = ABOUT_ERROR),
};
static JSON_OPEN_SHAPE(command_message_shape, "CommandMessage", command_message,
                       "A message of a command's stream");

struct code_message {
	const char *event, *data, *name, *value, *traceback, *signal, *cause, *context_id,
	        *recording;
	int64_t process, execution_count, exit_code, duration_ms;
	bool ok, timed_out, context_ended;
	struct span error, artifact, result;
};
static const char *const code_events[] = {"started", "stdout", "stderr",   "result",
                                          "error",   "exit",   "artifact", NULL};
static const struct json_member code_message_shape_members[] = {
        EVENT(code_message, code_events),
        JSON_TEXT_MEMBER(code_message, context_id, .name = "contextId",
                         .about = "with started and exit"),
        JSON_WHOLE_MEMBER(code_message, process, .about = "with started and exit"),
        JSON_WHOLE_MEMBER(code_message, execution_count, .about = "with started and exit"),
        JSON_TEXT_MEMBER(code_message, data, .about = "with stdout and stderr: output"),
        JSON_RAW_MEMBER(code_message, result, .about = "with result: a CodeResult"),
        JSON_TEXT_MEMBER(code_message, name, .about = "with error of the code: its class"),
        JSON_TEXT_MEMBER(code_message, value, .about = "with error of the code: its message"),
        JSON_TEXT_MEMBER(code_message, traceback, .about = "with error of the code"),
        JSON_RAW_MEMBER(code_message, error,
                        .about = "with error of the call: the member error of Error"),
        JSON_BOOL_MEMBER(code_message, ok, .about = ABOUT_EXIT),
        EXIT_MEMBERS(code_message),
        JSON_WHOLE_MEMBER(code_message, duration_ms, .about = ABOUT_EXIT),
        JSON_BOOL_MEMBER(code_message, context_ended,
                         .about = "with exit: the interpreter ended; restart the context"),
        JSON_TEXT_MEMBER(code_message, recording,
                         .about = "with exit: id of the recording, when the call asked for one"),
        JSON_RAW_MEMBER(code_message, artifact, .about = "with artifact: a stored file"),
};
static JSON_OPEN_SHAPE(code_message_shape, "CodeMessage", code_message,
                       "A message of the stream of a block of code");

struct watch_message {
	const char *event, *path;
	bool is_directory;
	struct span error;
};
static const struct json_member watch_message_shape_members[] = {
        JSON_TEXT_MEMBER(watch_message, event, .flags = JSON_REQUIRED,
                         .about = "kind of the change, or error; with SSE also its event name"),
        JSON_TEXT_MEMBER(watch_message, path, .about = "with a change"),
        JSON_BOOL_MEMBER(watch_message, is_directory, .about = "with a change"),
        JSON_RAW_MEMBER(watch_message, error, .about = ABOUT_ERROR),
};
static JSON_OPEN_SHAPE(watch_message_shape, "WatchMessage", watch_message,
                       "A message of a watched folder");

struct lost_message {
	const char *event;
	int64_t after, oldest;
};
static const char *const lost_events[] = {"lost", NULL};
static const struct json_member lost_message_shape_members[] = {
        EVENT(lost_message, lost_events),
        JSON_WHOLE_MEMBER(lost_message, after, .flags = JSON_REQUIRED,
                          .about = "the sequence that the request named"),
        JSON_WHOLE_MEMBER(lost_message, oldest, .flags = JSON_REQUIRED,
                          .about = "sequence of the oldest event that is kept"),
};
static JSON_SHAPE(lost_message_shape, "LostMessage", lost_message,
                  "Events between were deleted before they were read");

struct figures_message {
	int64_t at;
	struct json_list items;
};
static const struct json_member figures_message_shape_members[] = {
        JSON_TIME_MEMBER(figures_message, at, .flags = JSON_REQUIRED),
        JSON_LIST_MEMBER(figures_message, items, &figure_shape, .flags = JSON_REQUIRED),
};
static JSON_SHAPE(figures_message_shape, "FiguresMessage", figures_message,
                  "The resource usage at one time; with SSE its event name is stats");

struct terminal_message {
	const char *type, *who, *signal, *cause, *data, *encoding;
	int64_t process, pid, viewer, bytes, exit_code, offset;
	bool tty, writes, timed_out;
};
static const char *const terminal_types[] = {"started", "typing", "taken_over", "dropped",
                                             "stderr",  "exit",   NULL};
static const struct json_member terminal_message_shape_members[] = {
        JSON_TEXT_MEMBER(terminal_message, type, .choices = terminal_types, .flags = JSON_REQUIRED),
        JSON_WHOLE_MEMBER(terminal_message, process, .about = "with started"),
        JSON_WHOLE_MEMBER(terminal_message, pid, .about = "with started"),
        JSON_BOOL_MEMBER(terminal_message, tty, .about = "with started"),
        JSON_WHOLE_MEMBER(terminal_message, viewer, .flags = JSON_NULLABLE,
                          .about = "with started: the client's own number; with typing and "
                                   "taken_over: the viewer's, null for a call"),
        JSON_BOOL_MEMBER(terminal_message, writes, .about = "with started: input is accepted"),
        JSON_TEXT_MEMBER(terminal_message, who, .flags = JSON_NULLABLE,
                         .about = "with typing and taken_over: name of the viewer's key or user"),
        JSON_WHOLE_MEMBER(terminal_message, bytes,
                          .about = "with dropped: bytes of output that this viewer missed"),
        JSON_WHOLE_MEMBER(terminal_message, offset, .about = "with stderr"),
        JSON_TEXT_MEMBER(terminal_message, data, .about = "with stderr"),
        JSON_TEXT_MEMBER(terminal_message, encoding, .about = "with stderr: base64 or absent"),
        EXIT_MEMBERS(terminal_message),
};
static JSON_OPEN_SHAPE(terminal_message_shape, "TerminalMessage", terminal_message,
                       "A text message of the server; output comes as binary messages");

static const struct stream_messages stream_messages[] = {
        {HTTP_POST, "/:id/exec", &command_message_shape, NULL, NULL},
        {HTTP_GET, "/:process/stream", &command_message_shape, NULL, NULL},
        {HTTP_GET, "/instances/:id/logs", &command_message_shape, NULL, NULL},
        {HTTP_POST, "/:id/code", &code_message_shape, &command_message_shape, NULL},
        {HTTP_GET, "/files/watch", &watch_message_shape, NULL, NULL},
        {HTTP_GET, "/v1/events", &fleet_event_shape, &lost_message_shape, NULL},
        {HTTP_GET, "/v1/stats", &figures_message_shape, NULL, NULL},
        {HTTP_GET, "/terminal/:session/browser", &terminal_message_shape, NULL,
         &terminal_control_shape},
        {HTTP_GET, "/:process/attach", &terminal_message_shape, NULL, &terminal_control_shape},
        {.path_end = NULL},
};

bool route_path_ends_with(const struct route *route, const char *end)
{
	size_t size = strlen(route->path), end_size = strlen(end);

	return size >= end_size && strcmp(route->path + size - end_size, end) == 0;
}

const struct stream_messages *stream_messages_of(const struct route *route)
{
	const struct stream_messages *m = stream_messages;

	while (m->path_end &&
	       (m->method != route->method || !route_path_ends_with(route, m->path_end)))
		m++;
	return m;
}

void schema_reference_write(struct buf *out, const char *name, const char *schema)
{
	char reference[REFERENCE_SIZE];

	(void)snprintf(reference, sizeof(reference), "#/components/schemas/%s", schema);
	json_begin_object(out, name);
	json_add_text(out, "$ref", reference);
	json_end_object(out);
}

void stream_messages_write(struct buf *out, const struct stream_messages *m)
{
	if (!m->server_also) {
		if (m->server)
			schema_reference_write(out, "x-itemSchema", m->server->name);
		return;
	}
	json_begin_object(out, "x-itemSchema");
	json_begin_list(out, "anyOf");
	schema_reference_write(out, NULL, m->server->name);
	schema_reference_write(out, NULL, m->server_also->name);
	json_end_list(out);
	json_end_object(out);
}

void stream_websocket_write(struct buf *out, const struct route *route)
{
	const struct stream_messages *messages = stream_messages_of(route);

	if (!(route->flags & ROUTE_WEBSOCKET) || !messages->server)
		return;
	json_begin_object(out, "x-messages");
	schema_reference_write(out, "server", messages->server->name);
	schema_reference_write(out, "client", messages->client->name);
	json_end_object(out);
}
