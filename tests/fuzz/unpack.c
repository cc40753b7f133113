/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a packed page, in pieces that the first byte chooses: what comes out is the same
 * however it is cut, and no more than may. */
#include <stdlib.h>

#include "base/bytes.h"
#include "http/message/content_coding.h"

#define FREE_MAX ((size_t)4 << 20)
#define RATIO_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop(struct content_decoder **u)
{
	content_decoder_free(*u);
}

static bool run(enum content_coding coding, struct span all, size_t piece, struct buf *out)
{
	AUTO(drop) struct content_decoder *u = content_decoder_new(coding);
	enum decode_result result = DECODE_MORE;

	while (result != DECODE_BAD && all.size > 0) {
		struct span in = {all.data, piece < all.size ? piece : all.size}, part;

		all = (struct span){all.data + in.size, all.size - in.size};
		while ((result = content_decoder_next(u, &in, &part)) == DECODE_PIECE ||
		       result == DECODE_LATER)
			if (result == DECODE_PIECE)
				buf_add_span(out, part);
			else
				content_decoder_begin_step(u);
		if (result == DECODE_MORE && in.size > 0)
			abort();
	}
	return result != DECODE_BAD && content_decoder_is_whole(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf out = BUF(4 * FREE_MAX), whole = BUF(4 * FREE_MAX);
	enum content_coding coding;
	struct span in;

	if (size == 0)
		return 0;
	coding = data[0] & 1 ? CONTENT_CODING_GZIP : CONTENT_CODING_DEFLATE;
	in = (struct span){(const char *)data + 1, size - 1};
	if (run(coding, in, 1 + data[0] / 2, &out) && out.size < FREE_MAX &&
	    (!run(coding, in, size, &whole) || !span_equals(buf_span(&out), buf_span(&whole))))
		abort();
	if (out.overflowed || out.size > FREE_MAX + RATIO_MAX * (size + 1024))
		abort();
	return 0;
}
