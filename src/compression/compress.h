/* SPDX-License-Identifier: Apache-2.0 */
/* compression/compress.h — compresses a stream as gzip, or a whole text, quickly rather than small.
 */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct compressor;
struct compressor *compressor_new(void);
void compressor_free(struct compressor *d); /* NULL is fine */
/* Appends the output that is ready to `out`; with `last`, all of it. */
void compressor_write(struct compressor *d, struct span bytes, bool last, struct buf *out);

enum compress_coding { COMPRESS_GZIP, COMPRESS_ZSTD };
/* Appends all of it. False when the result is not smaller; then `out` has what it had. */
bool compress_whole(enum compress_coding coding, struct span bytes, struct buf *out);
