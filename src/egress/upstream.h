/* SPDX-License-Identifier: Apache-2.0 */
/* egress/upstream.h — how the gateway asks an HTTP proxy for a connection to an address: CONNECT
 * (RFC 9110, section 9.3.6). Pure; the answer is hostile.
 *
 * The proxy gets the address that the gateway has looked up and checked, never the name: a proxy
 * that looked the name up again could get another address. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define UPSTREAM_HEAD_MAX 8192 /* bytes of the head of an answer */

/* Writes the request. `authorization`: "Basic …", or "" without a login. */
void upstream_ask(struct buf *out, uint32_t address, uint16_t port, const char *authorization);
/* "Basic …" for "USER:PASSWORD". */
void upstream_authorization(struct buf *out, struct span login);

enum upstream_answer {
	UPSTREAM_MORE, /* more bytes are needed */
	UPSTREAM_OPEN, /* 2xx: what follows the head are the host's bytes */
	UPSTREAM_REFUSED,
	UPSTREAM_MALFORMED, /* or too long */
};
/* Parses the bytes received so far. Sets *ret_size to the bytes of the head, and *ret_status, for
 * UPSTREAM_OPEN and UPSTREAM_REFUSED. */
enum upstream_answer upstream_read(struct span bytes, size_t *ret_size, int *ret_status);
