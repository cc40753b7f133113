/* SPDX-License-Identifier: Apache-2.0 */
/* egress/connection.h — a connection of a sandbox through the gateway. Private to this folder:
 * connection.c reads the name and carries bytes, way.c finds the way to the host. */
#pragma once

#include "egress/gateway.h"
#include "egress/look.h"

enum egress_state {
	READING,
	LOOKING_UP,
	CONNECTING,
	ASKING_PROXY,
	CARRYING,
	HANDED,
	RETURNING,
	ENDING
};

struct side {
	int fd;
	struct loop_watch *watch; /* NULL once the kernel said that it hangs */
	struct buf pending;       /* for it */
	bool has_ended;           /* nothing more is read from it */
	bool is_shut;             /* nothing more is sent to it */
};

struct egress_connection {
	struct list link;
	struct gateway *gateway;
	struct guest *guest;
	enum protocol protocol;
	enum egress_state state;
	struct side client, server;
	struct buf begin; /* bytes received before the name was known */
	struct host_name looked;
	struct network_decision decision; /* as it is reported */
	struct body body;
	struct lookup *lookup;
	struct dns_addresses addresses;
	size_t next_address;
	uint32_t source; /* the address by which it must leave; 0: any */
	/* Of the upstream proxy, and the beginning of its answer. */
	struct dns_addresses proxies;
	size_t next_proxy;
	struct buf proxy_answer;
	/* Of the last attempt, if no other one succeeds. */
	enum decision_code failure;
	const char *failure_why;
	bool has_denied_address;
	struct loop_timer timer;
	int64_t active_ms, connect_until_ms;
	bool is_brief; /* by ENDED_SILENCE_MS */
	bool is_decrypted;
	int token_fd; /* of a connection that is handed over */
	struct loop_watch *token_watch;
};

/* connection.c */

/* Waits for the next event at most so long. */
void egress_connection_enter(struct egress_connection *c, enum egress_state state,
                             int64_t at_most_ms);
/* Reports the decision, says it to the client, and begins the end of the connection. */
void egress_connection_refuse(struct egress_connection *c, enum decision_code code,
                              const char *why);
/* The connection of c->server leads to the host. */
void egress_connection_carry(struct egress_connection *c);
void egress_connection_on_server(void *context, uint32_t epoll_events);
MUST_CHECK int egress_side_watch(struct egress_connection *c, struct side *side,
                                 loop_on_ready *on_ready, uint32_t events);
void egress_side_set_events(const struct side *side, uint32_t events);
void egress_send_at_once(int fd);

/* way.c */

/* Looks the name up and connects; ends with egress_connection_carry or egress_connection_refuse. */
void way_find(struct egress_connection *c);
/* An event of c->server, or the end of the time, in the states CONNECTING and ASKING_PROXY. */
void way_on_server(struct egress_connection *c);
void way_on_timer(struct egress_connection *c);
