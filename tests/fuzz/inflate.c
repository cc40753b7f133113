/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what may be gzip or zstd, in pieces that the first byte chooses: no more comes out
 * than may, and what is neither comes out as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "compression/decompress.h"

#define OUT_MAX (256 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_bytes(void *context, struct span bytes, struct error *err)
{
	(void)err;
	if (bytes.size == 0)
		abort();
	buf_add_span(context, bytes);
	return 0;
}

static int run(struct span in, size_t piece, struct buf *out, struct error *err)
{
	struct decompressor *i =
	        decompressor_new(&(struct decompressor_options){OUT_MAX, on_bytes, out});
	int status = 0;

	while (status == 0 && in.size > 0) {
		size_t part = piece < in.size ? piece : in.size;

		status = decompressor_write(i, (struct span){in.data, part}, err);
		in = (struct span){in.data + part, in.size - part};
	}
	if (status == 0)
		status = decompressor_end(i, err);
	decompressor_free(i);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf out = BUF(2 * OUT_MAX);
	AUTO(buf_done) struct buf whole = BUF(2 * OUT_MAX);
	struct error err = {0};
	struct span in;

	if (size == 0)
		return 0;
	in = (struct span){(const char *)data + 1, size - 1};
	if (run(in, 1 + data[0], &out, &err) == 0) {
		/* However it was cut into pieces. */
		if (run(in, in.size + 1, &whole, &err) < 0 ||
		    !span_equals(buf_span(&out), buf_span(&whole)))
			abort();
	} else if (err.code == ERROR_NONE) {
		abort();
	}
	if (out.size > OUT_MAX)
		abort();
	return 0;
}
