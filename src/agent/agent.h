/* SPDX-License-Identifier: Apache-2.0 */
/* agent/agent.h — process 1 of a sandbox: runs commands, keeps their output, serves files.
 *
 * One thread, one epoll loop, one static program. It speaks wire/agent.h on a listening socket that
 * was made outside; nothing inside the sandbox can reach that socket or trace the agent.
 *
 *      agent ── reaper ── command ── …        a reaper per command: adopts all that the command
 *        │                                    starts, so that a kill finds daemons too (reaper.h)
 *        ├───── file worker                   a child per connection that asks for files; it has
 *        │                                    become the named user (worker.h, files.h)
 *        ├───── standby process             serves files when no worker can be forked (standby.h)
 *        └───── orphans of ended commands     reaped, else left alone
 *
 * Memory while idle matters, there are thousands: buffers are allocated when bytes come and freed
 * when they have gone. Nothing blocks but the file workers. */
#pragma once

/* atoll-agent --listen-fd N [--setup-fd M | --host-root DIR] [--memory-events-fd K]
 * [--pids-events-fd L]. Returns the exit status. */
int agent_main(int argc, char **argv);
