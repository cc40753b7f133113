/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/lsp — language servers of the image, one for each language and project.
 *
 * A language server is a process of the sandbox's agent. Its label identifies it, and this server
 * keeps no state about it. Each call attaches behind the existing output, sends its request, and
 * reads until the answer with its id comes. */
#include <signal.h>
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "calls/files.h"
#include "edge/target.h"
#include "fleet/core/fleet_hold.h"
#include "json/write.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/lsp_frame.h"
#include "surface/daytona/lsp_queue.h"
#include "surface/daytona/routes.h"
#include "surface/daytona/surface.h"
#include "surface/daytona/toolbox.h"

#define BASE DAYTONA_TOOLBOX "/:id/lsp"
#define LABEL "lsp"
#define RING_BYTES ((size_t)4 << 20)
#define READ_MAX (2 * LSP_MESSAGE_MAX)
#define ANSWER_MS 20000
#define END_MS 2000
#define PLACE_MS (ANSWER_MS + 10000)
#define SERVERS_MAX 16 /* in one sandbox */
#define ITEMS_MAX 10000
#define DIGEST_BYTES 10

static const struct {
	const char *language;
	const char *args[3]; /* NULL-terminated */
	const char *hint;
} languages[] = {
        {"python", {"pylsp", NULL}, "pip install python-lsp-server"},
        {"typescript",
         {"typescript-language-server", "--stdio", NULL},
         "npm install -g typescript-language-server typescript"},
        {"javascript",
         {"typescript-language-server", "--stdio", NULL},
         "npm install -g typescript-language-server typescript"},
};

struct lsp_project_body {
	const char *language, *path, *uri, *query;
	struct span position, context;
};
#define PROJECT_ROWS                                                                               \
	JSON_TEXT_MEMBER(lsp_project_body, language, .name = "languageId", .flags = JSON_REQUIRED, \
	                 .max = 32),                                                               \
	        JSON_TEXT_MEMBER(lsp_project_body, path, .name = "pathToProject",                  \
	                         .flags = JSON_REQUIRED, .max = 1024)
#define URI_ROW JSON_TEXT_MEMBER(lsp_project_body, uri, .flags = JSON_REQUIRED, .max = 4096)
static const struct json_member project_members[] = {PROJECT_ROWS};
static const struct json_member document_members[] = {PROJECT_ROWS, URI_ROW};
static const struct json_member search_members[] = {
        PROJECT_ROWS,
        JSON_TEXT_MEMBER(lsp_project_body, query, .flags = JSON_REQUIRED, .max = 1024),
};
static const struct json_member completion_members[] = {
        PROJECT_ROWS,
        URI_ROW,
        JSON_RAW_MEMBER(lsp_project_body, position),
        JSON_RAW_MEMBER(lsp_project_body, context),
};
static JSON_OPEN_SHAPE(project, "DaytonaLspServer", lsp_project_body, "A language server");
static JSON_OPEN_SHAPE(document, "DaytonaLspDocument", lsp_project_body, "A document of a project");
static JSON_OPEN_SHAPE(search, "DaytonaLspSearch", lsp_project_body,
                       "A search for symbols of a project");
static JSON_OPEN_SHAPE(completion, "DaytonaLspCompletion", lsp_project_body,
                       "A position in a document");

struct lsp_server {
	struct api_target target;
	struct lsp_place place; /* held by calls that start or end a server */
	const char *const *args;
	const char *hint, *language, *project, *label; /* label of the process */
	struct agent_process process;                  /* process 0 = the server does not run */
	unsigned count;                                /* of all servers that run in the sandbox */
};

static void lsp_server_done(struct lsp_server *s)
{
	lsp_place_leave(&s->place);
	api_target_done(&s->target);
}
#define SERVER AUTO(lsp_server_done) struct lsp_server

static void on_process(void *context, const struct agent_process *p)
{
	struct lsp_server *s = context;

	if (p->state != AGENT_PROCESS_RUNNING ||
	    strncmp(p->label, LABEL ":", strlen(LABEL ":")) != 0)
		return;
	s->count++;
	if (strcmp(p->label, s->label) == 0)
		s->process = (struct agent_process){
		        .process = p->process,
		        .output_end = {p->output_end[0], p->output_end[1]},
		};
}

