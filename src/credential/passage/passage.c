/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a passage, and its queues. request.c and answer.c have what rules do to it. */
#include "credential/passage/passage.h"

#include <stdlib.h>
#include <string.h>

#include "credential/passage/guard.h"
#include "credential/passage/mask.h"
#include "credential/passage/parts.h"
#include "credential/passage/wire.h"

#define QUEUE_SIZE_MAX ((size_t)1024 * 1024)
#define QUEUE_KEPT_MAX ((size_t)64 * 1024) /* memory that an empty queue keeps */
#define QUEUE_MOVED_MIN ((size_t)32 * 1024)

void passage_connection_init(struct passage_connection *c)
{
	list_init(&c->passages);
}

/* Each rule that the connection used has one connection less. */
static void return_connections(struct passage_connection *c)
{
	for (size_t i = 0; i < c->guard->rules.rules.count; i++)
		if (c->rules_used[i / 64] & UINT64_C(1) << i % 64)
			c->guard->uses[i].connections--;
}

static void done_passage(struct passage *x)
{
	buf_done(&x->request.bytes);
	buf_done(&x->answer.bytes);
	buf_done(&x->answer.kinds);
	arena_done(&x->arena);
	free(x);
}

void passage_connection_done(struct passage_connection *c)
{
	LIST_EACH (&c->passages, struct passage, x, link)
		passage_free(x);
	passage_report(c);
	return_connections(c);
	if (c->spare)
		done_passage(c->spare);
	c->spare = NULL;
}

/* An arena keeps blocks that are not full. */
#define ARENA_OVERHEAD ((size_t)4096)

static size_t arena_memory(const struct arena *a)
{
	return a->blocks ? a->total + ARENA_OVERHEAD : 0;
}

size_t passage_connection_memory(const struct passage_connection *c)
{
	size_t requests = 0, answers = 0, others = 0;

	LIST_EACH (&c->passages, struct passage, x, link) {
		requests += x->request.bytes.capacity;
		answers += x->answer.bytes.capacity + x->answer.kinds.capacity;
		others += sizeof(*x) + arena_memory(&x->arena);
	}
	if (c->spare)
		others += sizeof(*c->spare) + arena_memory(&c->spare->arena);
	if (c->client) {
		requests = requests > c->client->window ? requests : c->client->window;
		others += c->client->memory;
	}
	if (c->host_wire) {
		answers = answers > c->host_wire->window ? answers : c->host_wire->window;
		others += c->host_wire->memory;
	}
	return requests + answers + others;
}

struct passage *passage_new(struct passage_connection *c)
{
	struct passage *x = c->spare ? c->spare : memory_new(sizeof(*x));
	struct arena arena = x->arena;

	c->spare = NULL;
	*x = (struct passage){
	        .connection = c,
	        .arena = arena,
	        .request = {.bytes = BUF(QUEUE_SIZE_MAX)},
	        .answer = {.bytes = BUF(QUEUE_SIZE_MAX), .kinds = BUF(QUEUE_SIZE_MAX)}};
	list_append(&c->passages, &x->link);
	c->passage_count++;
	c->progress++;
	return x;
}

void passage_forget_host(struct passage *x)
{
	struct wire *host = x->connection->host_wire;

	if ((x->host_stream > 0 || x->host_unacked > 0) && host)
		host->calls->forget(host, x);
	x->host_stream = 0;
}

bool passage_keep_head(struct passage *x, size_t size)
{
	x->head_size += size;
	x->connection->heads_size += size;
	return x->connection->heads_size <= PASSAGE_HEADS_MAX;
}

void passage_free(struct passage *x)
{
	struct passage_connection *c = x->connection;

	passage_forget_host(x);
	list_remove(&x->link);
	c->passage_count--;
	c->heads_size -= x->head_size;
	if (c->spare) {
		done_passage(x);
		return;
	}
	buf_done(&x->request.bytes);
	buf_done(&x->answer.bytes);
	buf_done(&x->answer.kinds);
	arena_reset(&x->arena);
	c->spare = x;
}

struct span passage_ready(const struct passage_queue *q)
{
	if (q->ready == q->sent) /* and perhaps no address */
		return (struct span){NULL, 0};
	return (struct span){q->bytes.data + q->sent, q->ready - q->sent};
}

void passage_sent(struct passage_queue *q, size_t size)
{
	q->sent += size;
	if (q->sent == q->bytes.size && q->bytes.capacity > QUEUE_KEPT_MAX) {
		buf_done(&q->bytes);
		buf_done(&q->kinds);
		q->sent = q->ready = 0;
	} else if (q->sent == q->ready || q->sent >= QUEUE_MOVED_MIN) {
		buf_consume(&q->bytes, q->sent);
		if (q->kinds.size > 0)
			buf_consume(&q->kinds, q->sent);
		q->ready -= q->sent;
		q->sent = 0;
	}
}

void passage_fail(struct passage *x, enum decision_code code, uint32_t cut_code)
{
	passage_forget_host(x);
	x->request_state = REQUEST_OVER;
	if (x->answer_state == ANSWER_NONE) {
		passage_refuse(x, code);
	} else if (!x->answer.has_ended) {
		x->is_cut = true;
		x->cut_code = cut_code;
	}
}

void passage_return(struct passage *x)
{
	passage_forget_host(x);
	x->request_state = REQUEST_OVER;
	x->is_cut = true;
	x->cut_code = WIRE_REFUSED_STREAM;
}
