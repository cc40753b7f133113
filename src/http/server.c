/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "http/tls.h"

#define SPARE_MAX 64
#define REPLY_BODY_MAX ((size_t)64 * 1024 * 1024)
#define REPLY_HEADERS_MAX ((size_t)32 * 1024)

/* ---- exchanges ---- */

struct http_exchange *server_exchange_new(struct http_server *server,
                                          struct http_connection *connection)
{
	struct http_exchange *ex = server->spare;

	if (ex) {
		server->spare = ex->next;
		server->spare_count--;
	} else {
		ex = calloc(1, sizeof(*ex));
		assert(ex);
		ex->server = server;
		ex->reply.headers = BUF(REPLY_HEADERS_MAX);
		ex->reply.body = BUF(REPLY_BODY_MAX);
	}
	exchange_start(ex, connection);
	return ex;
}

void server_exchange_done(struct http_server *server, struct http_exchange *ex, int status)
{
	int64_t took_us = (clock_monotonic_ns() - ex->started_ns) / 1000;

	server->counts.requests_total++;
	server->counts.responses[status / 100 % COUNT_OF(server->counts.responses)]++;
	if (server->options.on_done)
		server->options.on_done(&ex->request, status, took_us);
	if (server->spare_count == SPARE_MAX) {
		exchange_free(ex);
		return;
	}
	exchange_reset(ex);
	ex->next = server->spare;
	server->spare = ex;
	server->spare_count++;
}

/* ---- to the workers and back ---- */

/* False when another lane will run it again. */
static bool run_or_queue(struct http_exchange *ex)
{
	struct error err = {0};

	if (ex->reply.undo) {
		exchange_undo(ex);
		return true;
	}
	if (ex->is_admission) {
		(void)exchange_admit(ex, false);
		return true;
	}
	if (exchange_handle(ex))
		return true;
	if (worker_submit(ex->pool, &ex->task, &err) == 0)
		return false;
	exchange_fail(ex, &err);
	return true;
}

/* An eventfd of its own rather than loop_post: server_close can then take back what is finished
 * but not delivered, whether or not the loop will ever run again. */
