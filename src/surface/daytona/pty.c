/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/process/pty — terminals. Each is a process of the agent with the label
 * "pty:ID", and it keeps running when no client is connected. Its WebSocket carries bytes in both
 * directions; text messages of the server report the connection and the exit. */
#include <signal.h>
#include <string.h>

#include "calls/command.h"
#include "calls/stream.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "shell/shell.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "terminal/terminal.h"
#include "wire/agent_cause.h"

#define BASE DAYTONA_TOOLBOX "/:id/process/pty"
#define LABEL "pty:"
#define ROWS_MAX 1000
#define PTYS_MAX 64
#define ENVS_TOKEN "X-Daytona-Pty-Envs~"
#define EXIT_TOKEN "X-Daytona-Pty-Exit-Control"
#define ENVS_MAX ((size_t)32 * 1024)

struct pty {
	const char *id, *cwd;
	uint64_t process;
	int64_t started_at;
	struct agent_terminal_state size;
};
struct ptys {
	struct arena *arena;
	const char *wanted; /* NULL = all */
	struct pty items[PTYS_MAX];
	size_t count;
};

static void on_process(void *context, const struct agent_process *p)
{
	struct ptys *all = context;
	const char *id = p->label + strlen(LABEL);
	struct error bad;

	if (p->state != AGENT_PROCESS_RUNNING || strncmp(p->label, LABEL, strlen(LABEL)) != 0 ||
	    shell_name_check(id, &bad) < 0 || (all->wanted && strcmp(all->wanted, id) != 0) ||
	    all->count >= COUNT_OF(all->items))
		return;
	all->items[all->count++] = (struct pty){
	        .id = arena_text(all->arena, id),
	        .cwd = arena_text(all->arena, p->cwd),
	        .process = p->process,
	        .started_at = (int64_t)p->started_unix_ms,
	};
}

static int ask_size(struct request *rq, const struct api_target *t, struct agent_terminal *wanted,
                    struct pty *pty, struct error *err)
{
	wanted->process = pty->process;
	return compute_terminal(t->provider, t->id, wanted, rq->deadline, &pty->size, err);
}

static int find_ptys(struct request *rq, const struct api_target *t, struct ptys *all,
                     struct error *err)
{
	all->arena = rq->arena;
	return compute_processes(t->provider, t->id, on_process, all, rq->deadline, err);
}

/* Finds the terminal that the path names, and holds its sandbox. */
static int open_pty(struct request *rq, struct api_target *t, struct pty *ret, struct error *err)
{
	struct ptys *all = ARENA_NEW(rq->arena, struct ptys);

	all->wanted = request_param(rq, "pty");
	if (daytona_target_open(rq, t, err) < 0 || find_ptys(rq, t, all, err) < 0)
		return -1;
	if (all->count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "there is no PTY session '%.100s'", all->wanted);
	*ret = all->items[0];
	return 0;
}

static void write_pty(struct buf *out, const struct pty *p)
{
	static const struct json_map none = {.count = 0};

	json_begin_object(out, NULL);
	json_add_text(out, "id", p->id);
	json_add_text(out, "cwd", p->cwd);
	json_add_whole(out, "cols", p->size.columns);
	json_add_whole(out, "rows", p->size.rows);
	json_add_map(out, "envs", &none);
	json_add_bool(out, "active", true);
	json_add_bool(out, "lazyStart", false);
	json_add_time(out, "createdAt", p->started_at);
	json_end_object(out);
}

struct pty_body {
	const char *id, *cwd;
	struct json_map envs;
	int64_t cols, rows;
};
#define PTY_ROWS                                                                                   \
	JSON_TEXT_MEMBER(pty_body, id, .max = SHELL_NAME_MAX),                                     \
	        JSON_TEXT_MEMBER(pty_body, cwd, .max = 4096),                                      \
	        JSON_WHOLE_MEMBER(pty_body, cols, .min = 0, .max = ROWS_MAX),                      \
	        JSON_WHOLE_MEMBER(pty_body, rows, .min = 0, .max = ROWS_MAX)
static const struct json_member pty_request_members[] = {
        PTY_ROWS,
        JSON_TEXT_MAP_MEMBER(pty_body, envs, .flags = JSON_NULLABLE | JSON_SECRET, .max = 256),
};
static JSON_OPEN_SHAPE(pty_request, "DaytonaPtyCreate", pty_body, "A terminal to open");
static const struct json_member pty_query_members[] = {PTY_ROWS};
static JSON_OPEN_SHAPE(pty_query, "DaytonaPtyQuery", pty_body, "A terminal to open");

