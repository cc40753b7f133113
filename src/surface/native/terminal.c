/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals. POST …/instances/:id/terminal starts one; a WebSocket on …/terminal/:session/browser
 * attaches to it.
 *
 * A session is a process of the agent. It continues without viewers and accepts several viewers
 * at once, from any offset that the agent still stores. The path that POST returns contains a
 * ticket (edge/tickets.h) that works once; POST with the session returns another ticket.
 *
 * The same WebSocket attaches to any process: …/instances/:id/processes/:process/attach. Binary
 * messages are input and output.
 * The client sends {"type":"resize","rows":40,"columns":120}, {"type":"signal","signal":"INT"},
 * {"type":"eof"} and {"type":"takeover"}.
 * The server sends {"type":"started",…}, {"type":"stderr","offset":0,"data":…} for a process
 * without a terminal, {"type":"exit",…}, {"type":"dropped","bytes":7} where output is missing,
 * and {"type":"typing",…} and {"type":"taken_over",…} about other viewers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "calls/command.h"
#include "calls/stream.h"
#include "edge/caller.h"
#include "edge/target.h"
#include "edge/text.h"
#include "edge/tickets.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/compute.h"
#include "surface/native/native.h"
#include "surface/native/viewers.h"
#include "surface/native/windows.h"
#include "terminal/recording.h"
#include "terminal/terminal.h"
#include "wire/agent_cause.h"

struct terminal_body {
	int64_t rows, cols;
	const char *command, *cwd, *user, *session, *name;
	int64_t ttl_s;
	bool record;
	struct json_map env;
};
static const struct json_member terminal_request_members[] = {
        JSON_TEXT_MEMBER(terminal_body, name, .max = TERMINAL_NAME_MAX,
                         .about = "name of the window; an open window with this name is reused "
                                  "(default: a new window with a generated name)"),
        JSON_WHOLE_MEMBER(terminal_body, rows, .min = 0, .max = TERMINAL_ROWS_MAX,
                          .about = "default 24"),
        JSON_WHOLE_MEMBER(terminal_body, cols, .min = 0, .max = TERMINAL_COLUMNS_MAX,
                          .about = "default 80"),
        JSON_WHOLE_MEMBER(terminal_body, ttl_s, .min = 1, .max = TERMINAL_TTL_MS_MAX / 1000,
                          .about = "idle time after which the terminal closes, unless a process "
                                   "runs in it (default: the project's setting)"),
        JSON_BOOL_MEMBER(
                terminal_body, record,
                .about = "record the window from its earliest stored output on; the setting "
                         "record_terminals does this for all new windows; /api/sandbox/recordings "
                         "lists the recording when the window has closed"),
        JSON_TEXT_MEMBER(terminal_body, command,
                         .about = "shell command line (default: a login shell)"),
        JSON_TEXT_MEMBER(terminal_body, cwd, .max = 4096),
        JSON_TEXT_MEMBER(terminal_body, user, .max = 64),
        JSON_TEXT_MAP_MEMBER(terminal_body, env, .max = 256, .flags = JSON_SECRET),
        JSON_TEXT_MEMBER(
                terminal_body, session, .max = 64,
                .about = "sessionId of an open terminal; the reply only has a new path to it"),
};
static JSON_SHAPE(terminal_request, "Terminal", terminal_body, "A terminal to open");

struct terminal_answer {
	const char *session_id, *path, *name;
	int64_t process;
	bool created;
};
static const struct json_member terminal_shape_members[] = {
        JSON_TEXT_MEMBER(terminal_answer, session_id, .name = "sessionId"),
        JSON_TEXT_MEMBER(terminal_answer, path,
                         .about = "path of the WebSocket with a ticket instead of a key; the "
                                  "ticket works once within a minute"),
        JSON_WHOLE_MEMBER(terminal_answer, process),
        JSON_TEXT_MEMBER(terminal_answer, name, .flags = JSON_NULLABLE,
                         .about = "name of the window; null if the request named a session"),
        JSON_BOOL_MEMBER(terminal_answer, created, .about = "false: the terminal was already open"),
};
static JSON_SHAPE(terminal_shape, "TerminalSession", terminal_answer, "An open terminal");

