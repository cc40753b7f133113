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
#include "provider/docker/container.h"
#include "provider/docker/version.h"

#define CLIENTS_MAX 16 /* connections that are kept */
#define MESSAGE_MAX 300
#define SCHEME "unix://"
#define HOST_SIZE 256

/* An epoch ends when a connection turns out to be broken: clients of an earlier one are closed. */
struct engine_client {
	struct http_client *client;
	uint64_t epoch;
	bool is_used; /* it has had a connection */
	char host[HOST_SIZE];
};

struct docker_engine {
	pthread_mutex_t mutex;                     /* guards all below */
	char *host;                                /* "unix:///path" */
	pthread_cond_t answered;                   /* the version was asked for, with any result */
	struct engine_client clients[CLIENTS_MAX]; /* not in use */
	unsigned client_count;
	uint64_t epoch;
	struct docker_version version; /* of version_epoch */
	uint64_t version_epoch;
	bool is_asking; /* a thread asks for the version */
};

static int check_host(const char *host, struct error *err)
{
	if (strncmp(host, SCHEME, strlen(SCHEME)) == 0 && host[strlen(SCHEME)] == '/')
		return 0;
	(void)FAIL(err, ERROR_INVALID, "docker_host: '%s' is no unix:///PATH", host);
	return FAIL_HINT(err, "the daemon must run on this machine, because the agent and its "
	                      "socket are mounted into each container");
}

int docker_engine_open(const char *host, struct docker_engine **ret, struct error *err)
{
	struct docker_engine *e;

	if (check_host(host, err) < 0)
		return -1;
	e = memory_new(sizeof(*e));
	e->host = memory_text(host);
	e->epoch = 1;
	pthread_mutex_init(&e->mutex, NULL);
	thread_condition_init(&e->answered);
	*ret = e;
	return 0;
}

void docker_engine_close(struct docker_engine *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->client_count; i++)
		http_client_close(e->clients[i].client);
	pthread_cond_destroy(&e->answered);
	pthread_mutex_destroy(&e->mutex);
	free(e->host);
	free(e);
}

static int take_client(struct docker_engine *e, struct engine_client *ret, struct error *err)
{
	struct engine_client c = {.client = NULL};

	pthread_mutex_lock(&e->mutex);
	if (e->client_count > 0)
		c = e->clients[--e->client_count];
	c.epoch = e->epoch;
	(void)snprintf(c.host, sizeof(c.host), "%s", e->host);
	pthread_mutex_unlock(&e->mutex);
	const struct http_client_options options = {.unix_socket = c.host + strlen(SCHEME),
	                                            .user_agent = "atoll"};
	if (!c.client && http_client_open(&options, &c.client, err) < 0)
		return -1;
	*ret = c;
	return 0;
}

/* The caller holds the mutex. The kept clients have connections of the epoch that ends. */
static void end_epoch(struct docker_engine *e)
{
	e->epoch++;
	while (e->client_count > 0)
		http_client_close(e->clients[--e->client_count].client);
}

int docker_engine_move(struct docker_engine *e, const char *host, struct error *err)
{
	if (check_host(host, err) < 0)
		return -1;
	pthread_mutex_lock(&e->mutex);
	free(e->host);
	e->host = memory_text(host);
	end_epoch(e);
	pthread_mutex_unlock(&e->mutex);
	return 0;
}

/* `is_broken`: the call found its connection, or the daemon, gone. */
static void give_back_client(struct docker_engine *e, struct engine_client *c, bool is_broken,
                             bool is_kept)
{
	pthread_mutex_lock(&e->mutex);
	if (is_broken && c->epoch == e->epoch) {
		end_epoch(e);
		c->epoch = e->epoch; /* its connection is the first of the new one */
	}
	if (is_kept && c->epoch == e->epoch && e->client_count < CLIENTS_MAX) {
		c->is_used = true;
		e->clients[e->client_count++] = *c;
		c->client = NULL;
	}
	pthread_mutex_unlock(&e->mutex);
	http_client_close(c->client);
}

/* Whatever is wrong with the transfer is a failure of the daemon. */
static int fail_transfer(const char *host, struct error *err)
{
	if (err->code == ERROR_TIMEOUT)
		return FAIL_CONTEXT(err, "docker");
	err->code = ERROR_UNAVAILABLE;
	(void)FAIL_CONTEXT(err, "docker at %s", host);
	return FAIL_HINT(err, "is the Docker daemon running, and may the server's user open its "
	                      "socket?");
}

static int send_call(struct docker_engine *e, const struct http_call *call, struct http_answer *ret,
                     struct error *err)
{
	struct engine_client c;

	if (take_client(e, &c, err) < 0)
		return -1;
	int status = http_client_call(c.client, call, ret, err);
	if (status < 0) {
		give_back_client(e, &c, true, false);
		return fail_transfer(c.host, err);
	}
	give_back_client(e, &c, c.is_used && ret->is_new_connection, true);
	return 0;
}

