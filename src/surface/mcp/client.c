/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/client.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "http/server/http.h"
#include "json/write.h"
#include "surface/mcp/mcp.h"

#define MESSAGE_MAX ((size_t)64 * 1024)
#define RESPONSE_MAX ((size_t)1 << 20)

static const char *const level_names[] = {"debug", "info",     "notice", "warning",
                                          "error", "critical", "alert",  "emergency"};
_Static_assert(sizeof(level_names) / sizeof(level_names[0]) == MCP_LOG_OFF, "a name for each");

enum mcp_log_level mcp_log_level_find(const char *name)
{
	enum mcp_log_level level = MCP_LOG_DEBUG;

	while (level < MCP_LOG_OFF && strcmp(level_names[level], name) != 0)
		level++;
	return level;
}

struct mcp_asks {
	pthread_mutex_t mutex;
	struct list pending;
};

/* On the stack of the thread that waits. */
struct pending_ask {
	struct list item;
	const char *owner, *id;
	int fd; /* eventfd: is_answered */
	/* Under the mutex: */
	struct buf *response;
	bool is_answered;
};

struct mcp_asks *mcp_asks_new(void)
{
	struct mcp_asks *asks = memory_new(sizeof(*asks));

	pthread_mutex_init(&asks->mutex, NULL);
	list_init(&asks->pending);
	return asks;
}

void mcp_asks_free(struct mcp_asks *asks)
{
	if (!asks)
		return;
	assert(list_is_empty(&asks->pending));
	pthread_mutex_destroy(&asks->mutex);
	free(asks);
}

void mcp_asks_answer(struct mcp_asks *asks, const char *owner, struct span id, struct span message)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&asks->mutex);
	LIST_EACH (&asks->pending, struct pending_ask, ask, item) {
		if (ask->is_answered || !span_equals_text(id, ask->id) ||
		    strcmp(ask->owner, owner) != 0)
			continue;
		ask->is_answered = true;
		buf_add_span(ask->response, message);
		if (write(ask->fd, &one, sizeof(one)) < 0)
			abort(); /* an eventfd takes 2^64 - 2 of these */
	}
	pthread_mutex_unlock(&asks->mutex);
}

static void begin_message(struct buf *out, const char *method)
{
	json_begin_object(out, NULL);
	json_add_text(out, "jsonrpc", "2.0");
	json_add_text(out, "method", method);
}

static bool send_message(const struct mcp_client *client, struct buf *message)
{
	json_end_object(message);
	return !message->overflowed && client->send(client->context, buf_span(message));
}

void mcp_client_log(const struct mcp_client *client, enum mcp_log_level level, const char *logger,
                    struct span text)
{
	AUTO(buf_done) struct buf out = BUF(MESSAGE_MAX);

	if (!client || level < client->abilities.log_level)
		return;
	begin_message(&out, "notifications/message");
	json_begin_object(&out, "params");
	json_add_text(&out, "level", level_names[level]);
	json_add_text(&out, "logger", logger);
	json_add_span(&out, "data", text);
	json_end_object(&out);
	(void)send_message(client, &out);
}

void mcp_client_progress(const struct mcp_client *client, double progress, double total,
                         const char *text)
{
	AUTO(buf_done) struct buf out = BUF(MESSAGE_MAX);

	if (!client || client->token.size == 0)
		return;
	begin_message(&out, "notifications/progress");
	json_begin_object(&out, "params");
	json_add_raw(&out, "progressToken", client->token);
	json_add_number(&out, "progress", progress);
	if (total > 0)
		json_add_number(&out, "total", total);
	json_add_text(&out, "message", text);
	json_end_object(&out);
	(void)send_message(client, &out);
}

static const struct {
	const char *method, *capability;
} questions[] = {
        [MCP_SAMPLING] = {"sampling/createMessage", "sampling"},
        [MCP_ELICITATION] = {"elicitation/create", "elicitation"},
};

