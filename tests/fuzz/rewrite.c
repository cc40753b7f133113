/* SPDX-License-Identifier: Apache-2.0 */
/* A page of a server inside, and headers of its answers: in pieces of a size that the first byte
 * chooses, the result must be the same as in one. */
#include <stdlib.h>

#include "http/rewrite/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rewrite_place place = {
        .prefix = SPAN("/p/1"), .document = SPAN("/a?b"), .port = 1};

static void run(struct span in, size_t piece, enum rewriter_kind kind, struct buf *out)
{
	struct rewriter r;

	rewriter_init(&r, &place, kind);
	for (size_t at = 0; at < in.size; at += piece)
		rewriter_take(
		        &r,
		        (struct span){in.data + at, in.size - at < piece ? in.size - at : piece},
		        out);
	rewriter_end(&r, out);
	rewriter_done(&r);
}

static void run_sheet(struct span in, size_t piece, struct buf *out)
{
	AUTO(css_rewriter_done) struct css_rewriter css = {CSS_TEXT};

	for (size_t at = 0; at < in.size; at += piece)
		css_rewriter_take(
		        &css, &place,
		        (struct span){in.data + at, in.size - at < piece ? in.size - at : piece},
		        out);
	css_rewriter_end(&css, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size > 0 && data[0] ? data[0] : 1;
	struct span in = {(const char *)data + (size > 0), size - (size > 0)};
	AUTO(buf_done) struct buf whole = BUF(1 << 24);
	AUTO(buf_done) struct buf pieces = BUF(1 << 24);
	AUTO(buf_done) struct buf headers = BUF(1 << 24);

	run(in, in.size + 1, (enum rewriter_kind)(piece % 3), &whole);
	run(in, piece, (enum rewriter_kind)(piece % 3), &pieces);
	if (!span_equals(buf_span(&whole), buf_span(&pieces)))
		abort();
	run_sheet(in, in.size + 1, &whole);
	run_sheet(in, piece, &pieces);
	if (!span_equals(buf_span(&whole), buf_span(&pieces)))
		abort();
	rewrite_url(&headers, in, &place);
	rewrite_link(&headers, in, &place);
	rewrite_refresh(&headers, in, &place);
	rewrite_cookie(&headers, in, &place);
	rewrite_csp(&headers, in, &place);
	(void)rewrite_csp_limits_base(in);
	return 0;
}
