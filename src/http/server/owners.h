/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/owners.h — connections per owner, and which idle connections are closed for new ones.
 * Loop thread.
 *
 * A connection counts for its client's address until a request names a project (request_count_for),
 * then for the project of its last such request. A project may have seven times as many connections
 * as are free: seven eighths of the table when it is alone; several projects together leave some
 * free. An address has no limit, because a reverse proxy has a single address for the clients of
 * all projects.
 *
 * When less than an eighth of the table is free, a new connection makes room: the owner with the
 * most connections loses idle ones, oldest first. A connection is idle while it waits for a
 * request, for the rest of a head or handshake, or for a refused client to close. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define OWNER_BUCKETS 1024

struct http_connection;
struct http_server;
struct connection_owner {
	struct connection_owner *next_in_bucket;
	uint64_t id; /* worker_share_id of a project or an address */
	unsigned count;
};

struct owners {
	struct connection_owner *buckets[OWNER_BUCKETS];
	int64_t look_ns; /* monotonic: no search before this time, because the last one found no
	                    idle connection */
};

/* The owner id of a client address: "192.0.2.1:5000", "[2001:db8::1]:5000" or "unix". Only the
 * first 64 bits of an IPv6 address count, because a client controls the rest. */
uint64_t owners_id_of_peer(const char *peer);
/* Makes server->owners. */
void owners_open(struct http_server *server);
void owners_close(struct http_server *server);
void owners_enter(struct http_connection *conn, uint64_t id);
void owners_leave(struct http_connection *conn);
/* Counts the connection for the project that its request names. False when the project has too many
 * connections: the request has failed with that error. */
MUST_CHECK bool owners_admit(struct http_connection *conn);
/* Makes room for a new connection when the table is nearly full. */
void owners_make_room(struct http_server *server);
