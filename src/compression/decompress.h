/* SPDX-License-Identifier: Apache-2.0 */
/* compression/decompress.h — decompresses a stream that may be gzip or zstd, told by its first
 * bytes; any other stream passes unchanged. A few bytes may decompress to any number. So the output
 * is bounded by a size and by its ratio to the input. Memory is a window of 32 MiB at most. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct decompressor_options {
	int64_t size_max; /* bytes of output; more is ERROR_TOO_LARGE */
	/* Gets the output, in pieces. */
	int (*on_bytes)(void *context, struct span bytes, struct error *err);
	void *context;
};

struct decompressor;
struct decompressor *decompressor_new(const struct decompressor_options *options);
void decompressor_free(struct decompressor *i);
MUST_CHECK int decompressor_write(struct decompressor *i, struct span bytes, struct error *err);
/* The input has ended. ERROR_INVALID when it is incomplete. */
MUST_CHECK int decompressor_end(struct decompressor *i, struct error *err);