static int fill_exec(struct request *rq, const struct api_target *t, const struct pty_body *b,
                     struct agent_exec *ret, struct error *err)
{
	struct sandbox_command c = {.count = 0};
	struct json_pair *pairs = ARENA_ARRAY(rq->arena, struct json_pair, b->envs.count + 1);
	struct json_map envs = {pairs, b->envs.count + 1, true};
	const char **env;

	pairs[0] = (struct json_pair){"TERM", "xterm-256color"};
	if (b->envs.count > 0)
		memcpy(pairs + 1, b->envs.pairs, b->envs.count * sizeof(*pairs));
	if (command_set_cwd(&c, rq->arena, t, b->cwd, err) < 0 ||
	    api_target_env(rq, t, &envs, &env, err) < 0)
		return -1;
	*ret = (struct agent_exec){
	        .env = env,
	        .cwd = c.exec.cwd,
	        .user = t->user,
	        .flags = AGENT_EXEC_TTY | AGENT_EXEC_STDIN | AGENT_EXEC_DETACH |
	                 AGENT_EXEC_RESIDENT | AGENT_EXEC_SHELL,
	        .rows = b->rows ? (uint32_t)b->rows : 24,
	        .columns = b->cols ? (uint32_t)b->cols : 80,
	};
	return 0;
}

static int start_process(struct request *rq, const struct api_target *t,
                         const struct agent_exec *exec, uint64_t *ret, struct error *err)
{
	struct agent_process started;

	if (compute_start(t->provider, t->id,
	                  &(struct compute_start){exec, rq->arena, rq->deadline}, &started,
	                  err) < 0)
		return -1;
	*ret = started.process;
	return 0;
}

/* Starts a login shell: bash, or sh if there is no bash. */
static int make_pty(struct request *rq, const struct api_target *t, const struct pty_body *b,
                    struct pty *ret, struct error *err)
{
	struct ptys *all = ARENA_NEW(rq->arena, struct ptys);
	struct id generated = id_new();
	const char *id = b->id && b->id[0] ? b->id : arena_text(rq->arena, generated.text);
	struct agent_exec exec;

	if (provider_require(t->provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    shell_name_check(id, err) < 0 || fill_exec(rq, t, b, &exec, err) < 0 ||
	    find_ptys(rq, t, all, err) < 0)
		return -1;
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].id, id) == 0)
			return FAIL(err, ERROR_CONFLICT, "a PTY session '%s' exists already", id);
	if (all->count >= PTYS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d PTY sessions", PTYS_MAX);
	*ret = (struct pty){.id = id};
	exec.label = arena_format(rq->arena, LABEL "%s", id);
	exec.args = (const char *[]){"bash", "-l", NULL};
	if (start_process(rq, t, &exec, &ret->process, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	exec.args = (const char *[]){"sh", "-l", NULL};
	return start_process(rq, t, &exec, &ret->process, err);
}

static int create_pty(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct pty pty;

	if (daytona_target_open(rq, &t, err) < 0 || make_pty(rq, &t, body, &pty, err) < 0)
		return -1;
	reply_status(reply, 201);
	return daytona_reply_member(reply, "sessionId", pty.id);
}

struct pty_view {
	struct stream stream;
	uint64_t next;   /* the offset for terminal_missed */
	bool wants_exit; /* also as a message, before the close frame */
};

static int view_on_client(UNUSED struct stream *s, struct relay *relay, struct span bytes,
                          UNUSED bool last, UNUSED struct error *err)
{
	if (bytes.size > 0)
		stream_send_bytes(relay, AGENT_STDIN, bytes);
	return 0;
}

/* Writes the members of the exit, which end the object. */
static void write_reason(struct buf *out, const struct agent_process *p)
{
	const char *cause = agent_process_cause(p);
	char signal[16];

	agent_signal_name(p->signal, signal);
	json_add_whole(out, "exitCode", p->exit_code);
	if (agent_cause_is_limit(cause))
		json_add_text(out, "exitReason", cause);
	else if (signal[0])
		json_add_text(out, "exitReason", signal);
	json_end_object(out);
}

static void write_exit(struct pty_view *v, struct relay *relay, const struct agent_process *p)
{
	AUTO(buf_done) struct buf text = BUF(256), reason = BUF(123);

	json_begin_object(&reason, NULL);
	write_reason(&reason, p);
	if (v->wants_exit) {
		json_begin_object(&text, NULL);
		json_add_text(&text, "type", "control");
		json_add_text(&text, "status", "exited");
		write_reason(&text, p);
		relay_write_text_message(relay, buf_span(&text));
	}
	v->stream.ended = true;
	relay_finish_websocket(relay, 1000, buf_text(&reason));
}

/* Daytona's clients show unknown text messages as output. A client that was too slow and missed
 * output therefore gets no message; an escape sequence that was cut is cancelled. */
static void write_output(struct pty_view *v, struct relay *relay, const struct agent_output *o)
{
	if (terminal_missed(&v->next, o) > 0)
		relay_write(relay, SPAN(TERMINAL_CANCEL));
	relay_write(relay, o->bytes);
}

static int view_on_message(struct stream *s, struct relay *relay, uint16_t type,
                           struct span payload, struct error *err)
{
	struct pty_view *v = CONTAINER_OF(s, struct pty_view, stream);
	struct agent_process p;
	struct agent_output o;

	if (type == AGENT_OUTPUT) {
		if (stream_decode(s, payload, agent_output_shape, &o, sizeof(o), err) < 0)
			return -1;
		write_output(v, relay, &o);
		return 0;
	}
	if (type == AGENT_STARTED) {
		relay_write_text_message(relay,
		                         SPAN("{\"type\":\"control\",\"status\":\"connected\"}"));
		return 0;
	}
	if (type != AGENT_EXIT)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_process_shape, &p, sizeof(p), err) < 0)
		return -1;
	write_exit(v, relay, &p);
	return 0;
}