/* The path contains a ticket, because a browser cannot send a key when it opens a WebSocket. */
static void reply_terminal(struct request *rq, const struct api_target *t,
                           struct terminal_answer *answer, struct reply *reply)
{
	const struct api_caller *caller = rq->caller;
	struct api_ticket ticket;
	char text[API_TICKET_SIZE + 1];

	answer->session_id = arena_format(rq->arena, "%s.%" PRId64, t->id, answer->process);
	memcpy(ticket.key_hash, caller->key_hash, sizeof(ticket.key_hash));
	ticket.is_login = caller->is_login;
	(void)snprintf(ticket.project_id, sizeof(ticket.project_id), "%s", api_project(rq));
	(void)snprintf(ticket.path, sizeof(ticket.path), "/api/sandbox/terminal/%s/browser",
	               answer->session_id);
	api_tickets_issue(api_of(rq)->tickets, &ticket, clock_monotonic_ms(), text);
	answer->path =
	        arena_format(rq->arena, "%s?ticket=%s", ticket.path,
	                     api_ticket_sign(api_of(rq)->fleet, rq->arena, text, ticket.path));
	reply_status(reply, 201);
	reply_json(reply, &terminal_shape, answer);
}

int terminal_options_resolve(struct request *rq, const struct api_target *t,
                             const struct window_open_request *request, struct terminal_open *ret,
                             struct error *err)
{
	struct sandbox_command c = {.count = 0};
	struct terminal_open open = {.command = request->command};

	if (command_set_cwd(&c, rq->arena, t, request->cwd, err) < 0 ||
	    api_target_env(rq, t, request->env, &open.env, err) < 0 ||
	    terminal_take_settings(api_of(rq)->store, rq->arena, api_project(rq), &open, err) < 0)
		return -1;
	open.cwd = c.exec.cwd;
	open.user = request->user ? request->user : t->user;
	if (request->ttl_s)
		open.ttl_ms = request->ttl_s * 1000;
	*ret = open;
	return 0;
}

static int start_terminal(struct request *rq, const struct api_target *t,
                          const struct terminal_body *b, struct terminal_answer *ret,
                          struct error *err)
{
	struct terminal_at at = {api_of(rq)->terminals, t->hold, b->name, rq->deadline,
	                         api_caller_name(rq)};
	struct window_open_request request = {
	        .command = b->command,
	        .cwd = b->cwd,
	        .user = b->user,
	        .env = &b->env,
	        .ttl_s = b->ttl_s,
	};
	struct terminal_window window;
	struct terminal_open open;

	if (terminal_options_resolve(rq, t, &request, &open, err) < 0)
		return -1;
	open.rows = (uint32_t)b->rows;
	open.columns = (uint32_t)b->cols;
	if (terminal_open(&at, rq->arena, &open, &window, &ret->created, err) < 0)
		return -1;
	at.window = window.name;
	if (b->record && terminal_record(&at, api_project(rq), &window, err) < 0)
		return -1;
	ret->name = window.name;
	ret->process = (int64_t)window.process.process;
	return 0;
}

static int parse_process_number(struct span text, uint64_t *ret, struct error *err)
{
	int64_t number;

	if (span_parse_whole(text, 1, INT64_MAX, &number, err) < 0)
		return FAIL(err, ERROR_NOT_FOUND, "there is no such terminal or process");
	*ret = (uint64_t)number;
	return 0;
}

static int terminal_session_open(struct request *rq, const void *body, struct reply *reply,
                                 struct error *err)
{
	const struct terminal_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct span rest = span_of(b->session), id;
	struct terminal_answer answer = {.name = NULL};
	uint64_t process;

	if (api_target_open(rq, &t, err) < 0)
		return -1;
	if (b->session) {
		(void)span_split(&rest, '.', &id);
		if (!span_equals_text(id, t.id))
			return FAIL(err, ERROR_NOT_FOUND, "this sandbox has no terminal '%s'",
			            b->session);
		if (parse_process_number(rest, &process, err) < 0)
			return -1;
		answer.process = (int64_t)process;
	} else if (start_terminal(rq, &t, b, &answer, err) < 0) {
		return -1;
	}
	reply_terminal(rq, &t, &answer, reply);
	return 0;
}

