/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/process/session — persistent shells (shell/shell.h), and the output of the
 * template's own program as the session "entrypoint". */
#include <string.h>

#include "calls/stream.h"
#include "edge/activity.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "shell/marks.h"
#include "shell/shell.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "wire/agent.h"

#define BASE DAYTONA_TOOLBOX "/:id/process/session"
#define ENTRYPOINT "entrypoint"
#define TEXT_MAX ((size_t)2 * SHELL_RING)

enum follow_form { FORM_EXEC, FORM_LOGS, FORM_FOLLOW };
struct follow {
	struct stream stream;
	enum follow_form form;
	struct shell_marks marks[2];
	struct follow_side {
		struct follow *follow;
		bool is_inside; /* the output belongs to the command */
		bool has_ended; /* on this stream */
		struct buf text;
	} sides[2];
	struct buf both, out;
	char id[ID_SIZE + 1]; /* of the command; "" = all output */
	int64_t exit_code;
	struct relay *relay; /* while a message is handled */
};

static struct follow *follow_of(struct stream *s)
{
	return CONTAINER_OF(s, struct follow, stream);
}

static void follow_done(struct stream *s)
{
	struct follow *f = follow_of(s);

	for (unsigned i = 0; i < 2; i++) {
		shell_marks_done(&f->marks[i]);
		buf_done(&f->sides[i].text);
	}
	buf_done(&f->both);
	buf_done(&f->out);
}

/* Writes a prefix before each line: \1\1\1 for stdout, \2\2\2 for stderr. */
static void write_prefixed_lines(struct follow_side *side, struct span bytes)
{
	struct follow *f = side->follow;
	char prefix = side == &f->sides[0] ? 1 : 2;

	buf_reset(&f->out);
	while (bytes.size > 0) {
		ptrdiff_t end = span_find(bytes, '\n');
		size_t size = end < 0 ? bytes.size : (size_t)end + 1;

		buf_add(&f->out, (const char[]){prefix, prefix, prefix}, 3);
		buf_add_span(&f->out, span_take(&bytes, size));
	}
	relay_write(f->relay, buf_span(&f->out));
}

static void on_bytes(void *context, struct span bytes)
{
	struct follow_side *side = context;
	struct follow *f = side->follow;

	if (!side->is_inside || bytes.size == 0)
		return;
	if (f->form == FORM_FOLLOW) {
		write_prefixed_lines(side, bytes);
		return;
	}
	activity_add_output(f->stream.note, bytes);
	buf_add_span(&side->text, bytes);
	buf_add_span(&f->both, bytes);
}

static void on_mark(void *context, const struct shell_mark *mark)
{
	struct follow_side *side = context;
	struct follow *f = side->follow;

	if (!f->id[0] || strcmp(mark->id, f->id) != 0)
		return;
	side->is_inside = mark->kind == MARK_BEGIN;
	if (mark->kind == MARK_END) {
		side->has_ended = true;
		f->exit_code = mark->exit_code;
	}
}

static const struct shell_marks_ops shell_marks_ops = {.on_bytes = on_bytes, .on_mark = on_mark};

/* Writes the members "output", "stdout" and "stderr", which end the object. */
static void write_logs(struct buf *out, struct span both, const struct span streams[2])
{
	json_add_span(out, "output", both);
	json_add_span(out, "stdout", streams[0]);
	json_add_span(out, "stderr", streams[1]);
	json_end_object(out);
}

static void note_end(const struct follow *f)
{
	activity_report(f->stream.note,
	                &(struct activity_result){
	                        .outcome = f->exit_code == 0 ? ACTIVITY_OK : ACTIVITY_FAILED,
	                        .exit_code = f->exit_code,
	                        .duration_ms = -1,
	                });
}

static void finish_reply(struct follow *f, struct relay *relay)
{
	const struct span streams[2] = {buf_span(&f->sides[0].text), buf_span(&f->sides[1].text)};

	if (f->form == FORM_FOLLOW) {
		relay_finish(relay);
		return;
	}
	buf_reset(&f->out);
	json_begin_object(&f->out, NULL);
	if (f->form == FORM_EXEC) {
		note_end(f);
		json_add_text(&f->out, "cmdId", f->id);
		json_add_whole(&f->out, "exitCode", f->exit_code);
	}
	write_logs(&f->out, buf_span(&f->both), streams);
	relay_answer(relay, 200, "application/json", buf_span(&f->out));
}

