/* SPDX-License-Identifier: Apache-2.0 */
/* calls/download.h — a stored file as a reply, or a part of it: the loop moves it from a pipe.
 * Private to this folder. */
#pragma once

#include "edge/caller.h"

struct download_range {
	bool is_part;
	int64_t offset, size, whole;
};
/* What of a file of `whole` bytes the header Range asks for; all of it where there is none that can
 * be obeyed. ERROR_RANGE, with `what` the file is, when it begins behind the end. */
MUST_CHECK int download_range_find(struct request *rq, const char *what, int64_t whole,
                                   struct download_range *ret, struct error *err);

struct download_header {
	const char *name, *value;
};
struct download {
	int fd; /* its bytes; taken over */
	struct download_range range;
	const char *media_type;
	const struct download_header *headers; /* all before a name that is NULL */
	int64_t idle_ms;
};
/* What comes short, or more, fails. Texts are copied. */
void download_answer(struct reply *reply, const struct download *download);
