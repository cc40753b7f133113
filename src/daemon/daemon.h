/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/daemon.h — the program atolld: wiring, start, recovery, stop.
 *
 *   atolld (supervisor)            prepares DATA, opens the listening sockets
 *     |- atoll-broker              root with few capabilities; only for providers that need it
 *     |    `- atoll-launch         every capability; starts the broker and serves its requests
 *     |- atolld --role api         unprivileged user, no capability, seccomp; threads
 *     |- atolld --role credentials the same without files: puts credentials into requests of
 *     |                            sandboxes; started by the first set of them
 *     `- atolld --role names       the same without files: the gateway for host names, started by
 *                                  the first packet for it
 *
 * The supervisor restarts each of them when it dies, and they die with the supervisor. Sandboxes
 * outlive all of them. The supervisor owns the listening sockets: clients that connect while the
 * api process restarts wait instead of being refused. */
#pragma once

/* The whole program; returns the exit status. */
int daemon_main(int argc, char **argv);
