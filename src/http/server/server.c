/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/host.h"
#include "http/server/http.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/random.h"
#include "http/server/connection.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/listener.h"
#include "http/server/owners.h"
#include "http/server/park.h"
#include "http/server/request_queue.h"
#include "http/server/server_state.h"
#include "http/tls/tls.h"

static void deliver_finished(struct http_server *server)
{
	struct http_exchange *finished, *next;

	pthread_mutex_lock(&server->mutex);
	finished = TAKE(server->finished);
	pthread_mutex_unlock(&server->mutex);
	for (; finished; finished = next) {
		struct http_connection *conn = finished->connection;

		next = finished->next;
		connection_on_handled(conn);
		connection_feed(conn, (struct span){NULL, 0});
		connection_update_events(conn);
	}
	server_bury(server);
}

static void on_finished(void *context, uint32_t events)
{
	struct http_server *server = context;
	uint64_t count;

	(void)events;
	if (read(server->finished_fd, &count, sizeof(count)) != sizeof(count))
		return;
	deliver_finished(server);
	park_look(server);
	server_bury(server);
}

static void set_default(int64_t *value, int64_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

static void set_defaults(struct server_options *options)
{
	if (!options->head_max)
		options->head_max = (size_t)32 * 1024;
	if (!options->body_max)
		options->body_max = (size_t)1024 * 1024;
	if (!options->connections_max)
		options->connections_max = 8192;
	set_default(&options->head_timeout_ms, 10000);
	set_default(&options->body_timeout_ms, 60000);
	set_default(&options->idle_timeout_ms, 75000);
	set_default(&options->write_timeout_ms, 60000);
	set_default(&options->fast_deadline_ms, 60000);
	set_default(&options->slow_deadline_ms, 900000);
}

int server_open(const struct server_options *options, struct http_server **ret, struct error *err)
{
	struct http_server *server = memory_new(sizeof(*server));

	assert(options->loop && options->routes);
	server->options = *options;
	if (options->shares)
		server->shares = *options->shares;
	set_defaults(&server->options);
	server->loop = options->loop;
	server->events = &connection_events;
	list_init(&server->connections);
	list_init(&server->dead);
	list_init(&server->listeners);
	park_open(server);
	request_queues_open(server);
	owners_open(server);
	random_bytes(&server->id_state, sizeof(server->id_state));
	pthread_mutex_init(&server->mutex, NULL);
	pthread_cond_init(&server->changed, NULL);
	server->router = router_new(options->routes);
	server->scratch = malloc(SERVER_SCRATCH_SIZE);
	assert(server->scratch);
	server->finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->finished_fd < 0) {
		(void)FAIL_ERRNO(err, "eventfd");
	} else if (loop_watch_add(server->loop,
	                          &(struct loop_watch_options){server->finished_fd, EPOLLIN,
	                                                       on_finished, server},
	                          &server->finished_watch, err) == 0) {
		*ret = server;
		return 0;
	}
	server_close(server);
	return FAIL_CONTEXT(err, "open the server");
}

/* Running handlers still use the server: waits for them, and for the undos that follow from closed
 * connections. An undo that no worker lane accepts runs here. */
static void take_back_exchanges(struct http_server *server)
{
	bool is_running = true;

	while (is_running) {
		pthread_mutex_lock(&server->mutex);
		while (server->running)
			pthread_cond_wait(&server->changed, &server->mutex);
		pthread_mutex_unlock(&server->mutex);
		deliver_finished(server);
		LIST_EACH (&server->park->waiting, struct http_exchange, ex, park_item) {
			park_remove(ex);
			exchange_undo(ex);
			connection_on_handled(ex->connection);
		}
		pthread_mutex_lock(&server->mutex);
		is_running = server->running > 0 || server->finished;
		pthread_mutex_unlock(&server->mutex);
	}
	server_bury(server);
}

void server_close(struct http_server *server)
{
	if (!server)
		return;
	listeners_close(server);
	LIST_EACH (&server->connections, struct http_connection, conn, link)
		connection_close(conn);
	take_back_exchanges(server);
	exchange_free_spare(server);
	loop_watch_free(server->finished_watch);
	auto_close(&server->finished_fd);
	park_close(server);
	request_queues_close(server);
	owners_close(server);
	router_free(server->router);
	tls_context_free(server->tls);
	free(server->scratch);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->mutex);
	free(server);
}