struct terminal_stream {
	struct stream stream;
	struct api *api;
	struct connected_viewer connection;
	bool takes_over; /* take over as soon as the stream starts */
	uint64_t next;   /* next expected offset of stdout, for terminal_missed */
	struct buf out;
};

static void terminal_done(struct stream *s)
{
	struct terminal_stream *t = CONTAINER_OF(s, struct terminal_stream, stream);

	terminal_viewer_remove(t->api->terminals, &t->connection.viewer);
	buf_done(&t->out);
}

static void take_over_terminal(struct terminal_stream *t)
{
	const struct terminal_viewer *v = &t->connection.viewer;

	if (terminal_viewer_take_over(t->api->terminals, &t->connection.viewer) > 0)
		viewers_announce(t->api, &(struct viewer_event){VIEWER_TAKEN_OVER, v->sandbox,
		                                                v->process, v->id, v->who});
}

static void terminal_on_start(struct stream *s, struct relay *relay)
{
	struct terminal_stream *t = CONTAINER_OF(s, struct terminal_stream, stream);

	t->connection.relay = relay;
	terminal_viewer_add(t->api->terminals, &t->connection.viewer);
	if (t->takes_over)
		take_over_terminal(t);
}

struct terminal_control {
	int type;
	int64_t rows, columns, cols;
	const char *signal;
};
enum { CONTROL_RESIZE, CONTROL_SIGNAL, CONTROL_EOF, CONTROL_TAKEOVER };
static const char *const control_types[] = {"resize", "signal", "eof", "takeover", NULL};
static const struct json_member terminal_control_shape_members[] = {
        JSON_CHOICE_MEMBER(terminal_control, type, .flags = JSON_REQUIRED,
                           .choices = control_types),
        JSON_WHOLE_MEMBER(terminal_control, rows, .min = 0, .max = 10000, .about = "with resize"),
        JSON_WHOLE_MEMBER(terminal_control, columns, .min = 0, .max = 10000,
                          .about = "with resize: another name of cols"),
        JSON_WHOLE_MEMBER(terminal_control, cols, .min = 0, .max = 10000, .about = "with resize"),
        JSON_TEXT_MEMBER(terminal_control, signal, .max = 16, .about = "with signal, such as INT"),
};
JSON_SHAPE(terminal_control_shape, "TerminalControl", terminal_control,
           "A text message of the client; input is sent as binary messages");

static int run_control(struct stream *s, struct relay *relay, struct span text, struct error *err)
{
	struct terminal_stream *t = CONTAINER_OF(s, struct terminal_stream, stream);
	struct terminal_control c;
	struct agent_resize resize;
	struct agent_signal signal = {.process = 0};

	if (json_parse(&s->arena, text, &terminal_control_shape, &c, err) < 0)
		return -1;
	if (c.type == CONTROL_TAKEOVER) {
		if (t->connection.viewer.may_write)
			take_over_terminal(t);
		return 0;
	}
	if (!t->connection.viewer.writes)
		return 0;
	switch (c.type) {
	case CONTROL_RESIZE:
		resize.rows = (uint32_t)(c.rows ? c.rows : 24);
		resize.columns = (uint32_t)(c.columns ? c.columns : c.cols ? c.cols : 80);
		return stream_send(relay, AGENT_RESIZE, agent_resize_shape, &resize, err);
	case CONTROL_SIGNAL:
		if (agent_signal_parse(c.signal ? c.signal : "", &signal.signal, err) < 0)
			return -1;
		return stream_send(relay, AGENT_SIGNAL, agent_signal_shape, &signal, err);
	default:
		return stream_send(relay, AGENT_STDIN_END, NULL, NULL, err);
	}
}

static int terminal_on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                              struct error *err)
{
	struct terminal_stream *t = CONTAINER_OF(s, struct terminal_stream, stream);
	struct terminal_viewer *v = &t->connection.viewer;
	int result;

	(void)last;
	if (bytes.size == 0)
		return 0;
	if (!relay_message_is_text(relay)) {
		if (!v->writes)
			return 0;
		stream_send_bytes(relay, AGENT_STDIN, bytes);
		if (terminal_viewer_types(t->api->terminals, v))
			viewers_announce(t->api, &(struct viewer_event){VIEWER_TYPING, v->sandbox,
			                                                v->process, v->id, v->who});
		return 0;
	}
	result = run_control(s, relay, bytes, err);
	arena_done(&s->arena); /* the stream may be idle for an hour */
	return result;
}