static const struct stream_ops view_ops = {
        .size = sizeof(struct pty_view),
        .on_message = view_on_message,
        .on_client = view_on_client,
};

/* The subprotocols that the client offers with the WebSocket; the server must accept one. */
struct pty_offer {
	const char *protocol;
	struct span envs; /* base64url of a JSON object */
	bool wants_exit;
};

static struct pty_offer read_offer(struct request *rq)
{
	struct span rest = span_of(request_header(rq, "Sec-WebSocket-Protocol")), one;
	struct pty_offer offer = {.protocol = NULL};
	bool more = rest.size > 0;

	while (more) {
		more = span_split(&rest, ',', &one);
		one = span_trim(one);
		if (one.size > 0 && (!offer.protocol || span_starts_with(one, ENVS_TOKEN)))
			offer.protocol = arena_copy(rq->arena, one);
		if (span_starts_with(one, ENVS_TOKEN))
			offer.envs = (struct span){one.data + strlen(ENVS_TOKEN),
			                           one.size - strlen(ENVS_TOKEN)};
		offer.wants_exit |= span_equals_text(one, EXIT_TOKEN);
	}
	return offer;
}

static int attach_viewer(struct request *rq, struct api_target *t, uint64_t process,
                         struct reply *reply, struct error *err)
{
	const struct pty_offer offer = read_offer(rq);
	const struct agent_attach message = {.process = process, .until_end = 1};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message};
	struct stream_options options = {
	        .fd = -1, .request = AGENT_ATTACH, .protocol = offer.protocol};
	struct stream *s;

	if (compute_open(t->provider, t->id, &request, rq->deadline, &options.fd, err) < 0)
		return -1;
	s = stream_new(&view_ops, t->hold);
	CONTAINER_OF(s, struct pty_view, stream)->wants_exit = offer.wants_exit;
	return stream_start_websocket(s, rq, reply, &options, err);
}

static int check_upgrade(const struct request *rq, struct error *err)
{
	if (request_header(rq, "Upgrade"))
		return 0;
	return FAIL(err, ERROR_INVALID, "this path needs a WebSocket upgrade");
}

struct envs_body {
	struct json_map envs;
};
static const struct json_member envs_shape_members[] = {
        JSON_TEXT_MAP_MEMBER(envs_body, envs, .max = 256),
};
static JSON_SHAPE(envs_shape, "DaytonaPtyEnvs", envs_body, "The environment of a terminal");

static int parse_envs(struct request *rq, struct span base64url, struct json_map *ret,
                      struct error *err)
{
	AUTO(buf_done) struct buf whole = BUF(2 * ENVS_MAX);
	struct span text;
	struct envs_body b;

	if (base64url.size == 0)
		return 0;
	if (base64url.size > ENVS_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the environment is larger than %zu bytes",
		            ENVS_MAX);
	if (daytona_read_base64url(rq->arena, base64url, &text, err) < 0)
		return FAIL_CONTEXT(err, ENVS_TOKEN);
	json_begin_object(&whole, NULL);
	json_add_raw(&whole, "envs", text);
	json_end_object(&whole);
	if (json_parse(rq->arena, buf_span(&whole), &envs_shape, &b, err) < 0)
		return -1;
	*ret = b.envs;
	return 0;
}

