/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/daemon.h — the program atolld: wiring, start, recovery, stop.
 *
 *   atolld (supervisor, as started)          prepares DATA, opens the listening sockets
 *     |- atoll-broker                        root; only for providers that need it
 *     |- atolld --role api                   unprivileged user, no capability, seccomp; threads
 *     `- atolld --role names                 the same and no files: the gateway for hosts' names;
 *                                            from the first packet for it on
 *
 * The supervisor starts each again when it dies, and they die with it; sandboxes outlive all of
 * them. The listening sockets belong to the supervisor, so that clients who connect while the api
 * process is away wait instead of being refused. */
#pragma once

/* The whole program; returns the exit status. */
int daemon_main(int argc, char **argv);