static int send_ask(const struct mcp_client *client, const struct pending_ask *pending,
                    const struct mcp_ask *ask, struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(MESSAGE_MAX);

	begin_message(&out, questions[ask->question].method);
	json_add_raw(&out, "id", span_of(pending->id));
	json_add_raw(&out, "params", ask->params);
	if (send_message(client, &out))
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE, "the client takes no more messages");
}

static int read_response(struct arena *a, struct span message, const struct json_value **ret,
                         struct error *err)
{
	const struct json_value *response, *fault;

	if (json_load(a, (struct span){arena_copy(a, message), message.size}, &response, err) < 0)
		return FAIL_CONTEXT(err, "the client's response");
	fault = json_get(response, "error");
	if (fault)
		return FAIL(err, ERROR_CONFLICT, "the client refused: %.200s",
		            json_get_text(fault, "message", "without a reason"));
	*ret = json_get(response, "result");
	return *ret ? 0 : FAIL(err, ERROR_INVALID, "the client's response has no result");
}

static int await_response(struct mcp_asks *asks, struct pending_ask *pending,
                          const struct mcp_client *client, const struct mcp_ask *ask,
                          struct error *err)
{
	int64_t deadline = deadline_after(ask->timeout_ms);
	int result;

	pthread_mutex_lock(&asks->mutex);
	list_append(&asks->pending, &pending->item);
	pthread_mutex_unlock(&asks->mutex);
	result = send_ask(client, pending, ask, err);
	if (result == 0)
		result = cancel_wait(client->cancel, pending->fd, POLLIN, deadline, err);
	pthread_mutex_lock(&asks->mutex);
	list_remove(&pending->item);
	pthread_mutex_unlock(&asks->mutex);
	return result;
}

static int ask_session(const struct mcp_client *client, struct arena *a, const struct mcp_ask *ask,
                       const struct json_value **ret, struct error *err)
{
	struct id id = id_new();
	AUTO(buf_done) struct buf response = BUF(RESPONSE_MAX);
	AUTO_CLOSE int fd = -1;
	struct pending_ask pending = {.id = arena_format(a, "\"atoll-%s\"", id.text),
	                              .response = &response};

	if (!client || !client->owner)
		return FAIL(
		        err, ERROR_UNSUPPORTED,
		        "this client cannot be asked: up to 2025-11-25 that needs a session and "
		        "Accept: text/event-stream");
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return FAIL_ERRNO(err, "eventfd");
	pending.owner = client->owner;
	pending.fd = fd;
	if (await_response(client->asks, &pending, client, ask, err) < 0)
		return FAIL_CONTEXT(err, "%s", questions[ask->question].method);
	if (response.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the client's response is larger than %zu bytes",
		            RESPONSE_MAX);
	return read_response(a, buf_span(&response), ret, err);
}

/* The modern era: the response comes with the call, or the call ends with the question. */
static int ask_by_result(struct mcp *m, const struct mcp_ask *ask, const struct json_value **ret,
                         struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(MESSAGE_MAX);

	*ret = json_get(json_get(m->message.params, "inputResponses"), ask->key);
	if (*ret)
		return 0;
	json_begin_object(&out, NULL);
	json_begin_object(&out, ask->key);
	json_add_text(&out, "method", questions[ask->question].method);
	json_add_raw(&out, "params", ask->params);
	json_end_object(&out);
	json_end_object(&out);
	if (out.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the question is too large");
	m->required = (struct span){arena_copy(m->rq->arena, buf_span(&out)), out.size};
	return FAIL(err, ERROR_CONFLICT, "the call needs input of the client: '%s'", ask->key);
}

int mcp_ask(struct mcp *m, const struct mcp_ask *ask, const struct json_value **ret,
            struct error *err)
{
	const struct mcp_abilities *abilities = &m->abilities;
	bool can = ask->question == MCP_SAMPLING ? abilities->can_sample : abilities->can_elicit;

	if (!can) {
		m->missing = questions[ask->question].capability;
		return FAIL(err, ERROR_UNSUPPORTED, "the client has no capability '%s'",
		            m->missing);
	}
	if (m->message.is_modern)
		return ask_by_result(m, ask, ret, err);
	return ask_session(m->client, m->rq->arena, ask, ret, err);
}
