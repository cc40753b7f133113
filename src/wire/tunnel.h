/* SPDX-License-Identifier: Apache-2.0 */
/* wire/tunnel.h — a connection to an agent inside a WebSocket (RFC 6455), for sandboxes that only
 * the HTTP proxy of another service reaches.
 *
 * The agent listens on a TCP port of its sandbox. The server opens a WebSocket to that port through
 * the proxy and shows its token in the header TUNNEL_TOKEN_HEADER. Binary messages carry the bytes
 * of wire/agent.h; their borders have no meaning. The text message TUNNEL_END ends one direction,
 * as shutdown(2) does. Frames of the server are masked, frames of the agent are not. No I/O here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TUNNEL_PATH "/atoll-agent"
#define TUNNEL_TOKEN_HEADER "X-Atoll-Agent-Token"
#define TUNNEL_END "end"
#define TUNNEL_HEAD_MAX 16384    /* bytes of the head of a request or an answer */
#define TUNNEL_DATA_MAX 65536    /* bytes of one frame that is sent */
#define TUNNEL_FRAME_HEAD_MAX 14 /* bytes in front of the data */
#define TUNNEL_CONTROL_MAX 125   /* bytes of a ping, and of a text message here */
#define TUNNEL_FRAME_BYTES_MAX (UINT64_C(16) << 20) /* of one frame that is received */

enum tunnel_opcode {
	TUNNEL_CONTINUATION = 0,
	TUNNEL_TEXT = 1,
	TUNNEL_BINARY = 2,
	TUNNEL_CLOSE = 8,
	TUNNEL_PING = 9,
	TUNNEL_PONG = 10,
};

/* Appends a frame. `mask`: 4 random bytes, or NULL for the agent's side. */
void tunnel_encode(struct buf *out, enum tunnel_opcode opcode, struct span payload,
                   const unsigned char *mask);

struct tunnel_decoder {
	bool is_masked; /* the peer must mask its frames; set by the owner */
	unsigned char head[TUNNEL_FRAME_HEAD_MAX];
	unsigned head_size;
	bool has_head;
	enum tunnel_opcode opcode;  /* of the frame; a continuation has that of its message */
	enum tunnel_opcode message; /* whose continuations come */
	uint64_t left;              /* bytes of the frame that have not come */
	unsigned char mask[4];
	unsigned mask_at;
	char small[TUNNEL_CONTROL_MAX]; /* the payload of anything but binary data */
	unsigned small_size;
};
enum tunnel_event {
	TUNNEL_NEEDS_MORE, /* `in` is used up */
	TUNNEL_HAS_DATA,   /* data was appended to `out` */
	TUNNEL_HAS_SMALL,  /* a whole text message or control frame: opcode, small, small_size */
};
/* Takes bytes from the front of *in, and appends at most the room of `out`, which must not be 0. */
MUST_CHECK int tunnel_decode(struct tunnel_decoder *d, struct span *in, struct buf *out,
                             enum tunnel_event *ret, struct error *err);
/* Whether the event was the end of the peer's direction. */
bool tunnel_is_end(const struct tunnel_decoder *d);

#define TUNNEL_ACCEPT_SIZE 29
/* The value of Sec-WebSocket-Accept for a key. */
void tunnel_accept(struct span key, char ret[TUNNEL_ACCEPT_SIZE]);
/* The value of a header in a head, without the blanks around it; NULL data: it is missing. The
 * first line is no header. */
struct span tunnel_header(struct span head, const char *name);
/* Whether `head` begins with a whole head, whose size goes to *ret. */
bool tunnel_head_is_whole(struct span bytes, size_t *ret);
/* Compares in the same time for any texts of one size. */
bool tunnel_token_is(struct span given, const char *token);
