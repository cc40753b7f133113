/* SPDX-License-Identifier: Apache-2.0 */
/* agent/standby.h — one standby process, which serves file messages when no worker can be forked.
 *
 * The sandbox's limit of processes includes the agent: after a fork bomb the agent cannot fork
 * either. So it starts one process in advance and keeps it:
 *
 *      waiting ──> serving ──> serving …     one connection at a time
 *
 * Until its first use it shares the agent's memory and costs the kernel about 40 KiB. Then it
 * executes the agent's program (standby_main), takes the ids of the connection's user as a worker
 * does, serves that connection to its end, and executes the program again. So memory, descriptors
 * and ids of a call end with the call, and an exec needs no new process.
 *
 * Root inside the sandbox can kill it. The agent starts it again as soon as the limit allows; until
 * then file calls fail at the limit. Only process 1 has one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/state.h"
#include "base/bytes.h"

#define STANDBY_PATIENCE_MS 5000 /* how long a connection waits for it before the call fails */

struct connection;

void standby_init(struct standby *r);
/* Starts it. When that fails, standby_run_timer tries again. */
void standby_start(struct agent *a);
/* Ends it after its current call. */
void standby_stop(struct agent *a);
/* Hands over `c` with the frames read so far. 1 = the standby process owns the connection until
 * worker_take_back; 0 = the connection must wait, see connections_look_for_room; -1 = it has waited
 * too long, or is busy with another kind of message. */
MUST_CHECK int standby_serve(struct connection *c, struct span bytes, struct error *err);
/* True when the pid was the standby process. */
bool standby_on_exit(struct agent *a, pid_t pid);
int64_t standby_next_deadline(const struct agent *a);
void standby_run_timer(struct agent *a, int64_t now);

/* Main function of `atoll-agent --standby-fd N`. Returns the exit status. */
#define STANDBY_OPTION "--standby-fd"
int standby_main(const char *fd_text);
