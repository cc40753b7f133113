/* SPDX-License-Identifier: Apache-2.0 */
/* agent/listener.h — accepts connections, even when no descriptor is free.
 *
 * When no descriptor is free, the listener closes a spare one, accepts the connection, sends the
 * reason and closes the connection. Without that a pending connection would keep the listener ready
 * and the agent's loop busy. When even that fails, because the host's table of files is full, the
 * listener pauses for a moment.
 *
 * Commands may not use the last LISTENER_KEPT descriptors (listener_check_room), so that a sandbox
 * with too many commands can still be listed and its commands ended. */
#pragma once

#include "agent/state.h"
#include "base/error.h"

#define LISTENER_KEPT 64
#define LISTENER_REST_MS 100

void listener_init(struct listener *l, int fd);
/* Accepts one connection. Returns its descriptor, or -1 when there is none to serve. */
int listener_accept(struct agent *a, struct listener *l);
int64_t listener_next_deadline(const struct listener *l);
void listener_run_timer(struct agent *a, struct listener *l, int64_t now);
/* Refuses a command whose newest descriptor is among the last LISTENER_KEPT. */
MUST_CHECK int listener_check_room(int newest_fd, struct error *err);
