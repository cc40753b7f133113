/* SPDX-License-Identifier: Apache-2.0 */
#include "http/turns.h"

#include <stdio.h>
#include <stdlib.h>

#include "http/server.h"

#define WAITING_MAX 1024
#define WAIT_MS 30000
/* How often waits are compared with the clock. */
#define LOOK_EVERY_MS 100
/* Requests of one queue that are tried again in one turn of the loop. */
#define TRIED_MAX 16

struct turn_queue {
	struct list item;    /* in turns.queue_items */
	struct list waiting; /* of http_exchange.turn_item; the next one first */
	unsigned count;
	char name[TURN_QUEUE_SIZE];
};

static unsigned waiting_max(const struct http_server *server)
{
	return server->shares.waiting_max ? server->shares.waiting_max : WAITING_MAX;
}

static int64_t wait_max_ms(const struct http_server *server)
{
	return server->shares.wait_ms ? server->shares.wait_ms : WAIT_MS;
}

static struct turn_queue *make_queue(struct turns *turns, const char *name)
{
	struct turn_queue *queue = map_find(&turns->queues, name);

	if (queue)
		return queue;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		abort();
	list_init(&queue->waiting);
	list_append(&turns->queue_items, &queue->item);
	(void)snprintf(queue->name, sizeof(queue->name), "%s", name);
	(void)map_put(&turns->queues, queue->name, queue);
	return queue;
}

static void drop_empty_queue(struct turns *turns, struct turn_queue *queue)
{
	if (queue->count > 0)
		return;
	(void)map_remove(&turns->queues, queue->name);
	list_remove(&queue->item);
	free(queue);
}

static bool has_turn(struct http_server *server, const char *name)
{
	return !server->shares.has_turn || server->shares.has_turn(server->options.context, name);
}

bool turns_add(struct http_server *server, struct http_exchange *ex)
{
	struct turns *turns = &server->turns;
	struct turn_queue *queue = map_find(&turns->queues, ex->turn_queue);
	bool is_again = ex->turn_since_ms != 0;

	if (!is_again && queue && queue->count >= waiting_max(server)) {
		turns->counts.refused_full++;
		return false;
	}
	queue = make_queue(turns, ex->turn_queue);
	queue->count++;
	turns->counts.waiting++;
	if (!is_again)
		ex->turn_since_ms = loop_now_ms(server->loop);
	/* It was the first before, and had no luck. */
	if (is_again)
		list_insert_after(&queue->waiting, &ex->turn_item);
	else
		list_append(&queue->waiting, &ex->turn_item);
	ex->waits_turn = true;
	ex->connection->state = CONNECTION_WAITING;
	connection_due_never(ex->connection);
	/* A place may have become free while a worker found that there was none. */
	if (turns->timer.heap_index == 0 || has_turn(server, queue->name))
		loop_timer_start(server->loop, &turns->timer, LOOK_EVERY_MS / 10);
	return true;
}

void turns_remove(struct http_server *server, struct http_exchange *ex)
{
	struct turn_queue *queue;

	if (!ex->waits_turn)
		return;
	ex->waits_turn = false;
	queue = map_find(&server->turns.queues, ex->turn_queue);
	list_remove(&ex->turn_item);
	queue->count--;
	server->turns.counts.waiting--;
	drop_empty_queue(&server->turns, queue);
}

void server_turn(struct http_server *server, const char *queue)
{
	if (server->turns.counts.waiting > 0 && map_find(&server->turns.queues, queue))
		loop_timer_start(server->loop, &server->turns.timer, 0);
}

bool request_has_others_before(const struct request *rq, const char *queue)
{
	struct http_exchange *ex = rq->exchange;

	return ex && rq->is_tried && !ex->has_turn &&
	       map_find(&ex->server->turns.queues, queue) != NULL;
}

/* ---- the first of a queue ---- */

static struct http_exchange *first_of(struct http_server *server, const char *name)
{
	const struct turn_queue *queue = map_find(&server->turns.queues, name);

	return queue ? LIST_ENTRY(queue->waiting.next, struct http_exchange, turn_item) : NULL;
}

static void retry_exchange(struct http_server *server, struct http_exchange *ex)
{
	struct http_connection *conn = ex->connection;

	turns_remove(server, ex);
	connection_take_turn(conn);
	connection_feed(conn, (struct span){NULL, 0});
	connection_settle(conn);
}

static void refuse_late(struct http_server *server, struct http_exchange *ex)
{
	struct http_connection *conn = ex->connection;

	turns_remove(server, ex);
	server->turns.counts.refused_late++;
	error_context(&ex->why, "waited %d s", (int)(wait_max_ms(server) / 1000));
	connection_give_up_turn(conn);
	connection_feed(conn, (struct span){NULL, 0});
	connection_settle(conn);
}

static void look_at_queue(struct http_server *server, const char *name)
{
	int64_t before_ms = loop_now_ms(server->loop) - wait_max_ms(server);
	struct http_exchange *ex;

	for (unsigned i = 0; i < TRIED_MAX && has_turn(server, name); i++) {
		ex = first_of(server, name);
		if (!ex)
			return;
		retry_exchange(server, ex);
		if (first_of(server, name) == ex)
			break;
	}
	while ((ex = first_of(server, name)) && ex->turn_since_ms < before_ms)
		refuse_late(server, ex);
}

static void on_timer(void *context)
{
	struct http_server *server = context;
	struct turns *turns = &server->turns;
	char name[TURN_QUEUE_SIZE];

	LIST_EACH (&turns->queue_items, item) {
		const struct turn_queue *queue = LIST_ENTRY(item, struct turn_queue, item);

		(void)snprintf(name, sizeof(name), "%s", queue->name);
		look_at_queue(server, name);
	}
	if (turns->counts.waiting > 0 && turns->timer.heap_index == 0)
		loop_timer_start(server->loop, &turns->timer, LOOK_EVERY_MS);
	server_bury(server);
}

struct turn_counts server_turn_counts(const struct http_server *server)
{
	struct turn_counts counts = server->turns.counts;

	counts.longest_ms = 0;
	LIST_EACH (&server->turns.queue_items, item) {
		const struct turn_queue *queue = LIST_ENTRY(item, struct turn_queue, item);
		const struct http_exchange *ex =
		        LIST_ENTRY(queue->waiting.next, struct http_exchange, turn_item);
		int64_t waited_ms = loop_now_ms(server->loop) - ex->turn_since_ms;

		if (waited_ms > counts.longest_ms)
			counts.longest_ms = waited_ms;
	}
	return counts;
}

void turns_init(struct http_server *server)
{
	list_init(&server->turns.queue_items);
	server->turns.timer = (struct loop_timer){.on_timer = on_timer, .context = server};
}

void turns_done(struct http_server *server)
{
	loop_timer_stop(server->loop, &server->turns.timer);
	map_done(&server->turns.queues);
}
