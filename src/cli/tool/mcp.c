/* SPDX-License-Identifier: Apache-2.0 */
/* MCP over stdin and stdout: each line is a message and is forwarded to the server's /mcp. Calls
 * may take long, so several threads forward them, each with its own connection. Notifications, such
 * as the cancellation of a call, overtake waiting calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "cli/tool/commands.h"
#include "cli/core/server.h"
#include "json/write.h"

#define THREADS 8
#define WAITING_MAX 64
#define LINE_MAX_SIZE ((size_t)16 << 20)
#define ANSWER_MAX ((size_t)65 << 20)
#define ID_MAX 256

#define INTERNAL_ERROR (-32603) /* of JSON-RPC */

struct bridge {
	const struct http_client_options *server;
	const char *path;
	pthread_mutex_t mutex; /* protects all members below, and stdout */
	pthread_cond_t changed;
	char *lines[WAITING_MAX]; /* a ring */
	unsigned first, count;
	bool ended;
};

static void write_line(struct bridge *b, struct span text)
{
	pthread_mutex_lock(&b->mutex);
	(void)fwrite(text.data, 1, text.size, stdout);
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
	pthread_mutex_unlock(&b->mutex);
}

/* Answers a request that the server did not answer with an error. */
static void answer_failure(struct bridge *b, const char *line, const struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const struct json_value *message, *id;
	struct error ignored;

	if (json_load(&a, span_of(line), &message, &ignored) < 0 ||
	    !(id = json_get(message, "id")) || !json_get(message, "method"))
		return;
	json_begin_object(&out, NULL);
	json_add_text(&out, "jsonrpc", "2.0");
	json_add_value(&out, "id", id);
	json_begin_object(&out, "error");
	json_add_whole(&out, "code", INTERNAL_ERROR);
	json_add_text(&out, "message", err->text);
	json_end_object(&out);
	json_end_object(&out);
	write_line(b, buf_span(&out));
}

struct mcp_answer {
	struct bridge *bridge;
	struct buf rest; /* of an incomplete line */
};

/* A message is a line; in an event stream it begins with "data: ". */
static void write_message(struct bridge *b, struct span line)
{
	static const char data[] = "data: ";

	if (span_starts_with(line, data))
		span_skip(&line, sizeof(data) - 1);
	if (span_starts_with(line, "{"))
		write_line(b, line);
}

static bool on_body(void *context, struct span piece)
{
	struct mcp_answer *answer = context;
	struct span line;

	while (span_find(piece, '\n') >= 0) {
		(void)span_split(&piece, '\n', &line);
		buf_add_span(&answer->rest, line);
		if (answer->rest.overflowed)
			return false;
		write_message(answer->bridge, buf_span(&answer->rest));
		buf_reset(&answer->rest);
	}
	buf_add_span(&answer->rest, piece);
	return !answer->rest.overflowed;
}

static void forward_line(struct bridge *b, struct http_client *client, const char *line)
{
	struct mcp_answer answer = {b, BUF(ANSWER_MAX)};
	const struct http_call call = {
	        .method = "POST",
	        .path = b->path,
	        .accept = "application/json, text/event-stream",
	        .body = span_of(line),
	        .on_body = on_body,
	        .context = &answer,
	};
	struct http_answer head = {0};
	struct error err;
	int result = http_client_call(client, &call, &head, &err);

	if (result == 0 && answer.rest.overflowed)
		result =
		        FAIL(&err, ERROR_TOO_LARGE, "an answer of more than %zu bytes", ANSWER_MAX);
	if (result < 0)
		answer_failure(b, line, &err);
	else
		write_message(b, buf_span(&answer.rest));
	buf_done(&answer.rest);
	buf_done(&head.body);
}

/* Returns NULL when there are no more lines. */
static char *take_line(struct bridge *b)
{
	char *line = NULL;

	pthread_mutex_lock(&b->mutex);
	while (b->count == 0 && !b->ended)
		(void)pthread_cond_wait(&b->changed, &b->mutex);
	if (b->count > 0) {
		line = b->lines[b->first];
		b->first = (b->first + 1) % WAITING_MAX;
		b->count--;
		(void)pthread_cond_broadcast(&b->changed);
	}
	pthread_mutex_unlock(&b->mutex);
	return line;
}

static void give_line(struct bridge *b, char *line)
{
	pthread_mutex_lock(&b->mutex);
	while (b->count == WAITING_MAX)
		(void)pthread_cond_wait(&b->changed, &b->mutex);
	b->lines[(b->first + b->count++) % WAITING_MAX] = line;
	(void)pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->mutex);
}

static bool has_id(const char *line, struct span id)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	AUTO(buf_done) struct buf own = BUF(ID_MAX);
	const struct json_value *message;
	struct error ignored;

	if (json_load(&a, span_of(line), &message, &ignored) < 0 || !json_get(message, "id"))
		return false;
	json_print(&own, json_get(message, "id"), 0);
	return span_equals(buf_span(&own), id);
}

