/* SPDX-License-Identifier: Apache-2.0 */
/* http/owners.h — whose connections are open, and which give way. Private to this folder. Belongs
 * to the loop thread.
 *
 * A connection counts for its client's address until a request names a project
 * (request_count_for), then for the project of its last such request. A project may have seven
 * times the connections that are free: seven eighths of the table when it is alone, and several
 * projects together leave some. An address has no bound, since a reverse proxy has one for the
 * clients of all projects.
 *
 * When less than an eighth of the table is free, a new connection makes room: the owner with the
 * most connections loses idle ones, oldest first. Idle is a connection that waits for a request,
 * for the rest of a head or of a handshake, or for the end of a client that was refused. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attribute.h"

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
	int64_t look_ns; /* monotonic: not before it, since the last look found nothing idle */
};

/* Of a client's address: "192.0.2.1:5000", "[2001:db8::1]:5000" or "unix". Of an IPv6 address the
 * first 64 bits count, because a client has the others for itself. */
uint64_t owners_id_of_peer(const char *peer);
void owners_enter(struct http_connection *conn, uint64_t id);
void owners_leave(struct http_connection *conn);
/* The connection counts for the project that its request has named. False when that project has as
 * many as it may: the request has failed with the reason. */
MUST_CHECK bool owners_admit(struct http_connection *conn);
/* Makes room for a new connection, where little is left. */
void owners_make_room(struct http_server *server);