static const char *label_of(struct arena *a, const struct lsp_server *s)
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	char hex[2 * DIGEST_BYTES + 1];

	crypto_hash_sha256(digest, (const unsigned char *)s->project, strlen(s->project));
	sodium_bin2hex(hex, sizeof(hex), digest, DIGEST_BYTES);
	return arena_format(a, LABEL ":%s:%s", s->language, hex);
}

static int choose_language(struct lsp_server *s, const char *language, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(languages); i++) {
		if (strcmp(languages[i].language, language) != 0)
			continue;
		s->language = languages[i].language;
		s->args = languages[i].args;
		s->hint = languages[i].hint;
		return 0;
	}
	return FAIL(err, ERROR_INVALID,
	            "unknown languageId '%.32s'; known ones: python, typescript, javascript",
	            language);
}

/* `ret` is zeroed. */
static int find_project(struct request *rq, const struct lsp_project_body *b,
                        struct lsp_server *ret, struct error *err)
{
	if (choose_language(ret, b->language, err) < 0 ||
	    daytona_target_open(rq, &ret->target, err) < 0 ||
	    provider_require(ret->target.provider, PROVIDER_CAN_EXEC, err) < 0 ||
	    files_resolve(rq, &ret->target, b->path, &ret->project, err) < 0)
		return -1;
	ret->label = label_of(rq->arena, ret);
	return 0;
}

static int find_process(struct request *rq, struct lsp_server *s, struct error *err)
{
	return compute_processes(s->target.provider, s->target.id, on_process, s, rq->deadline,
	                         err);
}

/* For calls that start or end a server: no other such call runs at the same time. */
static int find_process_alone(struct request *rq, struct lsp_server *s, struct error *err)
{
	int64_t deadline = deadline_after(PLACE_MS);

	if (lsp_place_take(api_of(rq)->daytona->lsp_queue, s->target.id,
	                   deadline < rq->deadline ? deadline : rq->deadline, &s->place, err) < 0)
		return -1;
	return find_process(rq, s, err);
}

static int refuse_absent(const struct lsp_server *s, const char *path, struct error *err)
{
	return FAIL(err, ERROR_NOT_FOUND,
	            "no language server for %s runs in '%.100s': start it first", s->language,
	            path);
}

static int open_server(struct request *rq, const struct lsp_project_body *b, struct lsp_server *ret,
                       struct error *err)
{
	if (find_project(rq, b, ret, err) < 0 || find_process(rq, ret, err) < 0)
		return -1;
	return ret->process.process ? 0 : refuse_absent(ret, b->path, err);
}

static const char *uri_of(struct arena *a, const char *path)
{
	AUTO(buf_done) struct buf uri = BUF(16 * 1024);

	buf_add_text(&uri, "file://");
	for (const char *c = path; *c; c++) {
		if (strchr("/-._~", *c) || (*c >= '0' && *c <= '9') ||
		    ((*c | 32) >= 'a' && (*c | 32) <= 'z'))
			buf_add_byte(&uri, *c);
		else
			buf_addf(&uri, "%%%02X", (unsigned char)*c);
	}
	return arena_copy(a, buf_span(&uri));
}

/* Daytona's clients put "file://" before any path, even a relative one. */
static int read_uri(struct request *rq, const struct lsp_server *s, const char *uri,
                    const char **ret, struct error *err)
{
	static const char scheme[] = "file://";
	size_t size = sizeof(scheme) - 1;

	if (strncmp(uri, scheme, size) != 0)
		return FAIL(err, ERROR_INVALID, "uri: '%.80s' does not begin with 'file://'", uri);
	return files_resolve(rq, &s->target, uri + size, ret, err);
}

/* A connection that is attached to the server's process. */
struct lsp_session {
	struct arena *arena;
	const struct fleet_hold *hold;
	uint64_t process;
	struct agent_reader agent;
	int64_t deadline;
	struct buf in;
	size_t at; /* bytes of it that were parsed */
};

