/* SPDX-License-Identifier: Apache-2.0 */
/* http/exchange.h — one request and its reply.
 *
 * Belongs to the loop, but to a worker between server_submit and server_take_finished. Exchanges
 * are kept for reuse, so that a small request allocates nothing. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "http/head.h"
#include "http/http.h"
#include "http/parked.h"
#include "http/relay.h"
#include "http/target.h"

struct http_connection;
struct http_server;

struct reply {
	int status;
	struct buf headers; /* whole lines */
	struct buf body;
	const char *content_type; /* NULL = none */
	bool has_relay, is_websocket;
	const char *protocol; /* of the WebSocket, or NULL */
	struct relay_options relay;
	request_undo *undo; /* NULL: a reply that is lost changes nothing */
	void *undo_context;
};

#define TURN_QUEUE_SIZE 64

struct http_exchange {
	struct request request;
	struct http_head head;
	struct request_target target;
	struct buf head_text, body;
	struct reply reply;
	struct arena arena;
	struct http_server *server;
	struct http_connection *connection; /* not freed before the exchange */
	struct worker_task task;
	struct worker_pool *pool;   /* that the task was submitted to */
	struct http_exchange *next; /* finished or spare */
	int64_t started_ns;
	struct cancel cancel;    /* with has_cancel */
	atomic_bool has_cancel;  /* set by the worker, once `cancel` can be said */
	atomic_bool client_left; /* set by the loop */
	const char *origin; /* that may read the reply, see cors.h; NULL: no page of another one */
	bool knows_whole;   /* as range_fail sets it */
	uint64_t whole;     /* bytes of what ERROR_RANGE is about */
	bool failed;        /* the reply is an error; a relay in it only waits to be released */

	uint64_t owner; /* of its connection, see owners.h; 0: the request has named none */

	/* See turns.h. */
	char turn_queue[TURN_QUEUE_SIZE]; /* in which it has to wait; empty: none */
	struct list turn_item;
	int64_t turn_since_ms;              /* 0: it has not waited */
	bool waits_turn, has_turn, gave_up; /* the last: it waits no more */
	bool is_admission;                  /* a worker is to authorize it, and no more */
	bool is_admitted;                   /* what is left is its body and its handler */

	/* See park.h. */
	struct list park_item;
	struct arena_mark admitted; /* the arena when the handler began */
	struct error why;           /* with `awaits_change`: what the handler failed with */
	char told[ERROR_TEXT_MAX];  /* the last progress event's message */
	int64_t run_ns;             /* monotonic: before the handler ran last */
	int64_t parked_since_ms;    /* 0: it has not been parked */
	int64_t awaits_since_ms;    /* the change with the key of `why` */
	int64_t again_at_ms;
	uint64_t park_project; /* share of its project; 0 = none */
	bool awaits_change, is_parked;
	bool is_streamed; /* the head of a stream of events is written */
};

void exchange_free(struct http_exchange *ex);
/* Forgets everything but one block of each memory. */
void exchange_reset(struct http_exchange *ex);

/* Makes it ready for a connection's next request. */
void exchange_start(struct http_exchange *ex, struct http_connection *conn);
/* Takes the head's text: parses, finds the route, checks what can be checked without the body.
 * The request's id is set in any case. */
enum http_fault exchange_begin(struct http_exchange *ex, struct span head_text);
/* Authorizes, as soon as the head is known. On the loop it may be that a worker has to do it; then
 * the worker calls it again. */
enum request_admission { ADMISSION_DONE, ADMISSION_BY_WORKER, ADMISSION_WAITS, ADMISSION_REFUSED };
enum request_admission exchange_admit(struct http_exchange *ex, bool is_on_loop);
/* For ROUTE_TRY, on the loop: exchange_handle, or false when it has to be done on a worker. */
bool exchange_try(struct http_exchange *ex);
/* Authorizes, parses query and body, runs the handler. Worker, or loop for ROUTE_INLINE. Leaves a
 * reply, or is false when the lane that ex->task names by now has to do it. */
bool exchange_handle(struct http_exchange *ex);
/* The client has hung up: cancels what the handler waits for, if it may. Loop. */
void exchange_abandon(struct http_exchange *ex);
/* Takes back what the handler has made, with the reply's undo. Worker. */
void exchange_undo(struct http_exchange *ex);
/* Replaces the reply by an error. */
void exchange_fail(struct http_exchange *ex, const struct error *err);
void exchange_refuse(struct http_exchange *ex, enum http_fault fault);
/* From now on the handler has the time that its route gives it. */
void exchange_set_deadline(struct http_exchange *ex);
/* The most bytes that the body may have. */
size_t exchange_body_max(const struct http_exchange *ex);

enum reply_framing { REPLY_LENGTH, REPLY_CHUNKED, REPLY_UNTIL_CLOSE, REPLY_SWITCH };
struct reply_head {
	int status;
	const char *content_type;
	enum reply_framing framing;
	int64_t length; /* REPLY_LENGTH */
	bool keep_alive;
};
void reply_write_head(struct buf *out, const struct http_exchange *ex,
                      const struct reply_head *head);
/* False for a status that has no body. */
bool reply_status_has_body(int status);
/* Whether name and value can stand in a head as they are, and are not the server's own business. */
bool reply_header_is_valid(const char *name, const char *value);
void reply_add_header(struct buf *headers, const char *name, const char *value);
