/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/exchange.h — a request and its reply.
 *
 * Belongs to the loop thread, except to a worker between server_submit and its return to the loop.
 * Exchanges are reused, so a small request allocates nothing. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cancel.h"
#include "base/list.h"
#include "http/message/head.h"
#include "http/message/request_target.h"
#include "http/server/http.h"
#include "http/server/parked.h"
#include "http/server/relay.h"
#include "trace/trace.h"
#include "worker/worker.h"

struct http_connection;
struct http_server;

struct reply {
	int status;
	struct buf headers; /* complete header lines */
	struct buf body;
	const char *content_type; /* NULL: no body */
	bool has_relay, is_websocket;
	const char *protocol; /* WebSocket subprotocol, or NULL */
	struct relay_options relay;
	request_undo *undo; /* NULL: a lost reply needs no undo */
	void *undo_context;
};

#define QUEUE_NAME_SIZE 64

struct http_exchange {
	struct http_head head;
	struct request_target target;
	struct buf head_text, body;
	struct reply reply;
	struct arena arena;
	struct http_server *server;
	struct worker_task task;
	struct worker_pool *pool;   /* pool that the task was submitted to */
	struct http_exchange *next; /* link in server.finished or server.spare */
	struct cancel cancel;       /* valid when has_cancel is set */
	struct error why;           /* with `awaits_change`: the handler's error */
	char told[ERROR_TEXT_MAX];  /* message of the last progress event */

	/* From here on each request begins with zeroes. */
	struct request request;
	struct trace_span trace;            /* of the request; see request_trace */
	struct http_connection *connection; /* not freed before the exchange */
	int64_t started_ns;
	atomic_bool has_cancel;  /* set by the worker after `cancel` was initialised */
	atomic_bool client_left; /* set by the loop */
	const char *origin; /* origin of the foreign page that may read the reply, see cors.h; or
	                       NULL */
	bool knows_whole;   /* set by range_fail */
	uint64_t whole;     /* size of the object that ERROR_RANGE is about */
	bool failed;        /* the reply is an error; its relay, if any, is only released */

	uint64_t owner; /* owner of its connection, see owners.h; 0: the request names no project */

	/* See request_queue.h. */
	char queue_name[QUEUE_NAME_SIZE]; /* queue that the request waits in; empty: none */
	struct list queue_item;
	int64_t queue_since_ms;                     /* 0: the request has not waited */
	bool waits_in_queue, has_place, left_queue; /* left_queue: it may not wait again */
	bool is_admission;                          /* the worker only authorizes the request */
	bool is_admitted;                           /* authorized; body and handler follow */

	/* See park.h. */
	struct list park_item;
	struct arena_mark admitted; /* arena position when the handler began */
	int64_t run_ns;             /* monotonic time before the handler's last run */
	int64_t parked_since_ms;    /* 0: never parked */
	int64_t awaits_since_ms;    /* since when it awaits the change `why` names */
	int64_t again_at_ms;
	uint64_t park_project; /* worker share of its project; 0 = none */
	bool awaits_change, is_parked;
	bool is_streamed; /* the head of an event stream was sent */
};

/* An exchange for the connection's next request. */
struct http_exchange *exchange_new(struct http_server *server, struct http_connection *connection);
/* Calls on_done, counts the reply, and keeps the exchange for reuse. */
void exchange_done(struct http_exchange *ex, int status);
void exchange_free_spare(struct http_server *server);

/* Parses the head, finds the route and makes all checks that need no body. Sets the request's id in
 * any case. */
enum http_fault exchange_begin(struct http_exchange *ex, struct span head_text);
/* Authorizes the request by its head. On the loop it may return ADMISSION_BY_WORKER: then a worker
 * calls it again. */
enum request_admission { ADMISSION_DONE, ADMISSION_BY_WORKER, ADMISSION_WAITS, ADMISSION_REFUSED };
enum request_admission exchange_admit(struct http_exchange *ex, bool is_on_loop);
/* For ROUTE_TRY, on the loop: like exchange_handle, or false when a worker must run the handler. */
bool exchange_try(struct http_exchange *ex);
/* Authorizes, parses query and body, runs the handler; on a worker, or on the loop for
 * ROUTE_INLINE. Sets a reply, or returns false when the lane in ex->task must continue. */
bool exchange_handle(struct http_exchange *ex);
/* The client has hung up: cancels the handler's wait where the route allows it. Loop thread. */
void exchange_abandon(struct http_exchange *ex);
/* Calls the reply's undo. Worker. */
void exchange_undo(struct http_exchange *ex);
/* Replaces the reply with an error. */
void exchange_fail(struct http_exchange *ex, const struct error *err);
void exchange_refuse(struct http_exchange *ex, enum http_fault fault);
/* Starts the handler's deadline, as its route defines it. */
void exchange_set_deadline(struct http_exchange *ex);
/* The size limit of the body in bytes. */
size_t exchange_body_max(const struct http_exchange *ex);
