/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/server.h — the socket DATA/run/broker.sock and its connections. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "broker/host/event.h"

struct broker;
struct wire_fds;
struct wire_member;

/* A request that a handler answers, now or later. */
struct request_context {
	struct broker *broker;
	struct pending_reply reply;
	struct wire_fds *fds; /* came with it; the handler takes what it needs */
};

struct broker_server {
	struct fd_watch listening;
	int listen_fd;
	struct list connections;
	uint64_t last_serial;
};

MUST_CHECK int server_open(struct broker *b, struct error *err);
void server_close(struct broker *b);
/* In a child: only closes its copies of the descriptors. */
void server_forget(struct broker *b);
/* Sends to the connection with this serial number, if it still exists. */
void server_send(struct broker *b, uint64_t connection, uint16_t type,
                 const struct wire_member *shape, const void *message);
/* Sends to all connections. */
void server_send_all(struct broker *b, uint16_t type, const struct wire_member *shape,
                     const void *message);
void server_send_ok(struct broker *b, const struct pending_reply *reply);
void server_send_failure(struct broker *b, const struct pending_reply *reply,
                         const struct error *err);
