/* SPDX-License-Identifier: Apache-2.0 */
/* calls/download.h — a stored file, or a range of it, as a reply. The loop copies it from a pipe.
 */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"

struct download_range {
	bool is_part;
	int64_t offset, size, whole;
};
/* The part of a file of `whole` bytes that the header Range asks for; the whole file when there is
 * no valid range. ERROR_RANGE, which names the file by `what`, when the range starts behind the
 * file's end. */
MUST_CHECK int download_range_find(struct request *rq, const char *what, int64_t whole,
                                   struct download_range *ret, struct error *err);

struct download_header {
	const char *name, *value;
};
struct download {
	int fd; /* a pipe with the bytes of the range; download_answer closes it */
	struct download_range range;
	const char *media_type;
	const struct download_header *headers; /* ends with a name that is NULL */
	int64_t idle_ms;
};
/* The download fails when the pipe has fewer or more bytes than the range. Texts are copied. */
void download_answer(struct reply *reply, const struct download *download);
