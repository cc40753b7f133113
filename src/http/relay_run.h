/* SPDX-License-Identifier: Apache-2.0 */
/* http/relay_run.h — the connection's calls to its relay. Every call except relay_client_interest
 * may end and free the relay. */
#pragma once

#include <stdint.h>

#include "http/connection.h"
#include "http/relay.h"

/* Starts the relay of conn->exchange's reply. */
void relay_start(struct http_connection *conn);
/* Releases a relay that was never started. */
void relay_discard(const struct relay_options *options);
/* The connection is closing. Returns the status that was sent to the client, or 0. */
int relay_abort(struct relay *relay);

void relay_on_client_ready(struct relay *relay, uint32_t events);
void relay_on_client_bytes(struct relay *relay); /* the bytes are in conn->in */
void relay_on_due(struct relay *relay);
uint32_t relay_client_interest(const struct relay *relay);