static int on_output(struct follow *f, struct span payload, struct error *err)
{
	struct agent_output output;

	if (stream_decode(&f->stream, payload, agent_output_shape, &output, sizeof(output), err) <
	    0)
		return -1;
	if (output.stream != AGENT_STDOUT && output.stream != AGENT_STDERR)
		return stream_unexpected(AGENT_OUTPUT, err);
	shell_marks_add(&f->marks[output.stream - AGENT_STDOUT], output.bytes);
	return 0;
}

/* The shell has ended, and the command with it; or all existing output was sent. */
static int on_end(struct follow *f, struct relay *relay, uint16_t type, struct span payload,
                  struct error *err)
{
	struct agent_process p;

	if (type == AGENT_EXIT) {
		if (stream_decode(&f->stream, payload, agent_process_shape, &p, sizeof(p), err) < 0)
			return -1;
		f->exit_code = p.exit_code;
	}
	f->stream.ended = true;
	shell_marks_end(&f->marks[0]);
	shell_marks_end(&f->marks[1]);
	finish_reply(f, relay);
	return 0;
}

static int follow_on_message(struct stream *s, struct relay *relay, uint16_t type,
                             struct span payload, struct error *err)
{
	struct follow *f = follow_of(s);

	f->relay = relay;
	if (type == AGENT_STARTED)
		return 0;
	if (type == AGENT_EXIT || type == AGENT_DONE)
		return on_end(f, relay, type, payload, err);
	if (type != AGENT_OUTPUT)
		return stream_unexpected(type, err);
	if (on_output(f, payload, err) < 0)
		return -1;
	/* The connection to the agent is still attached; closing the stream closes it. */
	if (f->sides[0].has_ended && f->sides[1].has_ended)
		finish_reply(f, relay);
	return 0;
}

/* The client's messages on a WebSocket are ignored. */
static int follow_on_client(UNUSED struct stream *s, UNUSED struct relay *relay,
                            UNUSED struct span bytes, UNUSED bool last, UNUSED struct error *err)
{
	return 0;
}

static const struct stream_ops follow_ops = {
        .size = sizeof(struct follow),
        .on_message = follow_on_message,
        .on_client = follow_on_client,
        .done = follow_done,
};
static const struct stream_ops collect_ops = {
        .size = sizeof(struct follow),
        .on_message = follow_on_message,
        .done = follow_done,
};

static struct follow *follow_new(struct api_target *t, enum follow_form form, const char *id)
{
	const struct stream_ops *ops = form == FORM_FOLLOW ? &follow_ops : &collect_ops;
	struct follow *f = follow_of(stream_new(ops, t->hold));

	f->form = form;
	f->both = BUF(TEXT_MAX);
	f->out = BUF(16 * TEXT_MAX);
	memcpy(f->id, id, strlen(id) + 1);
	for (unsigned i = 0; i < 2; i++) {
		f->sides[i] = (struct follow_side){
		        .follow = f, .is_inside = !id[0], .text = BUF(TEXT_MAX)};
		shell_marks_init(&f->marks[i], &shell_marks_ops, &f->sides[i]);
	}
	return f;
}

static int follow_start(struct request *rq, struct follow *f, const struct agent_attach *attach,
                        struct reply *reply, struct error *err)
{
	struct stream *s = &f->stream;
	struct stream_options options = {.fd = -1, .request = AGENT_ATTACH};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, attach};

	if (compute_open(s->hold.provider, s->hold.id, &request, rq->deadline, &options.fd, err) <
	    0) {
		stream_free(s);
		return -1;
	}
	if (f->form == FORM_FOLLOW)
		return stream_start_websocket(s, rq, reply, &options, err);
	stream_start(s, reply, &options);
	return 0;
}

/* The session that the path names; its sandbox is held. */
struct daytona_session {
	struct api_target target;
	struct shell_call call;
	struct shell shell;
};

static void daytona_session_done(struct daytona_session *s)
{
	api_target_done(&s->target);
}
#define SESSION AUTO(daytona_session_done) struct daytona_session

