/* SPDX-License-Identifier: Apache-2.0 */
/* provider/dial.h — connections to servers inside a sandbox. Part of provider/provider.h.
 *
 * The agent connects a socket inside and passes it out. The sandbox may hold the same socket and
 * change its flags and options at any time. So read and write it with MSG_DONTWAIT, never with
 * splice or sendfile, which only respect O_NONBLOCK, and close it with socket_drop. */
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
/* A connected TCP socket, non-blocking. Needs PROVIDER_CAN_DIAL. Without a listener
 * ERROR_UNAVAILABLE with ECONNREFUSED. Blocks: for workers. */
MUST_CHECK int compute_dial(struct provider *p, const struct dial *dial, int *ret_fd,
                            struct error *err);
