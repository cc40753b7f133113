/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/owners.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/server/connection_state.h"
#include "http/server/exchange.h"
#include "http/server/server_state.h"

/* When less than 1/FREE_PART of the table is free, idle connections are closed. */
#define FREE_PART 8
/* A project may have this many times the free connections: alone, seven eighths. */
#define FREE_TIMES 7
/* A project always may have 1/LEAST_PART of the table, or a single connection. */
#define LEAST_PART 512
/* Connections closed in a scan of the table. */
#define CLOSED_MAX 16
/* After a scan without result, the next scan waits this many times as long as the scan took, so
 * repeated connects cost the loop at most a tenth of its time. */
#define REST_TIMES 10

uint64_t owners_id_of_peer(const char *peer)
{
	const char *end = strrchr(peer, ']');
	char host[INET6_ADDRSTRLEN + 1] = "";
	struct in6_addr address;

	if (peer[0] != '[' || !end) {
		(void)snprintf(host, sizeof(host), "%.*s", (int)strcspn(peer, ":"), peer);
		return worker_share_id(host);
	}
	(void)snprintf(host, sizeof(host), "%.*s", (int)(end - peer - 1), peer + 1);
	if (inet_pton(AF_INET6, host, &address) != 1)
		return worker_share_id(host);
	/* An IPv4 client of a listener for both. */
	if (IN6_IS_ADDR_V4MAPPED(&address))
		(void)inet_ntop(AF_INET, &address.s6_addr[12], host, sizeof(host));
	else
		(void)snprintf(host, sizeof(host), "%08" PRIx32 "%08" PRIx32,
		               ntohl(address.s6_addr32[0]), ntohl(address.s6_addr32[1]));
	return worker_share_id(host);
}

void owners_enter(struct http_connection *conn, uint64_t id)
{
	struct connection_owner **bucket = &conn->server->owners->buckets[id % OWNER_BUCKETS];
	struct connection_owner *owner = *bucket;

	assert(!conn->owner);
	while (owner && owner->id != id)
		owner = owner->next_in_bucket;
	if (!owner) {
		owner = memory_new(sizeof(*owner));
		*owner = (struct connection_owner){.next_in_bucket = *bucket, .id = id};
		*bucket = owner;
	}
	owner->count++;
	conn->owner = owner;
}

void owners_leave(struct http_connection *conn)
{
	struct connection_owner *owner = TAKE(conn->owner);
	struct connection_owner **at;

	if (!owner || --owner->count > 0)
		return;
	at = &conn->server->owners->buckets[owner->id % OWNER_BUCKETS];
	while (*at != owner)
		at = &(*at)->next_in_bucket;
	*at = owner->next_in_bucket;
	free(owner);
}

void owners_open(struct http_server *server)
{
	server->owners = memory_new(sizeof(*server->owners));
}

void owners_close(struct http_server *server)
{
	for (size_t i = 0; i < OWNER_BUCKETS; i++)
		assert(!server->owners->buckets[i]);
	free(TAKE(server->owners));
}

static unsigned count_free(const struct http_server *server)
{
	uint64_t open = server->counts.connections_open;

	return open < server->options.connections_max
	               ? server->options.connections_max - (unsigned)open
	               : 0;
}

static bool is_idle(const struct http_connection *conn)
{
	return conn->state == CONNECTION_HANDSHAKE || conn->state == CONNECTION_LINGER ||
	       (conn->state == CONNECTION_HEAD && !conn->exchange && outflow_size(&conn->out) == 0);
}

static const struct connection_owner *find_largest(struct http_server *server)
{
	const struct connection_owner *largest = NULL;

	LIST_EACH (&server->connections, const struct http_connection, conn, link)
		if ((!largest || conn->owner->count > largest->count) && is_idle(conn))
			largest = conn->owner;
	return largest;
}

/* True when request bytes have arrived: the connection is not idle. */
static bool has_input(const struct http_connection *conn)
{
	char byte;

	return conn->state == CONNECTION_HEAD &&
	       recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static unsigned close_idle(struct http_server *server, const struct connection_owner *owner)
{
	unsigned closed = 0, most = owner->count < 2 ? 1 : owner->count / 2;

	if (most > CLOSED_MAX)
		most = CLOSED_MAX;
	LIST_EACH (&server->connections, struct http_connection, conn, link) {
		if (closed == most)
			break;
		if (conn->owner != owner || !is_idle(conn) || has_input(conn))
			continue;
		server->events->close(conn);
		closed++;
	}
	return closed;
}

/* Closes idle connections of this owner, or of the largest owner for NULL. */
static bool close_some(struct http_server *server, const struct connection_owner *owner)
{
	int64_t begun_ns = clock_monotonic_ns();
	unsigned closed;

	if (begun_ns < server->owners->look_ns)
		return false;
	if (!owner)
		owner = find_largest(server);
	closed = owner ? close_idle(server, owner) : 0;
	server->counts.closed_idle += closed;
	if (closed == 0)
		server->owners->look_ns = begun_ns + REST_TIMES * (clock_monotonic_ns() - begun_ns);
	else
		log_debug("idle connections give way", NUMBER("closed", closed));
	return closed > 0;
}

void owners_make_room(struct http_server *server)
{
	if (count_free(server) <= server->options.connections_max / FREE_PART)
		(void)close_some(server, NULL);
}

static bool has_room(const struct http_server *server, const struct connection_owner *owner)
{
	unsigned least = server->options.connections_max / LEAST_PART + 1;
	unsigned room = FREE_TIMES * count_free(server);

	return owner->count <= (room > least ? room : least);
}

/* Closes idle connections of the project before a new one is refused. */
static bool give_way(struct http_server *server, const struct connection_owner *owner)
{
	return close_some(server, owner) && has_room(server, owner);
}

bool owners_admit(struct http_connection *conn)
{
	struct http_exchange *ex = conn->exchange;
	struct http_server *server = conn->server;
	struct error err = {0};

	if (ex->owner == 0 || ex->owner == conn->owner->id)
		return true;
	owners_leave(conn);
	owners_enter(conn, ex->owner);
	if (has_room(server, conn->owner) || give_way(server, conn->owner))
		return true;
	server->counts.refused_by_project++;
	(void)FAIL(&err, ERROR_LIMIT, "this project has %u of the server's %u connections",
	           conn->owner->count, server->options.connections_max);
	error_hint(&err, "close connections that are not needed, or raise connections_max");
	exchange_fail(ex, &err);
	conn->keep_alive = false;
	return false;
}
