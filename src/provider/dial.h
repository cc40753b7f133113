/* SPDX-License-Identifier: Apache-2.0 */
/* provider/dial.h — connections to servers inside a sandbox. Part of provider/provider.h.
 *
 * The agent connects a socket inside and passes it out. Whoever gets it must remember that the
 * sandbox may hold the same socket, and change its flags and options at any time: it is read and
 * written with MSG_DONTWAIT, never by splice or sendfile, which look at O_NONBLOCK alone, and
 * closed by socket_drop. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct cancel;
struct provider;

struct dial {
	const char *id; /* of a started sandbox */
	uint16_t port;
	int64_t deadline;
	const struct cancel *cancel; /* ends the wait; or NULL */
};
/* A connected TCP socket, non-blocking. Needs PROVIDER_CAN_DIAL. When nobody listens it is
 * ERROR_UNAVAILABLE with ECONNREFUSED. Blocks: for workers. */
MUST_CHECK int compute_dial(struct provider *p, const struct dial *dial, int *ret_fd,
                            struct error *err);
