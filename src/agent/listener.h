/* SPDX-License-Identifier: Apache-2.0 */
/* agent/listener.h — takes connections, also when no descriptor is left for them.
 *
 * A spare descriptor is given up to take a connection that there is no room for: its client is told
 * why, and it is closed. A connection that is not accepted would keep the listener ready, and the
 * agent's loop busy, for as long as the client waits. When even that fails, because another process
 * of the host took the last entry of the kernel's table of files, the listener rests for a moment.
 *
 * Commands may not take the last LISTENER_KEPT descriptors (listener_check_room): a sandbox with
 * too many commands can still be asked for them, and they can be ended. */
#pragma once

#include "agent/state.h"
#include "base/error.h"

#define LISTENER_KEPT 64
#define LISTENER_REST_MS 100

void listener_init(struct listener *l, int fd);
/* Accepts one connection: its descriptor, or -1 when there is none to serve. */
int listener_accept(struct agent *a, struct listener *l);
int64_t listener_next_deadline(const struct listener *l);
void listener_run_timer(struct agent *a, struct listener *l, int64_t now);
/* Refuses a command whose newest descriptor is among the last LISTENER_KEPT. */
MUST_CHECK int listener_check_room(int newest_fd, struct error *err);