/* Drops a cancelled request that was not forwarded yet. */
static void drop_waiting(struct bridge *b, struct span id)
{
	pthread_mutex_lock(&b->mutex);
	for (unsigned i = 0; i < b->count; i++) {
		char *line = b->lines[(b->first + i) % WAITING_MAX];

		if (has_id(line, id))
			line[0] = '\0';
	}
	pthread_mutex_unlock(&b->mutex);
}

static void *forward_lines(void *context)
{
	struct bridge *b = context;
	struct http_client *client = NULL;
	struct error err;
	char *line;

	while ((line = take_line(b))) {
		if (line[0] && !client && http_client_open(b->server, &client, &err) < 0)
			answer_failure(b, line, &err);
		else if (line[0])
			forward_line(b, client, line);
		free(line);
	}
	http_client_close(client);
	return NULL;
}

/* Forwards a notification; returns false if the line is not one. */
static bool pass_notification(struct bridge *b, struct http_client **client, const char *line)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	AUTO(buf_done) struct buf id = BUF(ID_MAX);
	const struct json_value *message, *value;
	struct error ignored;

	if (!strstr(line, "\"notifications/") ||
	    json_load(&a, span_of(line), &message, &ignored) < 0 || json_get(message, "id") ||
	    !json_get(message, "method"))
		return false;
	value = json_get(json_get(message, "params"), "requestId");
	if (strcmp(json_get_text(message, "method", ""), "notifications/cancelled") == 0 && value) {
		json_print(&id, value, 0);
		drop_waiting(b, buf_span(&id));
	}
	if (*client || http_client_open(b->server, client, &ignored) == 0)
		forward_line(b, *client, line);
	return true;
}

static int read_lines(struct bridge *b, struct http_client **client, struct error *err)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t size;

	while ((size = getline(&line, &room, stdin)) >= 0) {
		while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
			line[--size] = '\0';
		if (size == 0)
			continue;
		if ((size_t)size > LINE_MAX_SIZE || strlen(line) != (size_t)size) {
			free(line);
			return FAIL(err, ERROR_TOO_LARGE,
			            "a message is text without NUL, of at most %zu bytes",
			            LINE_MAX_SIZE);
		}
		if (pass_notification(b, client, line))
			continue;
		give_line(b, TAKE(line));
		room = 0;
	}
	free(line);
	return 0;
}

static int run_bridge(struct bridge *b, struct error *err)
{
	pthread_t threads[THREADS];
	struct http_client *client = NULL;
	unsigned started = 0;
	int result = -1;

	while (started < THREADS && pthread_create(&threads[started], NULL, forward_lines, b) == 0)
		started++;
	if (started > 0)
		result = read_lines(b, &client, err);
	else
		result = FAIL(err, ERROR_SYSTEM, "start a thread");
	pthread_mutex_lock(&b->mutex);
	b->ended = true;
	(void)pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->mutex);
	while (started > 0)
		(void)pthread_join(threads[--started], NULL);
	http_client_close(client);
	return result;
}

static void add_query(struct buf *path, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(path, "&%s=", name);
	http_escape(path, value);
}

static int run_mcp(struct cli *cli)
{
	AUTO(buf_done) struct buf path = BUF(16 * 1024);
	struct bridge bridge = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	                        .changed = PTHREAD_COND_INITIALIZER};

	if (cli_connect(cli) < 0)
		return -1;
	buf_addf(&path, "/mcp?stdio=true&client=%s", id_new().text);
	add_query(&path, "sandbox", arguments_text(&cli->args, "sandbox", NULL));
	add_query(&path, "lease", arguments_text(&cli->args, "lease", NULL));
	add_query(&path, "config", arguments_text(&cli->args, "config", NULL));
	add_query(&path, "conversation", arguments_text(&cli->args, "conversation", NULL));
	add_query(&path, "origin", arguments_text(&cli->args, "origin", NULL));
	bridge.server = cli->server;
	bridge.path = buf_text(&path);
	return run_bridge(&bridge, cli->err);
}

static const struct command_option options[] = {
        {"sandbox", "SANDBOX", "id or name of the sandbox that tools use", .letter = 's',
         .completion = COMPLETE_SANDBOX},
        {"lease", "KEY",
         "the lease whose sandbox they use, made on first use, and again after a restart "
         "(default: one of this process)"},
        {"config", "NAME", "sandbox config that limits the tools"},
        {"conversation", "ID", "conversation that owns background jobs"},
        {"origin", "JSON", "origin of the calls, for reports of jobs and approvals"},
        {0},
};

const struct cli_command command_mcp = {
        .name = "mcp",
        .usage = "[OPTION...]",
        .about = "speak the Model Context Protocol on stdin and stdout",
        .more = "For clients that start a program: {\"command\": \"atoll\", \"args\": [\"mcp\"]}.\n"
                "Starts the local server when none is there.",
        .options = options,
        .run = run_mcp,
};