static void return_exchange(struct http_exchange *ex)
{
	struct http_server *server = ex->server;
	const uint64_t one = 1;
	bool is_first;

	pthread_mutex_lock(&server->mutex);
	is_first = !server->finished;
	ex->next = server->finished;
	server->finished = ex;
	pthread_mutex_unlock(&server->mutex);
	/* After unlocking, because the loop needs the mutex first; the server exists as long as
	 * `running` counts this call. */
	if (is_first && write(server->finished_fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd takes 2^64 - 2 of these */
	pthread_mutex_lock(&server->mutex);
	server->running--;
	pthread_cond_signal(&server->changed);
	pthread_mutex_unlock(&server->mutex);
}

static void run_on_worker(struct worker_task *task)
{
	struct http_exchange *ex = CONTAINER_OF(task, struct http_exchange, task);

	if (run_or_queue(ex))
		return_exchange(ex);
}

static void refuse_late(struct worker_task *task)
{
	struct http_exchange *ex = CONTAINER_OF(task, struct http_exchange, task);
	struct error err = {0};

	(void)FAIL(&err, ERROR_UNAVAILABLE,
	           "the call has waited for agent_wait: as many calls of its sandbox, key or "
	           "project run as may");
	error_hint(&err, "try again, or raise agent_calls_per_sandbox_max, "
	                 "agent_calls_per_key_max or agent_calls_per_project_max");
	exchange_fail(ex, &err);
	return_exchange(ex);
}

static void choose_lane(struct http_exchange *ex)
{
	const struct server_options *options = &ex->server->options;
	unsigned flags = ex->request.route->flags;

	ex->pool = options->workers;
	ex->task = (struct worker_task){
	        .lane = WORKER_FAST, .run = run_on_worker, .expire = refuse_late};
	if (flags & (ROUTE_SLOW | ROUTE_LONG))
		ex->task.lane = flags & ROUTE_FILES ? WORKER_FILES : WORKER_SLOW;
	if (ex->reply.undo)
		ex->task.lane = WORKER_SLOW;
	else if (ex->is_admission)
		ex->task.lane = WORKER_FAST;
	else if (ex->parked_since_ms)
		exchange_set_deadline(ex);
	if (flags & ROUTE_LONG && options->waiters && !ex->reply.undo && !ex->is_admission) {
		ex->pool = options->waiters;
		ex->task.lane = WORKER_FAST; /* until request_may_call */
	}
	if (ex->server->shares.find)
		ex->server->shares.find(&ex->request, ex->task.shares);
}

int server_submit(struct http_server *server, struct http_exchange *ex, struct error *err)
{
	int result;

	choose_lane(ex);
	pthread_mutex_lock(&server->mutex);
	server->running++;
	pthread_mutex_unlock(&server->mutex);
	result = worker_submit(ex->pool, &ex->task, err);
	if (result < 0) {
		pthread_mutex_lock(&server->mutex);
		server->running--;
		pthread_mutex_unlock(&server->mutex);
	}
	return result;
}

bool server_abandon(struct http_server *server, struct http_exchange *ex)
{
	if (!worker_abandon(ex->pool, &ex->task))
		return false;
	pthread_mutex_lock(&server->mutex);
	server->running--;
	pthread_mutex_unlock(&server->mutex);
	return true;
}

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

/* ---- small services ---- */

const char *connection_peer(const struct http_connection *conn)
{
	return conn->peer;
}

bool connection_is_tls(const struct http_connection *conn)
{
	return conn->out.tls != NULL;
}

/* splitmix64 over a counter: unique while this process lives, and not guessed by accident. */
void server_make_id(struct http_server *server, char id[REQUEST_ID_SIZE])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint64_t z = server->id_state += 0x9e3779b97f4a7c15;
	int i;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	z ^= z >> 31;
	for (i = 0; i < 13; i++, z >>= 5)
		id[i] = digits[z & 31];
	id[i] = '\0';
}

size_t server_read_size(struct http_server *server)
{
	return pace_read_size(&server->pace, loop_now_ms(server->loop), loop_busy_us(server->loop));
}

struct span server_date_line(struct http_server *server)
{
	int64_t now = loop_now_ms(server->loop);

	if (!server->date_at_ms || now - server->date_at_ms >= 1000) {
		time_t seconds = time(NULL);
		struct tm parts;

		gmtime_r(&seconds, &parts);
		strftime(server->date, sizeof(server->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
		         &parts);
		server->date_at_ms = now ? now : 1;
	}
	return span_of(server->date);
}

void server_bury(struct http_server *server)
{
	LIST_EACH (&server->dead, item) {
		struct http_connection *conn = LIST_ENTRY(item, struct http_connection, link);

		if (conn->exchange)
			continue;
		list_remove(item);
		connection_free(conn);
	}
}

struct server_counts server_counts_get(const struct http_server *server)
{
	return server->counts;
}

/* ---- life ---- */

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
	struct http_server *server = calloc(1, sizeof(*server));

	assert(server && options->loop && options->routes);
	server->options = *options;
	if (options->shares)
		server->shares = *options->shares;
	set_defaults(&server->options);
	server->loop = options->loop;
	list_init(&server->connections);
	list_init(&server->dead);
	list_init(&server->listeners);
	park_init(server);
	request_queues_init(server);
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
		LIST_EACH (&server->park.waiting, item) {
			struct http_exchange *ex =
			        LIST_ENTRY(item, struct http_exchange, park_item);

			park_remove(ex);
			exchange_undo(ex);
			connection_on_handled(ex->connection);
		}
		pthread_mutex_lock(&server->mutex);
		is_running = server->running > 0 || server->finished;
		pthread_mutex_unlock(&server->mutex);
	}
	server_bury(server);
	park_done(server);
}

void server_close(struct http_server *server)
{
	struct http_exchange *next;

	if (!server)
		return;
	listeners_close(server);
	LIST_EACH (&server->connections, item)
		connection_close(LIST_ENTRY(item, struct http_connection, link));
	take_back_exchanges(server);
	for (struct http_exchange *ex = server->spare; ex; ex = next) {
		next = ex->next;
		exchange_free(ex);
	}
	loop_watch_free(server->finished_watch);
	auto_close(&server->finished_fd);
	request_queues_done(server);
	router_free(server->router);
	tls_context_free(server->tls);
	free(server->scratch);
	pthread_cond_destroy(&server->changed);
	pthread_mutex_destroy(&server->mutex);
	free(server);
}
