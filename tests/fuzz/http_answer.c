/* SPDX-License-Identifier: Apache-2.0 */
/* What a server inside a sandbox may send: a head, and the body that it announces. */
#include <stdlib.h>

#include "http/message/body.h"
#include "http/message/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_body(const struct http_head *head, struct span rest)
{
	AUTO(buf_done) struct buf lines = BUF(BODY_TRAILER_LINES_MAX);
	struct body_reader body;
	struct span piece;
	int64_t seen = 0;
	enum body_result result;

	body_start(&body, head->chunked, head->content_length);
	body.trailers = &lines;
	while ((result = body_next(&body, &rest, &piece)) == BODY_PIECE)
		seen += (int64_t)piece.size;
	if (!head->chunked && head->content_length >= 0 && seen > head->content_length)
		abort();
	/* Whole lines, all of them, and each has a name. */
	if (lines.overflowed || (lines.size && lines.data[lines.size - 1] != '\n'))
		abort();
	rest = buf_span(&lines);
	while (span_split(&rest, '\n', &piece))
		if (span_find(piece, ':') < 1 || piece.data[piece.size - 1] != '\r')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = {(const char *)data, size};
	size_t scanned = 0, end = 0;
	struct http_head head;

	if (head_find_end(in, &scanned, &end) != FAULT_NONE || !end)
		return 0;
	char *copy = malloc(end);
	if (!copy)
		abort();
	memcpy(copy, data, end);
	if (head_parse_answer(copy, end, &head) == FAULT_NONE) {
		if (head.status < 100 || head.status > 599 ||
		    (head.chunked && head.content_length >= 0))
			abort();
		read_body(&head, (struct span){in.data + end, in.size - end});
	}
	free(copy);
	return 0;
}
