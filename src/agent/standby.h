/* SPDX-License-Identifier: Apache-2.0 */
/* agent/standby.h — one standby process, which serves file messages when no worker can be forked.
 *
 * The agent lives under its sandbox's limit of processes: when a fork bomb has taken them all, the
 * agent cannot fork either. So it starts one process ahead, and never ends it:
 *
 *      waiting ──> serving ──> serving …     one connection at a time
 *
 * Until it is needed for the first time it shares the agent's memory, and costs the kernel some
 * 40 KiB. Then it executes the agent's program (standby_main), becomes the user of a connection as
 * a worker does, serves that connection until nothing more is asked on it, and executes the program
 * anew: memory, descriptors and user of a call end with the call, and an exec needs no process.
 *
 * Root inside the sandbox can end it. The agent starts it again as soon as the limit allows that;
 * until then file calls of that sandbox fail at its limit. Only process 1 has one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/state.h"
#include "base/error.h"
#include "base/span.h"

#define STANDBY_PATIENCE_MS 5000 /* a connection waits so long for it, then the call fails */

struct connection;

void standby_init(struct standby *r);
/* Starts it. When that fails, standby_run_timer tries again. */
void standby_start(struct agent *a);
/* Lets it end, when it has served what it serves. */
void standby_stop(struct agent *a);
/* Hands over `c` with the frames read so far: 1 = the connection is its own until
 * worker_take_back; 0 = it has to wait, see connections_look_for_room; -1 = it has waited enough,
 * or this is no message for it. */
MUST_CHECK int standby_serve(struct connection *c, struct span bytes, struct error *err);
/* True when the pid was its. */
bool standby_on_exit(struct agent *a, pid_t pid);
int64_t standby_next_deadline(const struct agent *a);
void standby_run_timer(struct agent *a, int64_t now);

/* `atoll-agent --standby-fd N`: the program as the standby process executes it. Returns the exit
 * status. */
#define STANDBY_OPTION "--standby-fd"
int standby_main(const char *fd_text);
