/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/submit.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/server/exchange.h"
#include "http/server/server_state.h"

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
	assert(server->running > 0);
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
