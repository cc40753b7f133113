/* SPDX-License-Identifier: Apache-2.0 */
/* agent/agent.h — process 1 of a sandbox: runs commands, keeps their output, serves files.
 *
 * One thread, one epoll loop, one static program. It speaks wire/agent.h on a listening socket that
 * was made outside; nothing inside the sandbox can reach that socket or trace the agent.
 *
 *      agent ── reaper ── command ── …        a reaper per command: adopts all descendants,
 *        │                                    so that a kill finds daemons too (reaper.h)
 *        ├───── file worker                   a child per connection with file messages; it has
 *        │                                    the ids of the named user (worker.h, files.h)
 *        ├───── standby process             serves files when no worker can be forked (standby.h)
 *        └───── orphans of ended commands     the agent only reaps them
 *
 * A host runs thousands of agents, so idle memory matters: buffers are allocated when bytes come
 * and freed when they are sent. Only file workers block. */
#pragma once

#include "base/error.h"

/* atoll-agent --listen-fd N [--setup-fd M | --host-root DIR] [--memory-events-fd K]
 * [--pids-events-fd L]. Returns the exit status. */
int agent_main(int argc, char **argv);

/* atoll-agent --copy PATH writes its own program to PATH, mode 0755: an init container of a pod
 * brings the agent into a volume that way, because its image has no shell and no cp. The file is
 * written under another name and renamed. The folder must exist; any user may call it. */
#define AGENT_COPY_OPTION "--copy"
MUST_CHECK int agent_copy_self(const char *path, struct error *err);
