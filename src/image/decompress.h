/* SPDX-License-Identifier: Apache-2.0 */
/* image/decompress.h — a stream that may be gzip or zstd, as it was before that: told by its first
 * bytes, passed on as it is when it is neither.
 *
 * A stranger's few bytes may stand for any number: what comes out is bounded by a size, and by how
 * many times larger it may be than what went in. Memory is a window of 32 MiB at most. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct decompressor_options {
	int64_t size_max; /* bytes that come out; ERROR_TOO_LARGE */
	/* Gets what comes out, in pieces. */
	int (*on_bytes)(void *context, struct span bytes, struct error *err);
	void *context;
};

struct decompressor;
struct decompressor *decompressor_new(const struct decompressor_options *options);
void decompressor_free(struct decompressor *i);
MUST_CHECK int decompressor_write(struct decompressor *i, struct span bytes, struct error *err);
/* That was all. ERROR_INVALID when it should not have been. */
MUST_CHECK int decompressor_end(struct decompressor *i, struct error *err);
