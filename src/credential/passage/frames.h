/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/frames.h — the frames of a WebSocket, as its host sends them: which bytes are
 * heads, and which are a message's. A value may lie in several frames. Private to this folder.
 * Pure.
 *
 * The proxy has let no extension be agreed on, so that no frame can be compressed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Kinds of bytes. */
enum frame_byte { FRAME_MESSAGE, FRAME_HEAD, FRAME_CONTROL /* of a ping, a pong or a close */ };

#define FRAME_HEAD_MAX 10
struct frame_reader {
	unsigned char head[FRAME_HEAD_MAX];
	size_t head_size;
	uint64_t left; /* of the frame's content */
	bool is_open;  /* the head is whole, and its content has not ended */
	bool is_control;
};
/* Appends the kind of each byte. False: this is no frame that a host may send. */
MUST_CHECK bool frame_read(struct frame_reader *reader, struct span bytes, struct buf *kinds);
/* How many bytes at the end have this many of the kind among them, or all bytes. */
size_t frame_tail(const struct buf *kinds, enum frame_byte kind, size_t count);
