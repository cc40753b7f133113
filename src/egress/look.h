/* SPDX-License-Identifier: Apache-2.0 */
/* egress/look.h — finds the host name in the first bytes of a connection. Pure; the bytes are
 * hostile.
 *
 * Each call parses all bytes received so far; no state is kept between calls. Unusual input is
 * refused, not interpreted, because the gateway and the server must read the same name. */
#pragma once

#include <sys/types.h>

#include "base/bytes.h"
#include "sandbox/egress.h"

#define LOOK_BYTES_MAX 16384 /* the name must be within these */

enum host_name_result {
	LOOK_MORE, /* more bytes are needed */
	LOOK_FOUND,
	LOOK_REFUSED,
};
struct host_name {
	char name[SANDBOX_HOST_NAME_MAX + 1];
	const char *refusal; /* why, for people */
};

/* TLS, in hello.c */

/* The server name of a ClientHello, in any number of records. With ECH the outer name counts: the
 * client then talks to the owner of that name. */
enum host_name_result hello_look(struct span bytes, struct host_name *ret);

/* HTTP/1, in request.c */

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
/* A request in origin form with exactly one Host. Its head has `ret_size` bytes; `ret_body`
 * describes its body. */
enum host_name_result request_look(struct span bytes, struct host_name *ret, size_t *ret_size,
                                   struct body *ret_body);
/* Writes the head for the server, with "connection: close". */
void request_pass(struct span head, struct buf *out);
/* How many of the bytes belong to the body; -1 when it is malformed. Bytes after the body must not
 * be forwarded: another request could have another, unchecked name. */
ssize_t body_take(struct body *body, struct span bytes);