static void begin_event(struct terminal_stream *t, const char *type)
{
	json_begin_object(&t->out, NULL);
	json_add_text(&t->out, "type", type);
}

static void write_event(struct terminal_stream *t, struct relay *relay)
{
	json_end_object(&t->out);
	relay_write_text_message(relay, buf_span(&t->out));
	buf_done(&t->out);
}

static void write_started_event(struct terminal_stream *t, struct relay *relay,
                                const struct agent_process *p)
{
	begin_event(t, "started");
	json_add_whole(&t->out, "process", (int64_t)p->process);
	json_add_whole(&t->out, "pid", p->pid);
	json_add_bool(&t->out, "tty", p->flags & AGENT_EXEC_TTY);
	json_add_whole(&t->out, "viewer", (int64_t)t->connection.viewer.id);
	json_add_bool(&t->out, "writes", t->connection.viewer.writes);
	write_event(t, relay);
}

static void write_exit_event(struct terminal_stream *t, struct relay *relay,
                             const struct agent_process *p)
{
	char signal[16];

	agent_signal_name(p->signal, signal);
	begin_event(t, "exit");
	json_add_whole(&t->out, "exit_code", p->exit_code);
	json_add_text(&t->out, "signal", signal[0] ? signal : NULL);
	json_add_bool(&t->out, "timed_out", p->timed_out);
	json_add_text(&t->out, "cause", agent_process_cause(p));
	write_event(t, relay);
	t->stream.ended = true;
	relay_finish(relay);
}

static void write_dropped_event(struct terminal_stream *t, struct relay *relay, uint64_t bytes)
{
	if (bytes == 0)
		return;
	begin_event(t, "dropped");
	json_add_whole(&t->out, "bytes", (int64_t)bytes);
	write_event(t, relay);
}

static void write_output(struct terminal_stream *t, struct relay *relay,
                         const struct agent_output *o)
{
	if (o->stream == AGENT_STDOUT) {
		write_dropped_event(t, relay, terminal_missed(&t->next, o));
		relay_write(relay, o->bytes);
		return;
	}
	begin_event(t, "stderr");
	json_add_whole(&t->out, "offset", (int64_t)o->offset);
	text_write(&t->out, "data", "encoding", o->bytes);
	write_event(t, relay);
}

static int terminal_on_message(struct stream *s, struct relay *relay, uint16_t type,
                               struct span payload, struct error *err)
{
	struct terminal_stream *t = CONTAINER_OF(s, struct terminal_stream, stream);
	struct agent_process p;
	struct agent_output o;

	if (type == AGENT_OUTPUT) {
		if (stream_decode(s, payload, agent_output_shape, &o, sizeof(o), err) < 0)
			return -1;
		write_output(t, relay, &o);
		return 0;
	}
	if (type != AGENT_STARTED && type != AGENT_EXIT)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_process_shape, &p, sizeof(p), err) < 0)
		return -1;
	if (type == AGENT_STARTED)
		write_started_event(t, relay, &p);
	else
		write_exit_event(t, relay, &p);
	arena_done(&s->arena); /* decoding output needs no arena */
	return 0;
}

static const struct stream_ops terminal_ops = {
        .size = sizeof(struct terminal_stream),
        .on_start = terminal_on_start,
        .on_message = terminal_on_message,
        .on_client = terminal_on_client,
        .done = terminal_done,
};

