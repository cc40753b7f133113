/* SPDX-License-Identifier: Apache-2.0 */
#include "compression/decompress.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "compression/gunzip.h"

#define OUT_SIZE (64 * 1024)
#define WINDOW_LOG_MAX 25              /* zstd -19 needs 23, --ultra -22 has 27 */
#define RATIO_MAX 200                  /* images and source code have 2 to 10 */
#define RATIO_FREE (INT64_C(16) << 20) /* empty files and padding may exceed the ratio */

enum stream_format { FORMAT_UNKNOWN, FORMAT_PLAIN, FORMAT_GZIP, FORMAT_ZSTD };

static const struct {
	enum stream_format format;
	size_t size;
	const char *bytes;
} magics[] = {
        {FORMAT_GZIP, 3, "\x1f\x8b\x08"},
        {FORMAT_ZSTD, 4, "\x28\xb5\x2f\xfd"},
};
#define MAGIC_MAX 4

struct decompressor {
	struct decompressor_options options;
	enum stream_format format;
	size_t head_size; /* bytes that arrived before the format was known */
	char head[MAGIC_MAX];
	int64_t in, out;
	bool is_between; /* between two gzip members or zstd frames */
	struct gunzip *gzip;
	ZSTD_DCtx *zstd;
	char bytes[OUT_SIZE];
};

struct decompressor *decompressor_new(const struct decompressor_options *options)
{
	struct decompressor *i = memory_new(sizeof(*i));

	i->options = *options;
	return i;
}

void decompressor_free(struct decompressor *i)
{
	if (!i)
		return;
	gunzip_free(i->gzip);
	(void)ZSTD_freeDCtx(i->zstd);
	free(i);
}

static int emit_bytes(struct decompressor *i, struct span bytes, struct error *err)
{
	i->out += (int64_t)bytes.size;
	if (i->out > i->options.size_max)
		return FAIL(err, ERROR_TOO_LARGE, "unpacked it is more than %lld MiB",
		            (long long)(i->options.size_max >> 20));
	if (ratio_is_exceeded((struct ratio_limit){RATIO_MAX, RATIO_FREE}, i->in, i->out))
		return FAIL(err, ERROR_TOO_LARGE, "unpacked it is more than %d times as large",
		            RATIO_MAX);
	return bytes.size > 0 ? i->options.on_bytes(i->options.context, bytes, err) : 0;
}

static int step_gzip(struct decompressor *i, struct span *in, struct error *err)
{
	ssize_t size;

	if (i->is_between) {
		while (in->size > 0 && in->data[0] == '\0')
			span_skip(in, 1);
		if (in->size == 0)
			return 0;
		gunzip_restart(i->gzip);
	}
	size = gunzip_read(i->gzip, in, i->bytes, OUT_SIZE, err);
	if (size < 0)
		return -1;
	i->is_between = gunzip_is_at_end(i->gzip);
	return emit_bytes(i, (struct span){i->bytes, (size_t)size}, err);
}

static int start_zstd(struct decompressor *i, struct error *err)
{
	i->zstd = ZSTD_createDCtx();
	if (!i->zstd)
		abort();
	return ZSTD_isError(ZSTD_DCtx_setParameter(i->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))
	               ? FAIL(err, ERROR_SYSTEM, "libzstd cannot be used")
	               : 0;
}

static int step_zstd(struct decompressor *i, struct span *in, struct error *err)
{
	ZSTD_inBuffer from = {in->data, in->size, 0};
	ZSTD_outBuffer to = {i->bytes, OUT_SIZE, 0};
	size_t status;

	/* A further call would ask for another frame. */
	if (i->is_between && in->size == 0)
		return 0;
	status = ZSTD_decompressStream(i->zstd, &to, &from);
	if (ZSTD_isError(status))
		return FAIL(err, ERROR_INVALID, "not whole zstd: %s", ZSTD_getErrorName(status));
	i->is_between = status == 0;
	span_skip(in, from.pos);
	return emit_bytes(i, (struct span){i->bytes, to.pos}, err);
}

static int step_plain(struct decompressor *i, struct span *in, struct error *err)
{
	struct span bytes = *in;

	in->size = 0;
	i->is_between = true;
	return emit_bytes(i, bytes, err);
}

/* After a full buffer the decoder may hold more output that needs no further input. */
static int step_input(struct decompressor *i, struct span in, struct error *err)
{
	static int (*const steps[])(struct decompressor *, struct span *, struct error *) = {
	        [FORMAT_PLAIN] = step_plain, [FORMAT_GZIP] = step_gzip, [FORMAT_ZSTD] = step_zstd};
	int64_t before;

	do {
		before = i->out;
		if (steps[i->format](i, &in, err) < 0)
			return -1;
	} while (in.size > 0 || i->out - before == OUT_SIZE);
	return 0;
}

static int detect_format(struct decompressor *i, struct error *err)
{
	i->format = FORMAT_PLAIN;
	for (size_t m = 0; m < COUNT_OF(magics); m++)
		if (i->head_size >= magics[m].size &&
		    memcmp(i->head, magics[m].bytes, magics[m].size) == 0)
			i->format = magics[m].format;
	if (i->format == FORMAT_GZIP)
		i->gzip = gunzip_new(GUNZIP_GZIP);
	if (i->format == FORMAT_ZSTD && start_zstd(i, err) < 0)
		return -1;
	return step_input(i, (struct span){i->head, i->head_size}, err);
}

int decompressor_write(struct decompressor *i, struct span bytes, struct error *err)
{
	i->in += (int64_t)bytes.size;
	while (i->format == FORMAT_UNKNOWN && bytes.size > 0) {
		i->head[i->head_size++] = bytes.data[0];
		span_skip(&bytes, 1);
		if (i->head_size == MAGIC_MAX && detect_format(i, err) < 0)
			return -1;
	}
	return bytes.size > 0 ? step_input(i, bytes, err) : 0;
}

int decompressor_end(struct decompressor *i, struct error *err)
{
	if (i->format == FORMAT_UNKNOWN && i->head_size > 0 && detect_format(i, err) < 0)
		return -1;
	if (i->format == FORMAT_UNKNOWN || i->is_between)
		return 0;
	return FAIL(err, ERROR_INVALID, "it was cut off");
}
