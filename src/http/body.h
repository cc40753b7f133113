/* SPDX-License-Identifier: Apache-2.0 */
/* http/body.h — finds the bytes of a request's body in the stream. Pure: no I/O, no copies.
 *
 * The chunk framing is our own: it must refuse bare CR or LF, long extensions and odd sizes, which
 * llhttp lets through. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

enum body_reader_state {
	BODY_SIZE_LINE, /* of a chunk, being collected in `line` */
	BODY_DATA,
	BODY_DATA_END, /* the CR LF after a chunk */
	BODY_TRAILERS,
	BODY_COMPLETE,
};

#define BODY_LINE_MAX 256
#define BODY_TRAILERS_MAX 8192
#define BODY_TRAILER_LINES_MAX ((size_t)2 * BODY_TRAILERS_MAX) /* with their ends */

struct body_reader {
	enum body_reader_state state;
	bool chunked;
	int64_t remaining;      /* of the body or the chunk */
	unsigned trailer_bytes; /* seen so far */
	/* Where lines of the trailer section go, each with its end; NULL: they are dropped. Set
	 * after body_start, by whoever reads the body. */
	struct buf *trailers;
	uint16_t line_size;
	char line[BODY_LINE_MAX]; /* an unfinished line: size and extension, or a trailer */
};

/* content_length is -1 when there is none. */
void body_start(struct body_reader *body, bool chunked, int64_t content_length);

enum body_result {
	BODY_PIECE, /* *ret_piece is not empty; call again */
	BODY_MORE,  /* *data is used up */
	BODY_END,   /* the body is complete; *data is what follows it */
	BODY_BAD,   /* malformed */
};
enum body_result body_next(struct body_reader *body, struct span *data, struct span *ret_piece);
/* Right after a piece: the last `size` bytes of it are the next one's once more, and *data's. */
void body_unread(struct body_reader *body, struct span *data, size_t size);
