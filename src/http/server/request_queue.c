/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/request_queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/server_state.h"

#define WAITING_MAX 1024
#define WAIT_MS 30000
/* How often wait limits are checked. */
#define LOOK_EVERY_MS 100
/* Requests of a queue that are tried in an iteration of the loop. */
#define TRIED_MAX 16

struct request_queue {
	struct list item;    /* in queues.queue_items */
	struct list waiting; /* of http_exchange.queue_item; the next one first */
	unsigned count;
	char name[QUEUE_NAME_SIZE];
};

static unsigned waiting_max(const struct http_server *server)
{
	return server->shares.waiting_max ? server->shares.waiting_max : WAITING_MAX;
}

static int64_t wait_max_ms(const struct http_server *server)
{
	return server->shares.wait_ms ? server->shares.wait_ms : WAIT_MS;
}

static struct request_queue *make_queue(struct request_queues *queues, const char *name)
{
	struct request_queue *queue = map_find(&queues->queues, name);

	if (queue)
		return queue;
	queue = memory_new(sizeof(*queue));
	list_init(&queue->waiting);
	list_append(&queues->queue_items, &queue->item);
	(void)snprintf(queue->name, sizeof(queue->name), "%s", name);
	(void)map_put(&queues->queues, queue->name, queue);
	return queue;
}

static void drop_empty_queue(struct request_queues *queues, struct request_queue *queue)
{
	if (queue->count > 0)
		return;
	(void)map_remove(&queues->queues, queue->name);
	list_remove(&queue->item);
	free(queue);
}

static bool has_place(struct http_server *server, const char *name)
{
	return !server->shares.has_place || server->shares.has_place(server->options.context, name);
}

bool request_queues_add(struct http_server *server, struct http_exchange *ex)
{
	struct request_queues *queues = server->queues;
	struct request_queue *queue = map_find(&queues->queues, ex->queue_name);
	bool is_again = ex->queue_since_ms != 0;

	assert(ex->queue_name[0] && !ex->waits_in_queue && !ex->is_parked);
	if (!is_again && queue && queue->count >= waiting_max(server)) {
		queues->counts.refused_full++;
		return false;
	}
	queue = make_queue(queues, ex->queue_name);
	queue->count++;
	queues->counts.waiting++;
	if (!is_again)
		ex->queue_since_ms = loop_now_ms(server->loop);
	/* It was first before and found no place: it stays first. */
	if (is_again)
		list_insert_after(&queue->waiting, &ex->queue_item);
	else
		list_append(&queue->waiting, &ex->queue_item);
	ex->waits_in_queue = true;
	ex->connection->state = CONNECTION_WAITING;
	connection_due_never(ex->connection);
	/* A place may have become free after the worker found none. */
	if (queues->timer.heap_index == 0 || has_place(server, queue->name))
		loop_timer_start(server->loop, &queues->timer, LOOK_EVERY_MS / 10);
	return true;
}

void request_queues_remove(struct http_server *server, struct http_exchange *ex)
{
	struct request_queue *queue;

	if (!ex->waits_in_queue)
		return;
	ex->waits_in_queue = false;
	queue = map_find(&server->queues->queues, ex->queue_name);
	assert(queue && queue->count > 0);
	list_remove(&ex->queue_item);
	queue->count--;
	server->queues->counts.waiting--;
	drop_empty_queue(server->queues, queue);
}

void server_advance_queue(struct http_server *server, const char *queue)
{
	if (server->queues->counts.waiting > 0 && map_find(&server->queues->queues, queue))
		loop_timer_start(server->loop, &server->queues->timer, 0);
}

bool request_has_others_before(const struct request *rq, const char *queue)
{
	struct http_exchange *ex = rq->exchange;

	return ex && rq->is_tried && !ex->has_place &&
	       map_find(&ex->server->queues->queues, queue) != NULL;
}

static struct http_exchange *first_of(struct http_server *server, const char *name)
{
	const struct request_queue *queue = map_find(&server->queues->queues, name);

	return queue ? LIST_ENTRY(queue->waiting.next, struct http_exchange, queue_item) : NULL;
}

static void retry_exchange(struct http_server *server, struct http_exchange *ex)
{
	struct http_connection *conn = ex->connection;

	request_queues_remove(server, ex);
	server->events->on_queue_place(conn);
}

static void refuse_late(struct http_server *server, struct http_exchange *ex)
{
	struct http_connection *conn = ex->connection;

	request_queues_remove(server, ex);
	server->queues->counts.refused_late++;
	error_context(&ex->why, "waited %d s", (int)(wait_max_ms(server) / 1000));
	server->events->on_queue_refusal(conn);
}

static void look_at_queue(struct http_server *server, const char *name)
{
	int64_t before_ms = loop_now_ms(server->loop) - wait_max_ms(server);
	struct http_exchange *ex;

	for (unsigned i = 0; i < TRIED_MAX && has_place(server, name); i++) {
		ex = first_of(server, name);
		if (!ex)
			return;
		retry_exchange(server, ex);
		if (first_of(server, name) == ex)
			break;
	}
	while ((ex = first_of(server, name)) && ex->queue_since_ms < before_ms)
		refuse_late(server, ex);
}

static void on_timer(void *context)
{
	struct http_server *server = context;
	struct request_queues *queues = server->queues;
	char name[QUEUE_NAME_SIZE];

	LIST_EACH (&queues->queue_items, const struct request_queue, queue, item) {
		(void)snprintf(name, sizeof(name), "%s", queue->name);
		look_at_queue(server, name);
	}
	if (queues->counts.waiting > 0 && queues->timer.heap_index == 0)
		loop_timer_start(server->loop, &queues->timer, LOOK_EVERY_MS);
	server_bury(server);
}

struct queue_counts server_queue_counts(const struct http_server *server)
{
	struct queue_counts counts = server->queues->counts;

	counts.longest_ms = 0;
	LIST_EACH (&server->queues->queue_items, const struct request_queue, queue, item) {
		const struct http_exchange *ex =
		        LIST_ENTRY(queue->waiting.next, struct http_exchange, queue_item);
		int64_t waited_ms = loop_now_ms(server->loop) - ex->queue_since_ms;

		if (waited_ms > counts.longest_ms)
			counts.longest_ms = waited_ms;
	}
	return counts;
}

void request_queues_open(struct http_server *server)
{
	server->queues = memory_new(sizeof(*server->queues));
	list_init(&server->queues->queue_items);
	server->queues->timer = (struct loop_timer){.on_timer = on_timer, .context = server};
}

void request_queues_close(struct http_server *server)
{
	assert(list_is_empty(&server->queues->queue_items));
	loop_timer_stop(server->loop, &server->queues->timer);
	map_done(&server->queues->queues);
	free(TAKE(server->queues));
}
