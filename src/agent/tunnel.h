/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tunnel.h — the agent of a sandbox of another service: it listens on a TCP port, and its
 * connections come in WebSockets (wire/tunnel.h).
 *
 * Any process of the sandbox, and whatever the service's proxy lets through, can reach the port. So
 * a connection shows the token first. At most TUNNELS_WAITING_MAX connections may not have shown it
 * yet: the oldest gives way. A side that does not read stops the other one. */
#pragma once

#include "agent/state.h"

#define TUNNELS_MAX 512
#define TUNNELS_WAITING_MAX 32

/* Opens the port ("49990" or "127.0.0.1:49990"), and leaves the process that the service has
 * started: that process ends with success, or tells its standard error why not. Returns in a
 * process of its own. Process 1 of a container stays. */
MUST_CHECK int tunnel_begin(const char *port, int *ret_listener, struct error *err);
/* Takes the token from the environment. */
void tunnels_init(struct agent *a);
void tunnel_on_listener(struct agent *a, struct watch *w, uint32_t events);
/* Frees what ended during this round of events. */
void tunnels_free_ended(struct agent *a);
