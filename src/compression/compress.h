/* SPDX-License-Identifier: Apache-2.0 */
/* compression/compress.h — compresses a stream as gzip, quickly rather than small. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct compressor;
struct compressor *compressor_new(void);
void compressor_free(struct compressor *d); /* NULL is fine */
/* Appends the output that is ready to `out`; with `last`, all of it. */
void compressor_write(struct compressor *d, struct span bytes, bool last, struct buf *out);
