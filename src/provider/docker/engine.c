/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "http/client/client.h"
#include "json/json.h"

#define API "/v1.41"
#define CLIENTS_MAX 16 /* connections that are kept */
#define MESSAGE_MAX 300
#define LINE_MAX_BYTES (64 * 1024)

struct docker_engine {
	char *host, *socket;
	pthread_mutex_t mutex;                    /* guards the clients */
	struct http_client *clients[CLIENTS_MAX]; /* not in use */
	unsigned client_count;
};

int docker_engine_open(const char *host, struct docker_engine **ret, struct error *err)
{
	static const char scheme[] = "unix://";

	if (strncmp(host, scheme, strlen(scheme)) != 0 || host[strlen(scheme)] != '/') {
		(void)FAIL(err, ERROR_INVALID, "docker_host: '%s' is no unix:///PATH", host);
		return FAIL_HINT(err, "the daemon must run on this machine, because the agent and "
		                      "its socket are mounted into each container");
	}
	struct docker_engine *e = memory_new(sizeof(*e));
	e->host = memory_text(host);
	e->socket = memory_text(host + strlen(scheme));
	pthread_mutex_init(&e->mutex, NULL);
	*ret = e;
	return 0;
}

void docker_engine_close(struct docker_engine *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->client_count; i++)
		http_client_close(e->clients[i]);
	pthread_mutex_destroy(&e->mutex);
	free(e->host);
	free(e->socket);
	free(e);
}

static int take_client(struct docker_engine *e, struct http_client **ret, struct error *err)
{
	const struct http_client_options options = {.unix_socket = e->socket,
	                                            .user_agent = "atoll"};
	struct http_client *client = NULL;

	pthread_mutex_lock(&e->mutex);
	if (e->client_count > 0)
		client = e->clients[--e->client_count];
	pthread_mutex_unlock(&e->mutex);
	if (!client)
		return http_client_open(&options, ret, err);
	*ret = client;
	return 0;
}

static void give_back_client(struct docker_engine *e, struct http_client *client)
{
	pthread_mutex_lock(&e->mutex);
	if (e->client_count < CLIENTS_MAX) {
		e->clients[e->client_count++] = client;
		client = NULL;
	}
	pthread_mutex_unlock(&e->mutex);
	http_client_close(client);
}

static int send_call(struct docker_engine *e, const struct http_call *call, struct http_answer *ret,
                     struct error *err)
{
	struct http_client *client;

	if (take_client(e, &client, err) < 0)
		return -1;
	int status = http_client_call(client, call, ret, err);
	give_back_client(e, client);
	if (status == 0)
		return 0;
	if (err->code == ERROR_UNAVAILABLE) {
		(void)FAIL_CONTEXT(err, "docker at %s", e->host);
		return FAIL_HINT(err, "is the Docker daemon running, and may the server's user "
		                      "open its socket?");
	}
	return FAIL_CONTEXT(err, "docker");
}

static int http_call_of(const struct docker_call *call, char *path, size_t size,
                        struct http_call *ret, struct error *err)
{
	int left_ms = deadline_poll_ms(call->deadline);

	if (left_ms == 0)
		return FAIL(err, ERROR_TIMEOUT, "docker: no time is left for %s", call->path);
	if ((size_t)snprintf(path, size, API "%s", call->path) >= size)
		return FAIL(err, ERROR_INVALID, "docker: the path of a call is too long");
	*ret = (struct http_call){.method = call->method,
	                          .path = path,
	                          .body = call->body,
	                          .content_type = call->content_type,
	                          .timeout_ms = left_ms < 0 ? 0 : left_ms,
	                          .keeps_errors = true};
	return 0;
}

/* {"message": "…"} of a failure; control characters would break a log line. */
static void read_message(struct span body, char out[MESSAGE_MAX])
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL;
	struct error ignored = {0};
	const char *text = "it did not say why";

	if (json_load(&arena, body, &root, &ignored) == 0)
		text = json_get_text(root, "message", text);
	(void)snprintf(out, MESSAGE_MAX, "%s", text);
	for (char *at = out; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
}

static enum error_code code_of(int status)
{
	switch (status) {
	case 400:
		return ERROR_INVALID;
	case 403:
		return ERROR_FORBIDDEN;
	case 404:
		return ERROR_NOT_FOUND;
	case 409:
		return ERROR_CONFLICT;
	case 503:
		return ERROR_UNAVAILABLE;
	default:
		return ERROR_SYSTEM;
	}
}