/* `prefix`: of the path. */
static int send_docker_call(struct docker_engine *e, const struct docker_call *call,
                            const char *prefix, struct http_answer *ret, struct error *err)
{
	int left_ms = deadline_poll_ms(call->deadline);
	char path[2048];

	if (left_ms == 0)
		return FAIL(err, ERROR_TIMEOUT, "docker: no time is left for %s", call->path);
	if ((size_t)snprintf(path, sizeof(path), "%s%s", prefix, call->path) >= sizeof(path))
		return FAIL(err, ERROR_INVALID, "docker: the path of a call is too long");
	const struct http_call http = {.method = call->method,
	                               .path = path,
	                               .body = call->body,
	                               .content_type = call->content_type,
	                               .headers = call->headers,
	                               .on_body = call->on_body,
	                               .context = call->context,
	                               .timeout_ms = left_ms < 0 ? 0 : left_ms,
	                               .keeps_errors = true};
	return send_call(e, &http, ret, err);
}

static int ask_version(struct docker_engine *e, int64_t deadline, struct docker_version *ret,
                       struct error *err)
{
	const struct docker_call call = {.method = "GET", .path = "/version", .deadline = deadline};
	struct http_answer answer;
	int result;

	if (send_docker_call(e, &call, "", &answer, err) < 0)
		return -1;
	if (answer.status == 200)
		result = docker_version_read(buf_span(&answer.body), ret, err);
	else
		result = FAIL(err, ERROR_UNAVAILABLE, "docker answers /version with status %d",
		              answer.status);
	buf_done(&answer.body);
	return result;
}

/* One thread asks; the others wait for its answer. */
static int find_version(struct docker_engine *e, int64_t deadline, struct docker_version *ret,
                        struct error *err)
{
	struct docker_version version;
	int result;

	pthread_mutex_lock(&e->mutex);
	while (e->is_asking && e->version_epoch != e->epoch && deadline_poll_ms(deadline) != 0)
		thread_wait(&e->answered, &e->mutex, deadline);
	if (e->version_epoch == e->epoch || e->is_asking) {
		bool is_known = e->version_epoch == e->epoch;

		*ret = e->version;
		pthread_mutex_unlock(&e->mutex);
		return is_known ? 0
		                : FAIL(err, ERROR_TIMEOUT,
		                       "docker does not answer the question for its version");
	}
	e->is_asking = true;
	pthread_mutex_unlock(&e->mutex);
	result = ask_version(e, deadline, &version, err);
	pthread_mutex_lock(&e->mutex);
	e->is_asking = false;
	if (result == 0) {
		e->version = *ret = version;
		e->version_epoch = e->epoch;
	}
	pthread_cond_broadcast(&e->answered);
	pthread_mutex_unlock(&e->mutex);
	return result;
}

int docker_engine_dialect(struct docker_engine *e, int64_t deadline,
                          const struct docker_dialect **ret, struct error *err)
{
	struct docker_version version;

	if (find_version(e, deadline, &version, err) < 0)
		return -1;
	*ret = version.dialect;
	return 0;
}

/* {"message": "…"} of a failure; control characters would break a log line. False: the body is none
 * that a daemon writes. */
static bool read_message(struct span body, char out[MESSAGE_MAX])
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root = NULL;
	struct error ignored = {0};
	const char *text = NULL;

	if (json_load(&arena, body, &root, &ignored) == 0)
		text = json_get_text(root, "message", NULL);
	(void)snprintf(out, MESSAGE_MAX, "%s", text ? text : "it did not say why");
	for (char *at = out; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	return text != NULL;
}

static enum error_code code_of(int status)
{
	static const struct {
		int status;
		enum error_code code;
	} codes[] = {{400, ERROR_INVALID},
	             {403, ERROR_FORBIDDEN},
	             {404, ERROR_NOT_FOUND},
	             {409, ERROR_CONFLICT}};

	for (size_t i = 0; i < COUNT_OF(codes); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return ERROR_UNAVAILABLE;
}

static bool is_listed(const struct docker_call *call, int status)
{
	for (const int *at = call->accepted; at && *at; at++)
		if (*at == status)
			return true;
	return false;
}

/* 404 without a message may come from anything that listens: it does not say that an object is
 * gone. */
static int fail_answer(const struct docker_call *call, const struct http_answer *answer,
                       struct error *err)
{
	char message[MESSAGE_MAX];
	bool is_daemons = read_message(buf_span(&answer->body), message);

	if (is_daemons && is_listed(call, answer->status))
		return 0;
	if (!is_daemons)
		return FAIL(err, ERROR_UNAVAILABLE, "docker answers with status %d and no message",
		            answer->status);
	/* Podman answers 500 to the name of another container. */
	bool is_taken = answer->status == 500 && strstr(message, "container name") &&
	                strstr(message, "is already in use");
	return FAIL(err, is_taken ? ERROR_CONFLICT : code_of(answer->status), "docker: %s",
	            message);
}

int docker_engine_call(struct docker_engine *e, const struct docker_call *call,
                       struct docker_answer *ret, struct error *err)
{
	struct docker_version version = {.minor = 0};
	struct http_answer answer;
	char prefix[24];

	if (find_version(e, call->deadline, &version, err) < 0)
		return -1;
	(void)snprintf(prefix, sizeof(prefix), "/v1.%u", version.minor);
	if (send_docker_call(e, call, prefix, &answer, err) < 0)
		return -1;
	bool is_fine =
	        answer.status < 300 || (answer.status < 400 && is_listed(call, answer.status));
	if (is_fine || fail_answer(call, &answer, err) == 0) {
		*ret = (struct docker_answer){answer.status, answer.body};
		return 0;
	}
	buf_done(&answer.body);
	return -1;
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
	int status = docker_load_answer(a, buf_span(&answer.body), ret, err);
	buf_done(&answer.body);
	return status;
}
