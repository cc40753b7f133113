/* SPDX-License-Identifier: Apache-2.0 */
/* http/server.h — the server's state, shared by the files of the server.
 *
 * Everything belongs to the loop thread, except `finished` and `running`, which the mutex
 * guards. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "http/connection.h"
#include "http/exchange.h"
#include "http/http.h"
#include "http/owners.h"
#include "http/pace.h"
#include "http/park.h"
#include "http/router.h"
#include "http/shares.h"
#include "http/request_queue.h"

/* A read buffer that all connections share, so an idle connection holds no buffer. A relay puts its
 * incomplete frame (up to half the size) before new bytes. */
#define SERVER_SCRATCH_SIZE ((size_t)768 * 1024)

struct tls_context;
struct http_server {
	struct server_options options;
	struct server_shares shares;
	struct router *router;
	struct loop *loop;
	struct list connections, dead, listeners;
	char *scratch;
	struct http_exchange *spare;
	unsigned spare_count;
	struct server_counts counts;
	char date[40]; /* a complete header line */
	int64_t date_at_ms;
	uint64_t id_state;
	struct park park;
	struct request_queues queues;
	struct pace pace;
	struct owners owners;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct http_exchange *finished; /* newest first */
	unsigned running;               /* exchanges on workers */
	int finished_fd;                /* eventfd */
	struct tls_context *tls;        /* for new connections; NULL: TLS connections are refused */
	unsigned handshakes;            /* handshakes in progress */
	bool is_draining;               /* see drain.h */
	struct loop_watch *finished_watch;
};

struct http_exchange *server_exchange_new(struct http_server *server,
                                          struct http_connection *connection);
/* Calls on_done, counts the reply, and keeps the exchange for reuse. */
void server_exchange_done(struct http_server *server, struct http_exchange *ex, int status);
/* Submits to a worker: exchange_admit when ex->is_admission is set, exchange_undo when the reply
 * has an undo already, else exchange_handle. */
MUST_CHECK int server_submit(struct http_server *server, struct http_exchange *ex,
                             struct error *err);

/* The client has left: true when its call waited for an agent and was removed before a worker took
 * it. */
bool server_abandon(struct http_server *server, struct http_exchange *ex);

void server_make_id(struct http_server *server, char id[REQUEST_ID_SIZE]);
/* The size of the next read, of a body or by a relay: at most PACE_READ_MAX. */
size_t server_read_size(struct http_server *server);
struct span server_date_line(struct http_server *server);
/* Frees the connections that were closed in this event; every entry point ends with this call. */
void server_bury(struct http_server *server);

/* listener.c */
void listeners_close(struct http_server *server);
