/* SPDX-License-Identifier: Apache-2.0 */
/* http/message/body.h — finds the bytes of a body in the stream. Pure: no I/O, no copies.
 *
 * The chunk parser is our own: it must refuse bare CR or LF, long extensions and odd sizes, which
 * llhttp accepts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum body_reader_state {
	BODY_SIZE_LINE, /* the size line of a chunk is collected in `line` */
	BODY_DATA,
	BODY_DATA_END, /* the CR LF after a chunk */
	BODY_TRAILERS,
	BODY_COMPLETE,
};

#define BODY_LINE_MAX 256
#define BODY_TRAILERS_MAX 8192
#define BODY_TRAILER_LINES_MAX ((size_t)2 * BODY_TRAILERS_MAX) /* including line ends */

struct body_reader {
	enum body_reader_state state;
	bool chunked;
	int64_t remaining;      /* bytes left of the body or of the chunk */
	unsigned trailer_bytes; /* received so far */
	/* Receives the trailer lines, with their line ends; NULL: trailers are dropped. Set it
	 * after body_start. */
	struct buf *trailers;
	uint16_t line_size;
	char line[BODY_LINE_MAX]; /* an unfinished line: size and extension, or a trailer */
};

/* content_length is -1 when the header is absent. */
void body_start(struct body_reader *body, bool chunked, int64_t content_length);

enum body_result {
	BODY_PIECE, /* *ret_piece is not empty; call again */
	BODY_MORE,  /* *data is consumed */
	BODY_END,   /* the body is complete; *data holds the bytes after it */
	BODY_BAD,   /* malformed */
};
enum body_result body_next(struct body_reader *body, struct span *data, struct span *ret_piece);
/* After BODY_PIECE: returns the last `size` bytes of the piece to *data. */
void body_unread(struct body_reader *body, struct span *data, size_t size);
