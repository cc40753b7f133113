/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/relay_run.h — relay.c: the connection's calls to its relay. Every call except
 * relay_client_interest may end and free the relay. */
#pragma once

#include <stdint.h>

struct http_connection;
struct relay;
struct relay_options;

/* Starts the relay of conn->exchange's reply. */
void relay_start(struct http_connection *conn);
/* relay_state.c: releases a relay that was never started. */
void relay_discard(const struct relay_options *options);
/* The connection is closing. Returns the status that was sent to the client, or 0. */
int relay_abort(struct relay *relay);

void relay_on_client_ready(struct relay *relay, uint32_t events);
void relay_on_client_bytes(struct relay *relay); /* the bytes are in conn->in */
void relay_on_due(struct relay *relay);
uint32_t relay_client_interest(const struct relay *relay);

/* Ends and frees the relay, or updates its watched events; see relay_enter. */
void relay_leave(struct relay *relay);
/* Like relay_leave, and updates the connection's watched events. */
void relay_leave_and_update(struct relay *relay);
