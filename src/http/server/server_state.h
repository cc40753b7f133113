/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/server_state.h — the server's state, and small services for all files of the server.
 *
 * Everything belongs to the loop thread, except `finished` and `running`, which the mutex
 * guards. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "http/server/http.h"
#include "http/server/pace.h"
#include "http/server/shares.h"

/* A read buffer that all connections share, so an idle connection holds no buffer. A relay puts its
 * incomplete frame (up to half the size) before new bytes. */
#define SERVER_SCRATCH_SIZE ((size_t)768 * 1024)

struct tls;
struct tls_context;
struct connection_events;
struct owners;
struct park;
struct request_queues;

struct http_server {
	const struct connection_events *events;
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
	struct park *park;
	struct request_queues *queues;
	struct owners *owners;
	struct pace pace;

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

void server_make_id(struct http_server *server, char id[REQUEST_ID_SIZE]);
/* The size of the next read, of a body or by a relay: at most PACE_READ_MAX. `tls` is that of the
 * connection that is read, or NULL: a TLS record is read whole, however small the pace is. */
size_t server_read_size(struct http_server *server, const struct tls *tls);
struct span server_date_line(struct http_server *server);
/* Frees the connections that were closed in this event; every entry point ends with this call. */
void server_bury(struct http_server *server);