static void lsp_session_done(struct lsp_session *t)
{
	agent_reader_done(&t->agent);
	buf_done(&t->in);
}

static int lsp_session_open(struct request *rq, const struct lsp_server *s, struct lsp_session *ret,
                            struct error *err)
{
	const struct agent_attach message = {
	        .process = s->process.process,
	        .since = {s->process.output_end[0], s->process.output_end[1]},
	        .read_only = 1,
	        .until_end = 1,
	};
	const struct compute_request request = {AGENT_ATTACH, agent_attach_shape, &message};
	int64_t deadline = deadline_after(ANSWER_MS);

	*ret = (struct lsp_session){.arena = rq->arena,
	                            .hold = s->target.hold,
	                            .process = s->process.process,
	                            .deadline = deadline < rq->deadline ? deadline : rq->deadline,
	                            .in = BUF(READ_MAX)};
	agent_reader_init(&ret->agent, s->target.provider, s->target.id,
	                  &(struct agent_limits){.deadline = ret->deadline});
	return agent_reader_ask(&ret->agent, &request, err);
}

static int check_size(const struct buf *message, struct error *err)
{
	if (!message->overflowed)
		return 0;
	return FAIL(err, ERROR_TOO_LARGE, "a message to a language server has at most %d bytes",
	            AGENT_DATA_MAX);
}

/* Sends the message in one piece, because other calls may send to the same server. */
static int send_message(struct lsp_session *t, struct span message, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(AGENT_DATA_MAX);
	struct agent_feed feed = {.process = t->process};

	lsp_frame_add(&text, message);
	if (check_size(&text, err) < 0)
		return -1;
	feed.bytes = buf_span(&text);
	return compute_feed(t->hold->provider, t->hold->id, &feed, t->deadline, err);
}

static int receive_output(struct lsp_session *t, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct agent_reader *r = &t->agent;
	struct agent_output output;

	if (agent_reader_next(r, err) < 0)
		return -1;
	if (r->has_ended)
		return FAIL(err, ERROR_CONFLICT, "the language server has ended");
	if (r->type != AGENT_OUTPUT)
		return 0;
	if (wire_decode(&a, buf_span(&r->payload), agent_output_shape, &output, sizeof(output),
	                err) < 0)
		return -1;
	if (output.stream == AGENT_STDOUT)
		buf_add_span(&t->in, output.bytes);
	if (t->in.overflowed)
		return FAIL(err, ERROR_TOO_LARGE,
		            "the language server has sent more than %zu bytes", READ_MAX);
	return 0;
}

/* Some servers wait for an answer to their own requests. An empty answer satisfies them. */
static int answer_server_request(struct lsp_session *t, const struct json_value *message,
                                 struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(AGENT_DATA_MAX);
	size_t items = json_count(json_get(json_get(message, "params"), "items"));

	json_begin_object(&out, NULL);
	json_add_text(&out, "jsonrpc", "2.0");
	json_add_value(&out, "id", json_get(message, "id"));
	if (strcmp(json_text(json_get(message, "method"), ""), "workspace/configuration") == 0) {
		json_begin_list(&out, "result");
		for (size_t i = 0; i < items && i < ITEMS_MAX; i++)
			json_add_null(&out, NULL);
		json_end_list(&out);
	} else {
		json_add_null(&out, "result");
	}
	json_end_object(&out);
	return check_size(&out, err) < 0 ? -1 : send_message(t, buf_span(&out), err);
}

static int fail_with_answer(struct arena *a, const struct json_value *error, struct error *err)
{
	char *text = arena_text(a, json_text(json_get(error, "message"), "no message"));

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return FAIL(err, ERROR_CONFLICT, "the language server: %.160s", text);
}

/* Returns 1 for the answer with this id, 0 for another message. */
static int take_message(struct lsp_session *t, struct span text, const char *id,
                        const struct json_value **ret, struct error *err)
{
	const struct json_value *message;
	struct error ignored;

	if (json_load(t->arena, text, &message, &ignored) < 0)
		return 0;
	if (json_get(message, "method"))
		return json_get(message, "id") ? answer_server_request(t, message, err) : 0;
	if (strcmp(json_text(json_get(message, "id"), ""), id) != 0)
		return 0;
	if (json_get(message, "error"))
		return fail_with_answer(t->arena, json_get(message, "error"), err);
	*ret = json_get(message, "result");
	return 1;
}

