/* SPDX-License-Identifier: Apache-2.0 */
/* http/client/outbound.h — a request to an address from a caller.
 *
 * It must not give callers access to the server's own network. The resolved address is checked
 * right before the connect, because the name may resolve differently later; proxies and redirects
 * are not followed. Blocking; for workers. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define OUTBOUND_URL_MAX 2048
/* Checks the URL: http or https, a host, no user and no private address. Names are checked when
 * they are resolved. */
MUST_CHECK int outbound_url_check(const char *url, bool allow_private, struct error *err);
struct outbound_post {
	const char *url;
	const char *method;         /* NULL = POST; another method with a body */
	const char *const *headers; /* "Name: value" lines, NULL-terminated */
	struct span body;
	int64_t timeout_ms; /* for the whole call */
	bool allow_private;
	struct buf *answer;           /* receives the body, cut to its limit; NULL = dropped */
	const atomic_bool *cancelled; /* true ends the call within a second; may be NULL */
	int64_t *ret_retry_after_s;   /* the answer's Retry-After, 0 without it; may be NULL */
};
/* Returns 0 when an answer arrived, whatever its status. */
MUST_CHECK int outbound_post(const struct outbound_post *post, int *ret_status, struct error *err);

/* A header of the answer that the caller wants; "" when it is missing. */
struct outbound_header {
	const char *name;
	char *value;
	size_t size;
};
struct outbound_get {
	const char *url;
	const char *const *headers; /* as in outbound_post; or NULL */
	int64_t timeout_ms;
	bool allow_private;
	struct buf *answer;                           /* a body that is longer overflows it */
	const struct outbound_header *answer_headers; /* ends with name NULL; or NULL */
};
MUST_CHECK int outbound_get(const struct outbound_get *get, int *ret_status, struct error *err);
