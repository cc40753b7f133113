/* SPDX-License-Identifier: Apache-2.0 */
/* http/dial.h — connections to other servers of ours, plain or by TLS, for reply_proxy. Blocking;
 * for workers.
 *
 * No step of it takes longer than its deadline: names are looked up beside it (http/names.h), and
 * each address of a name has its share of the time, so that a dead one leaves some for the next. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct host_lookup;
struct tls;
struct tls_context;

struct http_dial {
	struct host_lookup *names;
	const char *host; /* a name, or an address without brackets; not a caller's */
	uint16_t port;
	const struct tls_context *tls; /* of tls_client_context_new; NULL: plain */
	int64_t deadline;
};
/* A non-blocking socket that notices within a minute that nobody is there any more, and its TLS,
 * whose handshake is over: *ret_tls is NULL without. ERROR_UNAVAILABLE or ERROR_TIMEOUT when there
 * is nobody, ERROR_FORBIDDEN when it is somebody else. */
MUST_CHECK int http_dial(const struct http_dial *dial, int *ret_fd, struct tls **ret_tls,
                         struct error *err);