static int await_answer(struct lsp_session *t, const char *id, const struct json_value **ret,
                        struct error *err)
{
	struct span message;
	int done = 0;

	while (done == 0) {
		while (done == 0 && lsp_frame_next(&t->in, &t->at, &message))
			done = take_message(t, message, id, ret, err);
		if (done == 0 && receive_output(t, err) < 0)
			return -1;
	}
	return done < 0 ? -1 : 0;
}

/* `params` is JSON; `id` NULL: a notification. */
static int send_call(struct lsp_session *t, const char *id, const char *method, struct span params,
                     struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(AGENT_DATA_MAX);

	json_begin_object(&out, NULL);
	json_add_text(&out, "jsonrpc", "2.0");
	if (id)
		json_add_text(&out, "id", id);
	json_add_text(&out, "method", method);
	json_add_raw(&out, "params", params);
	json_end_object(&out);
	return check_size(&out, err) < 0 ? -1 : send_message(t, buf_span(&out), err);
}

/* Sends a request and waits for its answer; `params` is JSON. */
static int send_request(struct lsp_session *t, const char *method, struct span params,
                        const struct json_value **ret, struct error *err)
{
	struct id id = id_new();

	if (send_call(t, id.text, method, params, err) < 0 ||
	    await_answer(t, id.text, ret, err) < 0)
		return FAIL_CONTEXT(err, "%s", method);
	return 0;
}

static int send_notification(struct lsp_session *t, const char *method, struct span params,
                             struct error *err)
{
	return send_call(t, NULL, method, params, err);
}

static int check_program(struct request *rq, const struct lsp_server *s, struct error *err)
{
	const char *args[] = {"sh", "-c", "command -v \"$1\"", "sh", s->args[0], NULL};
	const struct toolbox_command run = {.args = args, .out_max = 4096};
	struct compute_result result;

	if (toolbox_run(rq, &s->target, &run, &result, err) < 0)
		return -1;
	if (result.process.exit_code == 0)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "the sandbox has no language server '%s'", s->args[0]);
	error_hint(err, "install it in the template: %s", s->hint);
	return -1;
}

static int launch_process(struct request *rq, struct lsp_server *s, struct error *err)
{
	const char *args[COUNT_OF(languages[0].args)];
	const struct agent_exec exec = {
	        .args = args,
	        .env = s->target.env,
	        .cwd = s->project,
	        .user = s->target.user,
	        .label = s->label,
	        .flags = AGENT_EXEC_STDIN | AGENT_EXEC_DETACH | AGENT_EXEC_RESIDENT,
	        .ring_bytes = RING_BYTES,
	};

	memcpy(args, s->args, sizeof(args));
	if (s->count >= SERVERS_MAX)
		return FAIL(err, ERROR_LIMIT, "a sandbox has at most %d language servers",
		            SERVERS_MAX);
	if (compute_start(s->target.provider, s->target.id,
	                  &(struct compute_start){&exec, rq->arena, rq->deadline}, &s->process,
	                  err) < 0)
		return -1;
	s->process.output_end[0] = s->process.output_end[1] = 0;
	return 0;
}

static void write_initialize(struct buf *out, const char *uri)
{
	json_begin_object(out, NULL);
	json_add_null(out, "processId");
	json_begin_object(out, "clientInfo");
	json_add_text(out, "name", "atoll");
	json_end_object(out);
	json_add_text(out, "rootUri", uri);
	json_begin_list(out, "workspaceFolders");
	json_begin_object(out, NULL);
	json_add_text(out, "name", "project");
	json_add_text(out, "uri", uri);
	json_end_object(out);
	json_end_list(out);
	json_add_raw(out, "capabilities",
	             SPAN("{\"textDocument\":{\"completion\":{},\"documentSymbol\":{},"
	                  "\"synchronization\":{}},\"workspace\":{\"symbol\":{}}}"));
	json_end_object(out);
}

