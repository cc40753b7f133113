/* SPDX-License-Identifier: Apache-2.0 */
/* agent/worker.h — the child that serves file messages on one connection.
 *
 * It becomes the user that the first message names, so that the kernel checks every access, and may
 * block as it likes: on a slow disk only its own connection waits. A message that it cannot serve
 * (of another user, or not about files), or silence, ends it: what it has read and not served comes
 * back in `rest`, and the agent goes on with the connection. When the connection breaks, SIGTERM
 * ends the worker at any point; its temporary file goes with it. Where no process can be made, the
 * standby process serves (standby.h). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "agent/connection.h"
#include "base/error.h"
#include "base/span.h"

#define WORKERS_MAX 64

bool worker_serves(uint16_t type);
/* `bytes` are the frames read so far. 1 = the connection is the worker's until worker_on_exit; 0 =
 * it has to wait until a process can be had: see standby.h. */
MUST_CHECK int worker_start(struct connection *c, struct span bytes, struct error *err);
void worker_stop(struct connection *c);
/* The connection is the agent's again: `goes_on` with the frames of its rest, or closed. */
void worker_take_back(struct connection *c, bool goes_on);
/* True when the pid was one of our workers. */
bool worker_on_exit(struct agent *a, pid_t pid, int status);