static int open_named_session(struct request *rq, const char *name, struct daytona_session *ret,
                              struct error *err)
{
	if (daytona_target_open(rq, &ret->target, err) < 0)
		return -1;
	ret->call = (struct shell_call){.queue = api_of(rq)->shell_queue,
	                                .hold = ret->target.hold,
	                                .name = name,
	                                .deadline = rq->deadline};
	return 0;
}

static int open_session(struct request *rq, struct daytona_session *ret, struct error *err)
{
	if (open_named_session(rq, request_param(rq, "session"), ret, err) < 0)
		return -1;
	return shell_find(&ret->call, rq->arena, &ret->shell, err);
}

struct session_create_body {
	const char *id;
};
static const struct json_member create_request_members[] = {
        JSON_TEXT_MEMBER(session_create_body, id, .name = "sessionId", .flags = JSON_REQUIRED,
                         .min = 1, .max = SHELL_NAME_MAX),
};
static JSON_OPEN_SHAPE(create_request, "DaytonaSessionCreate", session_create_body,
                       "A session to open");

static int create_session(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct session_create_body *b = body;
	SESSION s = {.call = {.name = b->id}};
	struct shell_options open;

	if (strcmp(b->id, ENTRYPOINT) == 0)
		return FAIL(err, ERROR_CONFLICT, "'" ENTRYPOINT "' is the template's own program");
	if (open_named_session(rq, b->id, &s, err) < 0)
		return -1;
	open = (struct shell_options){
	        .cwd = s.target.workdir,
	        .user = s.target.user,
	        .env = s.target.env,
	};
	if (shell_open(&s.call, rq->arena, &open, err) < 0)
		return -1;
	reply_status(reply, 201);
	return 0;
}