static int initialize_server(struct request *rq, const struct lsp_server *s, struct error *err)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	AUTO(buf_done) struct buf params = BUF(32 * 1024);
	const struct json_value *ignored = NULL;

	write_initialize(&params, uri_of(rq->arena, s->project));
	if (lsp_session_open(rq, s, &t, err) < 0 ||
	    send_request(&t, "initialize", buf_span(&params), &ignored, err) < 0)
		return -1;
	return send_notification(&t, "initialized", SPAN("{}"), err);
}

static int end_process(struct request *rq, const struct lsp_server *s, struct error *err)
{
	const struct agent_signal message = {
	        .process = s->process.process, .signal = SIGKILL, .whole_tree = 1};

	if (compute_signal(s->target.provider, s->target.id, AGENT_SIGNAL, &message, rq->deadline,
	                   err) == 0)
		return 0;
	/* The server has ended by itself. */
	if (err->code != ERROR_CONFLICT && err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

/* Waits until the process has ended, so that the next call can start another server. */
static void await_end(struct lsp_session *t)
{
	struct error ended = {0};

	t->agent.limits.deadline = deadline_after(END_MS);
	while (receive_output(t, &ended) == 0)
		buf_reset(&t->in);
}

/* Ends a server that failed to initialize, and waits for its end: the next call in the queue must
 * not find it. */
static void end_failed_server(struct request *rq, const struct lsp_server *s)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	struct error ignored = {0};
	bool is_open = lsp_session_open(rq, s, &t, &ignored) == 0;

	if (end_process(rq, s, &ignored) == 0 && is_open)
		await_end(&t);
}

static int start_server(struct request *rq, const void *body, UNUSED struct reply *reply,
                        struct error *err)
{
	SERVER s = {.count = 0};

	if (find_project(rq, body, &s, err) < 0 || find_process_alone(rq, &s, err) < 0)
		return -1;
	if (s.process.process)
		return 0;
	if (check_program(rq, &s, err) < 0 || launch_process(rq, &s, err) < 0)
		return -1;
	if (initialize_server(rq, &s, err) == 0)
		return 0;
	end_failed_server(rq, &s);
	return -1;
}

/* Asks the server to exit, as the protocol demands, and then kills it. */
static int stop_server(struct request *rq, const void *body, UNUSED struct reply *reply,
                       struct error *err)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	const struct lsp_project_body *b = body;
	SERVER s = {.count = 0};
	const struct json_value *result = NULL;
	struct error ignored = {0};

	if (find_project(rq, b, &s, err) < 0 || find_process_alone(rq, &s, err) < 0)
		return -1;
	if (!s.process.process)
		return refuse_absent(&s, b->path, err);
	if (lsp_session_open(rq, &s, &t, err) < 0)
		return -1;
	t.deadline = deadline_after(END_MS);
	if (send_request(&t, "shutdown", SPAN("null"), &result, &ignored) == 0)
		(void)!send_notification(&t, "exit", SPAN("null"), &ignored);
	if (end_process(rq, &s, err) < 0)
		return -1;
	await_end(&t);
	return 0;
}

/* Begins {"textDocument":{"uri":…}}: the caller may add members and ends both objects. */
static void begin_document(struct buf *out, const char *uri)
{
	json_begin_object(out, NULL);
	json_begin_object(out, "textDocument");
	json_add_text(out, "uri", uri);
}

static void write_document(struct buf *out, const char *uri)
{
	begin_document(out, uri);
	json_end_object(out);
	json_end_object(out);
}

static int open_document(struct request *rq, const void *body, UNUSED struct reply *reply,
                         struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(AGENT_DATA_MAX), params = BUF(AGENT_DATA_MAX);
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	const struct lsp_project_body *b = body;
	SERVER s = {.count = 0};
	const char *path;

	if (open_server(rq, b, &s, err) < 0 || read_uri(rq, &s, b->uri, &path, err) < 0 ||
	    toolbox_read_file(rq, &s.target, path, &text, err) < 0)
		return -1;
	begin_document(&params, uri_of(rq->arena, path));
	json_add_text(&params, "languageId", s.language);
	json_add_whole(&params, "version", 1);
	json_add_span(&params, "text", buf_span(&text));
	json_end_object(&params);
	json_end_object(&params);
	if (params.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the document is larger than %d bytes",
		            AGENT_DATA_MAX);
	if (lsp_session_open(rq, &s, &t, err) < 0)
		return -1;
	return send_notification(&t, "textDocument/didOpen", buf_span(&params), err);
}

