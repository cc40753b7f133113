/* SPDX-License-Identifier: Apache-2.0 */
/* compression/gunzip.h — decodes gzip, zlib and raw deflate as they arrive. It stops at the end of
 * each member: the caller decides which bytes may follow, and how much output is too much. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"

enum gunzip_format { GUNZIP_GZIP, GUNZIP_ZLIB, GUNZIP_RAW };

struct gunzip;
struct gunzip *gunzip_new(enum gunzip_format format);
void gunzip_free(struct gunzip *g); /* NULL is fine */
/* Decodes into `out` and removes the used bytes from `in`. Returns the number of bytes in `out`.
 * While that number is `room`, more output may follow without input. */
MUST_CHECK ssize_t gunzip_read(struct gunzip *g, struct span *in, char *out, size_t room,
                               struct error *err);
/* True at the end of a member. gunzip_restart then begins another member. */
bool gunzip_is_at_end(const struct gunzip *g);
void gunzip_restart(struct gunzip *g);

/* How many times larger the output may be than the input; output of at most `free` bytes may have
 * any ratio. A few bytes may decompress to any number. */
struct ratio_limit {
	int times;
	int64_t free;
};
static inline bool ratio_is_exceeded(struct ratio_limit limit, int64_t in, int64_t out)
{
	return out > limit.free && out / limit.times > in;
}
