/* SPDX-License-Identifier: Apache-2.0 */
/* egress/look.h — whose name a connection speaks of, out of its first bytes. Pure; the bytes are
 * hostile. Private to this folder.
 *
 * A look is at all bytes that have come so far, and repeated when there are more: nothing is kept
 * between. What is unusual is refused, not interpreted: whom we take for the name's owner is whom
 * the other side must take for it. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/span.h"
#include "sandbox/egress.h"

#define LOOK_BYTES_MAX 16384 /* in which the name has to be */

enum host_name_result {
	LOOK_MORE, /* bytes are needed */
	LOOK_FOUND,
	LOOK_REFUSED,
};
struct host_name {
	char name[SANDBOX_HOST_NAME_MAX + 1];
	const char *refusal; /* why, for people */
};

/* ---- TLS, in hello.c ---- */

/* The server name of a ClientHello, in as many records as it likes. What it has encrypted (ECH) is
 * not seen: the name outside of that counts, and it is with the owner of that name that one then
 * speaks. */
enum host_name_result hello_look(struct span bytes, struct host_name *ret);

/* ---- HTTP/1, in request.c ---- */

enum body_state {
	BODY_BYTES, /* `left` of them */
	BODY_CHUNK_SIZE,
	BODY_CHUNK_SIZE_END,
	BODY_CHUNK,
	BODY_CHUNK_CR,
	BODY_CHUNK_LF,
	BODY_LAST_CR,
	BODY_LAST_LF,
	BODY_DONE,
};
struct body {
	enum body_state state;
	uint64_t left;
	unsigned digits;
};
/* One request in origin form, of exactly one Host; `ret_size` bytes of it are its head, and
 * `ret_body` what follows. */
enum host_name_result request_look(struct span bytes, struct host_name *ret, size_t *ret_size,
                                   struct body *ret_body);
/* The head of one that was found, to be sent on: the server is to close the connection after it. */
void request_pass(struct span head, struct buf *out);
/* How many of the bytes are still the body's, up to all of them; -1 when they cannot be. After it
 * comes nothing that may be passed on: another request would be of a name that nobody has looked
 * at. */
ssize_t body_take(struct body *body, struct span bytes);