static int close_document(struct request *rq, const void *body, UNUSED struct reply *reply,
                          struct error *err)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	AUTO(buf_done) struct buf params = BUF(32 * 1024);
	const struct lsp_project_body *b = body;
	SERVER s = {.count = 0};
	const char *path;

	if (open_server(rq, b, &s, err) < 0 || read_uri(rq, &s, b->uri, &path, err) < 0)
		return -1;
	write_document(&params, uri_of(rq->arena, path));
	if (lsp_session_open(rq, &s, &t, err) < 0)
		return -1;
	return send_notification(&t, "textDocument/didClose", buf_span(&params), err);
}

static void add_position(struct buf *out, const char *name, const struct json_value *p)
{
	json_begin_object(out, name);
	json_add_whole(out, "line", json_whole(json_get(p, "line"), 0));
	json_add_whole(out, "character", json_whole(json_get(p, "character"), 0));
	json_end_object(out);
}

/* An older kind of symbol has a location. A newer kind has a range in the document of the request.
 */
static void add_symbol(struct buf *out, const struct json_value *symbol, const char *uri)
{
	const struct json_value *location = json_get(symbol, "location");
	const struct json_value *range = json_get(location ? location : symbol, "range");

	json_begin_object(out, NULL);
	json_add_text(out, "name", json_text(json_get(symbol, "name"), ""));
	json_add_whole(out, "kind", json_whole(json_get(symbol, "kind"), 0));
	json_begin_object(out, "location");
	json_add_text(out, "uri", json_text(json_get(location, "uri"), uri));
	json_begin_object(out, "range");
	add_position(out, "start", json_get(range, "start"));
	add_position(out, "end", json_get(range, "end"));
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
}

/* Children come after their parent. `depth` bounds the recursion, because the sandbox is not
 * trusted. */
static void add_symbols(struct buf *out, const struct json_value *list, const char *uri,
                        unsigned depth)
{
	for (size_t i = 0; i < json_count(list) && i < ITEMS_MAX && depth > 0; i++) {
		const struct json_value *symbol = json_item_at(list, i);

		add_symbol(out, symbol, uri);
		add_symbols(out, json_get(symbol, "children"), uri, depth - 1);
	}
}

static int answer_symbols(struct reply *reply, const struct json_value *list, const char *uri)
{
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_list(out, NULL);
	add_symbols(out, list, uri, 8);
	json_end_list(out);
	return 0;
}

static int list_document_symbols(struct request *rq, UNUSED const void *body, struct reply *reply,
                                 struct error *err)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	AUTO(buf_done) struct buf params = BUF(32 * 1024);
	const struct lsp_project_body *q = rq->query;
	const struct json_value *found = NULL;
	SERVER s = {.count = 0};
	const char *path, *uri;

	if (open_server(rq, q, &s, err) < 0 || read_uri(rq, &s, q->uri, &path, err) < 0)
		return -1;
	uri = uri_of(rq->arena, path);
	write_document(&params, uri);
	if (lsp_session_open(rq, &s, &t, err) < 0 ||
	    send_request(&t, "textDocument/documentSymbol", buf_span(&params), &found, err) < 0)
		return -1;
	return answer_symbols(reply, found, uri);
}

static int list_workspace_symbols(struct request *rq, UNUSED const void *body, struct reply *reply,
                                  struct error *err)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	AUTO(buf_done) struct buf params = BUF(16 * 1024);
	const struct lsp_project_body *q = rq->query;
	const struct json_value *found = NULL;
	SERVER s = {.count = 0};

	if (open_server(rq, q, &s, err) < 0)
		return -1;
	json_begin_object(&params, NULL);
	json_add_text(&params, "query", q->query);
	json_end_object(&params);
	if (lsp_session_open(rq, &s, &t, err) < 0 ||
	    send_request(&t, "workspace/symbol", buf_span(&params), &found, err) < 0)
		return -1;
	return answer_symbols(reply, found, "");
}

