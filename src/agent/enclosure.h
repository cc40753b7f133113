/* SPDX-License-Identifier: Apache-2.0 */
/* agent/enclosure.h — runs the sandbox in gVisor.
 *
 *   atolld ──connects──► agent, process 1 of the namespaces ──descriptor──► agent in gVisor
 *
 * After a plan with STEP_ENCLOSE this agent starts runsc, which runs a second agent on gVisor's
 * kernel. The first one only accepts connections and hands each of them, as a descriptor over the
 * socket that is the second one's standard input. So bytes of a call do not pass through it. It
 * ends when runsc ends, and all processes of gVisor end with it, because it is process 1. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Starts runsc and waits until the agent inside says that it serves. Returns the socket to it.
 * `has_network`: its sockets are the kernel's, in the network namespace of this agent. */
MUST_CHECK int enclosure_start(bool has_network, int *ret_fd, struct error *err);
/* Hands over connections until runsc has ended. */
void enclosure_run(int listener, int handed);

/* In gVisor: moves the socket, which is `fd`, away from the standard input. */
MUST_CHECK int enclosure_take_socket(int fd, int *ret_fd, struct error *err);
/* Completes the files that programs need in gVisor, and says that this agent serves. */
MUST_CHECK int enclosure_tell_ready(int handed, struct error *err);
/* The next connection; as accept4. */
int enclosure_accept(int handed);
