/* SPDX-License-Identifier: Apache-2.0 */
/* wire/wire.h — framed messages between our own processes, and tables that encode them.
 *
 * A frame is an 8-byte head (u32 payload size, u16 type, u16 zero; little-endian) and a payload of
 * at most WIRE_PAYLOAD_MAX bytes. A payload is a struct, encoded by its wire shape: members in
 * table order, integers little-endian at full width, text and bytes with a u32 size before them,
 * lists with a u32 count. Decoding trusts nothing: sizes, counts, NUL in text and trailing bytes
 * are checked against the table. The other side may be hostile (an agent is). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cancel;

#define WIRE_HEAD_SIZE 8
#define WIRE_PAYLOAD_MAX (256 * 1024)
#define WIRE_FDS_MAX 16

enum wire_kind {
	WIRE_END_OF_SHAPE,
	WIRE_U32,       /* uint32_t */
	WIRE_U64,       /* uint64_t */
	WIRE_I64,       /* int64_t */
	WIRE_TEXT,      /* const char *; NULL is encoded as "" and decoded as "" */
	WIRE_BYTES,     /* struct span */
	WIRE_TEXT_LIST, /* const char **, NULL-terminated; never NULL after decoding */
};

struct wire_member {
	enum wire_kind kind;
	size_t offset;
	uint32_t max; /* bytes of text (without NUL) or bytes, items of a list; 0 = WIRE_PAYLOAD_MAX
	               */
};

#define WIRE_ROW_(kind_, s, m, ctype, ...)                                                         \
	{                                                                                          \
		.kind = (kind_), .offset = MEMBER_OFFSET(s, m, ctype), __VA_ARGS__                 \
	}
#define WIRE_U32_MEMBER(s, m) WIRE_ROW_(WIRE_U32, s, m, uint32_t)
#define WIRE_U64_MEMBER(s, m) WIRE_ROW_(WIRE_U64, s, m, uint64_t)
#define WIRE_I64_MEMBER(s, m) WIRE_ROW_(WIRE_I64, s, m, int64_t)
#define WIRE_TEXT_MEMBER(s, m, max_) WIRE_ROW_(WIRE_TEXT, s, m, const char *, .max = (max_))
#define WIRE_BYTES_MEMBER(s, m, max_) WIRE_ROW_(WIRE_BYTES, s, m, struct span, .max = (max_))
#define WIRE_TEXT_LIST_MEMBER(s, m, max_)                                                          \
	WIRE_ROW_(WIRE_TEXT_LIST, s, m, const char **, .max = (max_))
#define WIRE_END                                                                                   \
	{                                                                                          \
		.kind = WIRE_END_OF_SHAPE                                                          \
	}
/* The members of a call that say where its answer goes. */
#define WIRE_REPLY(type_, shape_, variable)                                                        \
	.reply_type = (type_), .reply_shape = (shape_), .reply = &(variable),                      \
	.reply_size = sizeof(variable)

/* Appends a whole frame. A NULL shape means an empty payload. What the shape's limits or
 * WIRE_PAYLOAD_MAX forbid fails and leaves the buffer as it was. */
MUST_CHECK int wire_encode(struct buf *out, uint16_t type, const struct wire_member *shape,
                           const void *message, struct error *err);
/* Zeroes and fills `message` (size bytes). Text and lists go to the arena, WIRE_BYTES borrow from
 * the payload. ERROR_INVALID on anything malformed. */
MUST_CHECK int wire_decode(struct arena *a, struct span payload, const struct wire_member *shape,
                           void *message, size_t size, struct error *err);
/* Appends head + raw payload: for bulk data, without a copy into a struct. */
void wire_add_frame(struct buf *out, uint16_t type, struct span payload);
void wire_put_head(unsigned char head[WIRE_HEAD_SIZE], uint16_t type, uint32_t payload_size);

/* Cuts one frame from the front of *in. 1 = a frame, 0 = more bytes are needed (at most *ret_need
 * of them, when given), -1 = malformed. The payload borrows from *in. */
MUST_CHECK int wire_next(struct span *in, uint16_t *ret_type, struct span *ret_payload,
                         size_t *ret_need, struct error *err);

/* A stream socket, and how long a thread waits for its peer. The deadline holds even when the peer
 * never stops sending; a cancelled wait fails with ERROR_UNAVAILABLE. */
struct wire_peer {
	int fd;
	int64_t deadline;            /* monotonic ms */
	const struct cancel *cancel; /* NULL: nothing cancels the wait */
};
/* Blocking. A frame's payload replaces what `payload` holds. End of file between frames is
 * ERROR_UNAVAILABLE "peer closed". Frames of an agent are read through provider/agent_reader.h. */
MUST_CHECK int wire_send_to(const struct wire_peer *peer, struct span frames, struct error *err);
MUST_CHECK int wire_receive_from(const struct wire_peer *peer, uint16_t *ret_type,
                                 struct buf *payload, struct error *err);
/* The same for a frame that may bring a descriptor: close-on-exec and the caller's, or -1. More
 * than one is malformed (all are closed). */
MUST_CHECK int wire_receive_with_fd(const struct wire_peer *peer, uint16_t *ret_type,
                                    struct buf *payload, int *ret_fd, struct error *err);
/* The same without cancellation. */
MUST_CHECK int wire_send(int fd, struct span frames, int64_t deadline, struct error *err);
MUST_CHECK int wire_receive(int fd, int64_t deadline, uint16_t *ret_type, struct buf *payload,
                            struct error *err);
/* A whole frame with a descriptor, sent at once or not at all: ERROR_UNAVAILABLE when the socket is
 * full. `fd` stays the caller's. */
MUST_CHECK int wire_send_with_fd(int socket, struct span frame, int fd, struct error *err);

/* One datagram with descriptors, on a SOCK_SEQPACKET socket. Received descriptors are close-on-exec
 * and the caller's; more than WIRE_FDS_MAX is malformed (all are closed). */
struct wire_fds {
	int fds[WIRE_FDS_MAX];
	unsigned count;
};
void wire_fds_close(struct wire_fds *fds);
MUST_CHECK int wire_send_packet(int fd, struct span frame, const struct wire_fds *fds,
                                int64_t deadline, struct error *err);
MUST_CHECK int wire_receive_packet(int fd, int64_t deadline, struct buf *packet,
                                   struct wire_fds *ret_fds, struct error *err);
