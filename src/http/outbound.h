/* SPDX-License-Identifier: Apache-2.0 */
/* http/outbound.h — a request to an address that a caller of ours has given.
 *
 * It must not become a way into the server's own network: an address is looked at when the name has
 * been resolved and right before it is connected to, so that no name can mean something else by
 * then; proxies and redirects are not followed. Blocking; for workers. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

#define OUTBOUND_URL_MAX 2048
/* http or https, a host, no user and no private address; names are judged when they are used. */
MUST_CHECK int outbound_url_check(const char *url, bool allow_private, struct error *err);
struct outbound_post {
	const char *url;
	const char *const *headers; /* "Name: value" lines, NULL-terminated */
	struct span body;
	int64_t timeout_ms; /* for all of it */
	bool allow_private;
	struct buf *answer;           /* its body, as far as it fits; NULL = dropped */
	const atomic_bool *cancelled; /* true ends it within a second; may be NULL */
	int64_t *ret_retry_after_s;   /* of an answer's Retry-After, 0 without; may be NULL */
};
/* 0 whenever an answer came, whatever its status. */
MUST_CHECK int outbound_post(const struct outbound_post *post, int *ret_status, struct error *err);