struct terminal_attach_query {
	const char *since, *ticket;
	bool read_only, takeover;
};
static const struct json_member terminal_attach_query_members[] = {
        JSON_TEXT_MEMBER(terminal_attach_query, since, .max = 64,
                         .about = "offset of the first byte, \"STDOUT\" or \"STDOUT.STDERR\" "
                                  "(default: the beginning)"),
        JSON_BOOL_MEMBER(terminal_attach_query, read_only, .about = "attach without input"),
        JSON_BOOL_MEMBER(terminal_attach_query, takeover,
                         .about = "make all other viewers read-only"),
        JSON_TEXT_MEMBER(terminal_attach_query, ticket, .max = API_TICKET_TEXT_MAX,
                         .about = "ticket of POST …/terminal, instead of a key"),
};
static JSON_SHAPE(terminal_attach_query, "AttachQuery", terminal_attach_query,
                  "Options of an attachment");

static void set_viewer(struct terminal_viewer *v, const struct request *rq,
                       const struct api_target *t, uint64_t process)
{
	v->process = process;
	(void)snprintf(v->sandbox, sizeof(v->sandbox), "%s", t->id);
	(void)snprintf(v->who, sizeof(v->who), "%s", api_caller_name(rq));
	(void)snprintf(v->peer, sizeof(v->peer), "%s", rq->peer);
}

static int attach_to_process(struct request *rq, struct api_target *t, uint64_t process,
                             struct reply *reply, struct error *err)
{
	const struct terminal_attach_query *q = rq->query;
	struct stream_options options = {.fd = -1, .request = AGENT_ATTACH};
	struct agent_attach message = {
	        .process = process,
	        .read_only = q->read_only,
	        .until_end = 1,
	};
	struct terminal_open settings;
	struct terminal_stream *terminal;
	struct stream *s;

	if (q->takeover && q->read_only)
		return FAIL(err, ERROR_INVALID, "takeover and read_only are both given");
	if (terminal_take_settings(api_of(rq)->store, rq->arena, api_project(rq), &settings, err) <
	            0 ||
	    (q->since && output_since_parse(span_of(q->since), message.since, err) < 0) ||
	    compute_open(t->provider, t->id,
	                 &(struct compute_request){AGENT_ATTACH, agent_attach_shape, &message},
	                 rq->deadline, &options.fd, err) < 0)
		return -1;
	options.idle_timeout_ms = settings.ttl_ms;
	s = stream_new(&terminal_ops, t->hold);
	terminal = CONTAINER_OF(s, struct terminal_stream, stream);
	terminal->out = BUF(1024 * 1024);
	terminal->api = api_of(rq);
	terminal->takes_over = q->takeover;
	terminal->next = message.since[0];
	set_viewer(&terminal->connection.viewer, rq, t, process);
	terminal->connection.viewer.may_write = terminal->connection.viewer.writes = !q->read_only;
	return stream_start_websocket(s, rq, reply, &options, err);
}

static int terminal_attach(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct span rest = span_of(request_param(rq, "session")), id;
	uint64_t process;

	(void)body;
	(void)span_split(&rest, '.', &id);
	if (parse_process_number(rest, &process, err) < 0 ||
	    api_target_open_id(rq, arena_copy(rq->arena, id), &t, err) < 0)
		return -1;
	return attach_to_process(rq, &t, process, reply, err);
}

static int process_attach(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	uint64_t process;

	(void)body;
	if (parse_process_number(span_of(request_param(rq, "process")), &process, err) < 0 ||
	    api_target_open(rq, &t, err) < 0)
		return -1;
	return attach_to_process(rq, &t, process, reply, err);
}

#define TAG .tag = "terminals"
const struct route terminal_routes[] = {
        {HTTP_POST, "/api/sandbox/instances/:id/terminal", SCOPE_SANDBOX_WRITE,
         .body = &terminal_request, .answer = &terminal_shape, .status = 201,
         .handle = terminal_session_open, TAG, .summary = "Open a terminal"},
        {HTTP_GET, "/api/sandbox/terminal/:session/browser", SCOPE_SANDBOX_WRITE, ROUTE_WEBSOCKET,
         .query = &terminal_attach_query, .handle = terminal_attach, TAG,
         .summary = "Attach to a terminal by WebSocket"},
        {HTTP_GET, "/api/sandbox/instances/:id/processes/:process/attach", SCOPE_SANDBOX_WRITE,
         ROUTE_WEBSOCKET, .query = &terminal_attach_query, .handle = process_attach, TAG,
         .summary = "Attach to a process by WebSocket"},
        {.path = NULL},
};
