/* SPDX-License-Identifier: Apache-2.0 */
/* http/client/dial.h — connects to other Atoll servers for reply_proxy, plain or with TLS.
 * Blocking; for workers.
 *
 * No step exceeds the deadline. Host names are resolved on another thread
 * (http/client/host_lookup.h). Each address of a name gets a share of the time, so a dead address
 * leaves time for the next. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct host_lookup;
struct tls;
struct tls_context;

struct http_dial {
	struct host_lookup *names;
	const char *host; /* a name, or an address without brackets; never a caller's input */
	uint16_t port;
	const struct tls_context *tls; /* from tls_client_context_new; NULL: plain */
	int64_t deadline;
};
/* Connects a non-blocking socket that detects a dead peer within a minute. With TLS the handshake
 * is complete; without TLS *ret_tls is NULL. ERROR_UNAVAILABLE or ERROR_TIMEOUT when the peer does
 * not answer, ERROR_FORBIDDEN when its certificate is wrong. */
MUST_CHECK int http_dial(const struct http_dial *dial, int *ret_fd, struct tls **ret_tls,
                         struct error *err);