static int create_and_connect_pty(struct request *rq, UNUSED const void *body, struct reply *reply,
                                  struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct pty_body b = *(const struct pty_body *)rq->query;
	struct pty pty;

	if (check_upgrade(rq, err) < 0 || parse_envs(rq, read_offer(rq).envs, &b.envs, err) < 0 ||
	    daytona_target_open(rq, &t, err) < 0 || make_pty(rq, &t, &b, &pty, err) < 0)
		return -1;
	return attach_viewer(rq, &t, pty.process, reply, err);
}

static int connect_pty(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct pty pty;

	if (check_upgrade(rq, err) < 0 || open_pty(rq, &t, &pty, err) < 0)
		return -1;
	return attach_viewer(rq, &t, pty.process, reply, err);
}

static int list_ptys(struct request *rq, UNUSED const void *body, struct reply *reply,
                     struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct ptys *all = ARENA_NEW(rq->arena, struct ptys);
	struct buf *out = reply_buf(reply, "application/json");
	struct agent_terminal nothing = {0};

	if (daytona_target_open(rq, &t, err) < 0 || find_ptys(rq, &t, all, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_begin_list(out, "sessions");
	for (size_t i = 0; i < all->count; i++) {
		if (ask_size(rq, &t, &nothing, &all->items[i], err) < 0)
			return -1;
		write_pty(out, &all->items[i]);
	}
	json_end_list(out);
	json_end_object(out);
	return 0;
}

static int get_pty(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct agent_terminal nothing = {0};
	struct pty pty;

	if (open_pty(rq, &t, &pty, err) < 0 || ask_size(rq, &t, &nothing, &pty, err) < 0)
		return -1;
	write_pty(reply_buf(reply, "application/json"), &pty);
	return 0;
}

struct pty_resize_body {
	int64_t cols, rows;
};
static const struct json_member resize_request_members[] = {
        JSON_WHOLE_MEMBER(pty_resize_body, cols, .flags = JSON_REQUIRED, .min = 1, .max = ROWS_MAX),
        JSON_WHOLE_MEMBER(pty_resize_body, rows, .flags = JSON_REQUIRED, .min = 1, .max = ROWS_MAX),
};
static JSON_OPEN_SHAPE(resize_request, "DaytonaPtyResize", pty_resize_body,
                       "The size of a terminal");

static int resize_pty(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct pty_resize_body *b = body;
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct agent_terminal size = {.rows = (uint32_t)b->rows, .columns = (uint32_t)b->cols};
	struct pty pty;

	if (open_pty(rq, &t, &pty, err) < 0 || ask_size(rq, &t, &size, &pty, err) < 0)
		return -1;
	write_pty(reply_buf(reply, "application/json"), &pty);
	return 0;
}

static int delete_pty(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct agent_signal kill = {.signal = SIGKILL, .whole_tree = 1};
	struct pty pty;

	if (open_pty(rq, &t, &pty, err) < 0)
		return -1;
	kill.process = pty.process;
	if (compute_signal(t.provider, t.id, AGENT_SIGNAL, &kill, rq->deadline, err) < 0)
		return -1;
	return daytona_reply_member(reply, "message", "PTY session deleted");
}

#define READ SCOPE_SANDBOX_READ, ROUTE_HIDDEN
#define WRITE SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_pty_routes[] = {
        {HTTP_GET, BASE, READ, .handle = list_ptys, TAG, .summary = "List terminals"},
        {HTTP_POST, BASE, WRITE, .body = &pty_request, .status = 201, .handle = create_pty, TAG,
         .summary = "Open a terminal"},
        {HTTP_GET, BASE "/create-connect", WRITE, .query = &pty_query,
         .handle = create_and_connect_pty, TAG,
         .summary = "Open a terminal and connect to it by WebSocket"},
        {HTTP_GET, BASE "/:pty", READ, .handle = get_pty, TAG, .summary = "Get a terminal"},
        {HTTP_DELETE, BASE "/:pty", WRITE, .handle = delete_pty, TAG,
         .summary = "End a terminal and all its processes"},
        {HTTP_GET, BASE "/:pty/connect", WRITE, .handle = connect_pty, TAG,
         .summary = "Connect to a terminal by WebSocket"},
        {HTTP_POST, BASE "/:pty/resize", WRITE, .body = &resize_request, .handle = resize_pty, TAG,
         .summary = "Change the size of a terminal"},
        {.path = NULL},
};
