/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/wire.h — one side of a connection: a version of HTTP as bytes. Loop thread.
 *
 * The client's wire makes passages of what the client sends and writes their answers; the host's
 * wire sends their requests and fills their answers. Neither reads or writes a socket: `in` has
 * the received bytes, `out` takes the bytes to send. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct passage;
struct passage_connection;
struct passage_head;
struct wire;

#define WIRE_OUT_MAX ((size_t)128 * 1024) /* no wire adds to more */

/* Codes of HTTP/2 for streams that are cut (RFC 9113, 7). */
enum wire_code {
	WIRE_NO_ERROR = 0x0,
	WIRE_PROTOCOL_ERROR = 0x1,
	WIRE_INTERNAL_ERROR = 0x2,
	WIRE_REFUSED_STREAM = 0x7,
	WIRE_CANCEL = 0x8,
	WIRE_CALM = 0xb,
};

struct wire_calls {
	/* Takes what came. False: the connection cannot go on. */
	bool (*read)(struct wire *w);
	/* Adds what may be sent. False: the connection cannot go on. */
	bool (*write)(struct wire *w);
	/* Whether it can use more input now. */
	bool (*wants)(const struct wire *w);
	/* The peer sends nothing more. False: the connection is over. */
	bool (*on_end)(struct wire *w);
	/* The other wire is done with this passage; only the host's wire has it. */
	void (*forget)(struct wire *w, struct passage *x);
	/* The head of an answer, or of an interim one; only the client's wire has it. */
	void (*on_head)(struct wire *w, struct passage *x, const struct passage_head *head);
	void (*free)(struct wire *w);
};

struct wire {
	const struct wire_calls *calls;
	struct passage_connection *connection;
	struct buf *in, *out; /* borrowed */
	bool is_closing;      /* takes no further request; ends once `out` is sent */
	size_t memory;        /* that it holds beside `in`, `out` and passages */
	size_t window;        /* bytes of bodies that its peer may send unasked, of HTTP/2 */
};
