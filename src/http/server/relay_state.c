/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/relay_state.h"

#include <assert.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/relay_run.h"
#include "http/server/server_state.h"
#include "http/tls/tls.h"

int64_t relay_now_ms(const struct relay *relay)
{
	return loop_now_ms(relay->conn->server->loop);
}

void relay_enter(struct relay *relay)
{
	if (relay->depth++ == 0)
		log_request_set(relay->ex->request.id);
}

void relay_set_failed(struct relay *relay, const struct error *err)
{
	if (relay->ending != ENDING_NOT)
		return;
	relay->ending = ENDING_FAILED;
	relay->err = memory_new(sizeof(*err));
	*relay->err = *err;
}

void relay_set_failed_text(struct relay *relay, enum error_code code, const char *text)
{
	struct error err = {0};

	error_set(&err, code, 0, HERE, "%s", text);
	relay_set_failed(relay, &err);
}

bool relay_has_room(const struct relay *relay)
{
	return outflow_size(&relay->conn->out) <= RELAY_WAITING_MAX;
}

void relay_queue_upstream(struct relay *relay, struct span bytes)
{
	assert(relay->depth > 0);
	if (relay->upstream_fd >= 0 && bytes.size && relay->ending == ENDING_NOT)
		outflow_write(&relay->upstream, relay->upstream_fd, &bytes, 1);
}

static void write_last_chunk(struct relay *relay)
{
	struct http_connection *conn = relay->conn;
	const struct span parts[] = {SPAN("0\r\n"), buf_span(&relay->ex->reply.headers),
	                             SPAN("\r\n")};

	outflow_write(&conn->out, conn->fd, parts, COUNT_OF(parts));
}

void relay_set_finished(struct relay *relay)
{
	assert(relay->depth > 0);
	if (relay->ending == ENDING_NOT && (!relay->status || relay->length_left > 0)) {
		relay_set_failed_text(relay, ERROR_UNAVAILABLE, "the upstream's reply ended early");
	} else if (relay->ending == ENDING_NOT) {
		if (relay->chunked)
			write_last_chunk(relay);
		relay->ending = ENDING_FINISHED;
	}
}

void relay_discard(const struct relay_options *options)
{
	int fd = options->upstream_fd;

	tls_free(options->tls);
	if (options->is_shared)
		socket_drop(&fd);
	else
		auto_close(&fd);
	options->ops->release(options->state, -1, false);
}