static bool is_accepted(const struct docker_call *call, int status)
{
	for (const int *at = call->accepted; at && *at; at++)
		if (*at == status)
			return true;
	return status < 300;
}

int docker_engine_call(struct docker_engine *e, const struct docker_call *call,
                       struct docker_answer *ret, struct error *err)
{
	char path[2048], message[MESSAGE_MAX];
	struct http_answer answer;
	struct http_call http;

	if (http_call_of(call, path, sizeof(path), &http, err) < 0 ||
	    send_call(e, &http, &answer, err) < 0)
		return -1;
	if (is_accepted(call, answer.status)) {
		*ret = (struct docker_answer){answer.status, answer.body};
		return 0;
	}
	read_message(buf_span(&answer.body), message);
	buf_done(&answer.body);
	/* Podman answers 500 to the name of another container. */
	bool is_taken = answer.status == 500 && strstr(message, "container name") &&
	                strstr(message, "is already in use");
	return FAIL(err, is_taken ? ERROR_CONFLICT : code_of(answer.status), "docker: %s", message);
}

int docker_engine_do(struct docker_engine *e, const struct docker_call *call, int *ret_status,
                     struct error *err)
{
	struct docker_answer answer;

	if (docker_engine_call(e, call, &answer, err) < 0)
		return -1;
	buf_done(&answer.body);
	if (ret_status)
		*ret_status = answer.status;
	return 0;
}

int docker_engine_load(struct docker_engine *e, const struct docker_call *call, struct arena *a,
                       const struct json_value **ret, struct error *err)
{
	struct docker_answer answer;

	if (docker_engine_call(e, call, &answer, err) < 0)
		return -1;
	int status = json_load(a, buf_span(&answer.body), ret, err);
	buf_done(&answer.body);
	return status < 0 ? FAIL_CONTEXT(err, "answer of docker") : 0;
}

/* A pull answers 200 and then tells in JSON lines how it goes; only the last line may be a failure.
 */
struct pull {
	struct buf line;
	char message[MESSAGE_MAX]; /* of the failure */
};

static void end_line(struct pull *p)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL;
	struct error ignored = {0};

	if (!p->line.overflowed && p->line.size > 0 &&
	    json_load(&arena, buf_span(&p->line), &root, &ignored) == 0) {
		const char *failure = json_get_text(root, "error", NULL);

		if (failure)
			(void)snprintf(p->message, sizeof(p->message), "%s", failure);
	}
	buf_done(&p->line);
	p->line = BUF(LINE_MAX_BYTES);
}

static bool on_pull_bytes(void *context, struct span piece)
{
	struct pull *p = context;

	for (size_t i = 0; i < piece.size; i++)
		if (piece.data[i] == '\n')
			end_line(p);
		else
			buf_add_byte(&p->line, piece.data[i]);
	return true;
}

int docker_engine_pull(struct docker_engine *e, const char *image, int64_t deadline,
                       struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(1024);
	char whole_path[1200], message[MESSAGE_MAX];
	struct pull pull = {.line = BUF(LINE_MAX_BYTES)};
	struct http_answer answer;
	struct http_call http;

	buf_add_text(&path, "/images/create?fromImage=");
	http_escape(&path, image);
	/* Without a tag the daemon would pull every tag. */
	if (!strchr(image, '@') && !strchr(strrchr(image, '/') ? strrchr(image, '/') : image, ':'))
		buf_add_text(&path, "&tag=latest");
	if (path.overflowed)
		return FAIL(err, ERROR_INVALID, "the name of an image is too long");
	const struct docker_call call = {"POST", buf_text(&path), .deadline = deadline};
	if (http_call_of(&call, whole_path, sizeof(whole_path), &http, err) < 0)
		return -1;
	http.on_body = on_pull_bytes;
	http.context = &pull;
	if (send_call(e, &http, &answer, err) < 0) {
		buf_done(&pull.line);
		return FAIL_CONTEXT(err, "image '%s'", image);
	}
	end_line(&pull);
	read_message(buf_span(&answer.body), message);
	buf_done(&answer.body);
	if (answer.status >= 300)
		return FAIL(err, code_of(answer.status), "image '%s': docker: %s", image, message);
	if (*pull.message)
		return FAIL(err, ERROR_UNAVAILABLE, "image '%s': docker: %s", image, pull.message);
	return 0;
}