static void add_item(struct buf *out, const struct json_value *item)
{
	static const char *const texts[] = {"detail", "sortText", "filterText", "insertText"};

	json_begin_object(out, NULL);
	json_add_text(out, "label", json_text(json_get(item, "label"), ""));
	if (json_get(item, "kind"))
		json_add_whole(out, "kind", json_whole(json_get(item, "kind"), 0));
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (json_text(json_get(item, texts[i]), NULL))
			json_add_text(out, texts[i], json_text(json_get(item, texts[i]), ""));
	if (json_get(item, "documentation"))
		json_add_value(out, "documentation", json_get(item, "documentation"));
	json_end_object(out);
}

/* The answer is a list, or an object with one. */
static int answer_items(struct reply *reply, const struct json_value *found)
{
	const struct json_value *items = json_get(found, "items");
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_object(out, NULL);
	json_add_bool(out, "isIncomplete", json_bool(json_get(found, "isIncomplete"), false));
	json_begin_list(out, "items");
	if (!items)
		items = found;
	for (size_t i = 0; i < json_count(items) && i < ITEMS_MAX; i++)
		add_item(out, json_item_at(items, i));
	json_end_list(out);
	json_end_object(out);
	return 0;
}

static int list_completions(struct request *rq, const void *body, struct reply *reply,
                            struct error *err)
{
	AUTO(lsp_session_done) struct lsp_session t = {.process = 0};
	AUTO(buf_done) struct buf params = BUF(32 * 1024);
	const struct lsp_project_body *b = body;
	const struct json_value *position = NULL, *found = NULL;
	SERVER s = {.count = 0};
	const char *path;

	if (b->position.size == 0 || json_load(rq->arena, b->position, &position, err) < 0)
		return FAIL(err, ERROR_INVALID, "position: {\"line\":…,\"character\":…}");
	if (open_server(rq, b, &s, err) < 0 || read_uri(rq, &s, b->uri, &path, err) < 0)
		return -1;
	begin_document(&params, uri_of(rq->arena, path));
	json_end_object(&params);
	add_position(&params, "position", position);
	if (b->context.size > 0 && !span_equals_text(b->context, "null"))
		json_add_raw(&params, "context", b->context);
	json_end_object(&params);
	if (params.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "context: too large");
	if (lsp_session_open(rq, &s, &t, err) < 0 ||
	    send_request(&t, "textDocument/completion", buf_span(&params), &found, err) < 0)
		return -1;
	return answer_items(reply, found);
}

#define ROW SCOPE_SANDBOX_WRITE, ROUTE_SLOW | ROUTE_HIDDEN
#define TAG .tag = "daytona"
const struct route daytona_lsp_routes[] = {
        {HTTP_POST, BASE "/start", ROW, .body = &project, .handle = start_server, TAG,
         .summary = "Start a language server of the image"},
        {HTTP_POST, BASE "/stop", ROW, .body = &project, .handle = stop_server, TAG,
         .summary = "Stop a language server"},
        {HTTP_POST, BASE "/did-open", ROW, .body = &document, .handle = open_document, TAG,
         .summary = "Tell the language server that a document is open"},
        {HTTP_POST, BASE "/did-close", ROW, .body = &document, .handle = close_document, TAG,
         .summary = "Tell the language server that a document is closed"},
        {HTTP_POST, BASE "/completions", ROW, .body = &completion, .handle = list_completions, TAG,
         .summary = "List completions at a position"},
        {HTTP_GET, BASE "/document-symbols", ROW, .query = &document,
         .handle = list_document_symbols, TAG, .summary = "List the symbols of a document"},
        {HTTP_GET, BASE "/workspacesymbols", ROW, .query = &search,
         .handle = list_workspace_symbols, TAG, .summary = "Search the symbols of the project"},
        {.path = NULL},
};
