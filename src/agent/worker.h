/* SPDX-License-Identifier: Apache-2.0 */
/* agent/worker.h — the child that serves file messages on one connection.
 *
 * It takes the ids of the user that the first message names, so that the kernel checks every
 * access. It may block: on a slow disk only its own connection waits. It ends at a message that it
 * cannot serve (another user, or not about files) and when the connection is silent. Then `rest`
 * holds the frames that it has read and not served, and the agent continues the connection. When
 * the connection breaks, SIGTERM ends the worker; its temporary file is removed. When no process
 * can be forked, the standby process serves (standby.h). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "agent/connection.h"
#include "base/bytes.h"

#define WORKERS_MAX 64

bool worker_serves(uint16_t type);
/* `bytes` are the frames read so far. 1 = the worker owns the connection until worker_on_exit; 0 =
 * the connection must wait for a process, see standby.h. */
MUST_CHECK int worker_start(struct connection *c, struct span bytes, struct error *err);
void worker_stop(struct connection *c);
/* Gives the connection back to the agent: `goes_on` = continue with the frames of its rest, else
 * close it. */
void worker_take_back(struct connection *c, bool goes_on);
/* True when the pid was a file worker. */
bool worker_on_exit(struct agent *a, pid_t pid, int status);