static int delete_session(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	SESSION s = {.call = {.name = NULL}};

	if (open_named_session(rq, request_param(rq, "session"), &s, err) < 0 ||
	    shell_close(&s.call, rq->arena, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

static void write_command(struct buf *out, const struct shell_command *c)
{
	json_begin_object(out, NULL);
	json_add_text(out, "id", c->id);
	json_add_text(out, "command", c->text);
	if (c->has_ended)
		json_add_whole(out, "exitCode", c->exit_code);
	json_end_object(out);
}

static void write_commands(struct buf *out, const char *session, const struct shell_command *items,
                           size_t count)
{
	json_begin_object(out, NULL);
	json_add_text(out, "sessionId", session);
	json_begin_list(out, "commands");
	for (size_t i = 0; i < count; i++)
		write_command(out, &items[i]);
	json_end_list(out);
	json_end_object(out);
}

static int write_session(struct request *rq, const struct shell_call *call,
                         const struct shell *shell, struct buf *out, struct error *err)
{
	struct shell_commands commands;

	if (shell_read_commands(call, rq->arena, shell, &commands, err) < 0)
		return -1;
	write_commands(out, shell->name, commands.items, commands.count);
	return 0;
}

static int get_session(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	SESSION s = {.call = {.name = NULL}};

	if (open_session(rq, &s, err) < 0)
		return -1;
	return write_session(rq, &s.call, &s.shell, reply_buf(reply, "application/json"), err);
}

static int list_sessions(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");
	SESSION s = {.call = {.name = NULL}};
	struct shell_array found;

	if (open_named_session(rq, NULL, &s, err) < 0 ||
	    shell_list(&s.call, rq->arena, &found, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < found.count; i++)
		if (write_session(rq, &s.call, &found.items[i], out, err) < 0)
			return -1;
	json_end_list(out);
	return 0;
}

static int find_command_among(struct request *rq, const struct daytona_session *s,
                              struct shell_commands *ret_all, struct shell_command *ret,
                              struct error *err)
{
	if (shell_read_commands(&s->call, rq->arena, &s->shell, ret_all, err) < 0)
		return -1;
	return shell_command_find(ret_all, request_param(rq, "command"), ret, err);
}

static int find_command(struct request *rq, const struct daytona_session *s,
                        struct shell_command *ret, struct error *err)
{
	struct shell_commands all;

	return find_command_among(rq, s, &all, ret, err);
}

static int get_command(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	SESSION s = {.call = {.name = NULL}};
	struct shell_command command;

	if (open_session(rq, &s, err) < 0 || find_command(rq, &s, &command, err) < 0)
		return -1;
	write_command(reply_buf(reply, "application/json"), &command);
	return 0;
}

static bool wants_websocket(const struct request *rq)
{
	return request_header(rq, "Upgrade") != NULL;
}

static int get_command_logs(struct request *rq, UNUSED const void *body, struct reply *reply,
                            struct error *err)
{
	SESSION s = {.call = {.name = NULL}};
	struct shell_command command;
	struct agent_attach attach = {.read_only = 1};

	if (open_session(rq, &s, err) < 0 || find_command(rq, &s, &command, err) < 0)
		return -1;
	if (!wants_websocket(rq)) {
		struct buf *out = reply_buf(reply, "application/json");

		json_begin_object(out, NULL);
		write_logs(out, command.both, command.out);
		return 0;
	}
	attach.process = s.shell.process;
	attach.until_end = !command.has_ended;
	return follow_start(rq, follow_new(&s.target, FORM_FOLLOW, command.id), &attach, reply,
	                    err);
}

struct session_exec_body {
	const char *command;
	bool run_async, async;
};
static const struct json_member exec_request_members[] = {
        JSON_TEXT_MEMBER(session_exec_body, command, .flags = JSON_REQUIRED, .min = 1),
        JSON_BOOL_MEMBER(session_exec_body, run_async, .name = "runAsync", .flags = JSON_NULLABLE),
        JSON_BOOL_MEMBER(session_exec_body, async, .flags = JSON_NULLABLE),
};
static JSON_OPEN_SHAPE(exec_request, "DaytonaSessionExec", session_exec_body, "A command to run");

static struct activity_note *begin_note(const struct request *rq, const struct api_target *t,
                                        const char *command)
{
	const struct api_activity_call call = {.kind = ACTIVITY_COMMAND, .operation = "exec"};
	struct activity_note *n = api_activity_begin(rq, t, &call);

	activity_add_text(n, span_of(command));
	return n;
}

/* No call waits for the command's end. */
static void end_detached(struct activity_note *n)
{
	activity_report(n, &(struct activity_result){ACTIVITY_UNKNOWN, -1, -1,
	                                             "it runs in the background"});
	activity_end(n);
}

static int execute_command(struct request *rq, const void *body, struct reply *reply,
                           struct error *err)
{
	const struct session_exec_body *b = body;
	SESSION s = {.call = {.name = NULL}};
	struct agent_attach attach = {.read_only = 1, .until_end = 1};
	struct activity_note *note;
	struct follow *f;
	struct id id;

	if (open_session(rq, &s, err) < 0)
		return -1;
	if (s.shell.has_ended)
		daytona_failure_set_name(rq, "SESSION_ENDED");
	if (shell_run_command(&s.call, rq->arena, &s.shell, b->command, &id, err) < 0)
		return -1;
	note = begin_note(rq, &s.target, b->command);
	if (b->run_async || b->async) {
		end_detached(note);
		reply_status(reply, 202);
		return daytona_reply_member(reply, "cmdId", id.text);
	}
	attach.process = s.shell.process;
	memcpy(attach.since, s.shell.output_end, sizeof(attach.since));
	f = follow_new(&s.target, FORM_EXEC, id.text);
	f->stream.note = note;
	return follow_start(rq, f, &attach, reply, err);
}

struct session_input_body {
	const char *data;
};
static const struct json_member input_request_members[] = {
        JSON_TEXT_MEMBER(session_input_body, data, .flags = JSON_REQUIRED),
};
static JSON_OPEN_SHAPE(input_request, "DaytonaSessionInput", session_input_body,
                       "Text for the standard input of a command");

static int write_command_input(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct session_input_body *b = body;
	SESSION s = {.call = {.name = NULL}};
	struct shell_commands all;
	struct shell_command command;
	struct shell_input fed = {.command = &command, .bytes = span_of(b->data)};
	bool is_taken;

	if (open_session(rq, &s, err) < 0 || find_command_among(rq, &s, &all, &command, err) < 0)
		return -1;
	fed.folder = all.folder;
	fed.user = s.target.user;
	if (shell_write_input(&s.call, &s.shell, &fed, &is_taken, err) < 0)
		return -1;
	if (!is_taken) {
		daytona_failure_set_name(rq, "COMMAND_ALREADY_COMPLETED");
		return FAIL(err, ERROR_CONFLICT, "command '%s' has ended", command.id);
	}
	reply_status(reply, 204);
	return 0;
}

struct entrypoint {
	struct arena *arena;
	struct agent_process process; /* process 0 = none */
	const char *text;
};

static void on_process(void *context, const struct agent_process *p)
{
	struct entrypoint *e = context;
	const char *text = "";

	if (strcmp(p->label, ENTRYPOINT) != 0)
		return;
	for (size_t i = 0; p->args[i]; i++)
		text = arena_format(e->arena, "%s%s%s", text, i > 0 ? " " : "", p->args[i]);
	e->process = *p;
	e->text = text;
}

static int open_entrypoint(struct request *rq, struct daytona_session *s, struct entrypoint *ret,
                           struct error *err)
{
	*ret = (struct entrypoint){.arena = rq->arena};
	if (open_named_session(rq, ENTRYPOINT, s, err) < 0 ||
	    compute_processes(s->call.hold->provider, s->call.hold->id, on_process, ret,
	                      rq->deadline, err) < 0)
		return -1;
	if (ret->process.process == 0)
		return FAIL(err, ERROR_NOT_FOUND, "the sandbox's template starts no program");
	return 0;
}

static int get_entrypoint(struct request *rq, UNUSED const void *body, struct reply *reply,
                          struct error *err)
{
	SESSION s = {.call = {.name = NULL}};
	struct shell_command program = {.id = ENTRYPOINT};
	struct entrypoint e;

	if (open_entrypoint(rq, &s, &e, err) < 0)
		return -1;
	program.text = e.text;
	program.has_ended = e.process.state == AGENT_PROCESS_ENDED;
	program.exit_code = e.process.exit_code;
	write_commands(reply_buf(reply, "application/json"), ENTRYPOINT, &program, 1);
	return 0;
}

static int get_entrypoint_logs(struct request *rq, UNUSED const void *body, struct reply *reply,
                               struct error *err)
{
	enum follow_form form = wants_websocket(rq) ? FORM_FOLLOW : FORM_LOGS;
	SESSION s = {.call = {.name = NULL}};
	struct agent_attach attach = {.read_only = 1, .until_end = form == FORM_FOLLOW};
	struct entrypoint e;

	if (open_entrypoint(rq, &s, &e, err) < 0)
		return -1;
	attach.process = e.process.process;
	return follow_start(rq, follow_new(&s.target, form, ""), &attach, reply, err);
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_sessions_routes[] = {
        {HTTP_POST, BASE, WRITE, .body = &create_request, .status = 201, .handle = create_session,
         TAG, .summary = "Open a session"},
        {HTTP_GET, BASE, READ, .handle = list_sessions, TAG, .summary = "List sessions"},
        {HTTP_GET, BASE "/entrypoint", READ, .handle = get_entrypoint, TAG,
         .summary = "Get the session of the template's own program"},
        {HTTP_GET, BASE "/entrypoint/logs", READ, .handle = get_entrypoint_logs, TAG,
         .summary = "Get the output of the template's own program"},
        {HTTP_GET, BASE "/:session", READ, .handle = get_session, TAG, .summary = "Get a session"},
        {HTTP_DELETE, BASE "/:session", WRITE, ROUTE_CANCEL, .status = 204,
         .handle = delete_session, TAG, .summary = "End a session"},
        {HTTP_POST, BASE "/:session/exec", WRITE, .body = &exec_request, .handle = execute_command,
         TAG, .summary = "Run a command in a session"},
        {HTTP_GET, BASE "/:session/command/:command", READ, .handle = get_command, TAG,
         .summary = "Get a command"},
        {HTTP_GET, BASE "/:session/command/:command/logs", READ, .handle = get_command_logs, TAG,
         .summary = "Get the output of a command; over a WebSocket, as it is written"},
        {HTTP_POST, BASE "/:session/command/:command/input", WRITE, .body = &input_request,
         .status = 204, .handle = write_command_input, TAG,
         .summary = "Write to the standard input of a command"},
        {.path = NULL},
};
