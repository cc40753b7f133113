/* SPDX-License-Identifier: Apache-2.0 */
/* http/server.h — what the files of the server share: the server itself and its pools.
 *
 * Everything belongs to the loop thread but `finished` and `running`, which the mutex guards. */
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
#include "http/turns.h"

/* Read into one place by all connections, so that an idle one holds no buffer. A relay puts its
 * incomplete frame (up to half) before what it reads. */
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
	char date[40]; /* a whole header line */
	int64_t date_at_ms;
	uint64_t id_state;
	struct park park;
	struct turns turns;
	struct pace pace;
	struct owners owners;

	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct http_exchange *finished; /* newest first */
	unsigned running;               /* exchanges that are on workers */
	int finished_fd;                /* eventfd */
	struct tls_context *tls;        /* of new connections; NULL: none can begin */
	unsigned handshakes;            /* that go on */
	bool is_draining;               /* see drain.h */
	struct loop_watch *finished_watch;
};

struct http_exchange *server_exchange_new(struct http_server *server,
                                          struct http_connection *connection);
/* Tells on_done, counts, and keeps the exchange for reuse. */
void server_exchange_done(struct http_server *server, struct http_exchange *ex, int status);
/* Has a worker run exchange_admit where ex->is_admission says so, else exchange_handle, or
 * exchange_undo where the reply has an undo already. */
MUST_CHECK int server_submit(struct http_server *server, struct http_exchange *ex,
                             struct error *err);

/* The client has left: true when its call waited for an agent, and no worker will have it now. */
bool server_abandon(struct http_server *server, struct http_exchange *ex);

void server_make_id(struct http_server *server, char id[REQUEST_ID_SIZE]);
/* How much may be read now, of a body or by a relay: at most PACE_READ_MAX. */
size_t server_read_size(struct http_server *server);
struct span server_date_line(struct http_server *server);
/* Frees the connections that were closed during this event; every entry point ends with it. */
void server_bury(struct http_server *server);

/* listener.c */
void listeners_close(struct http_server *server);
