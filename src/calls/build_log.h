/* SPDX-License-Identifier: Apache-2.0 */
/* calls/build_log.h — the log of a build, whole or as it grows.
 *
 * The log of a running build is in memory, so a stream needs no worker and no query. */
#pragma once

#include "edge/api.h"
#include "http/server/http.h"

/* The form in which a surface writes the log. */
struct build_log_format {
	const char *content_type;
	/* `lines` are NDJSON; `first` is the number of lines before them. */
	void (*write)(struct buf *out, struct span lines, int64_t first);
	const char *idle; /* keeps a silent stream alive; NULL: nothing is sent */
};

/* Appends the lines from `since` on that `out` has room for. *ret_next is the next `since`. */
MUST_CHECK int build_log_read(struct request *rq, const char *id, int64_t since, struct buf *out,
                              int64_t *ret_next, struct error *err);

struct build_log_query {
	const char *id; /* of a build of the caller's project */
	int64_t since;
	bool follows; /* stream the log of a running build until the build ends */
	const struct build_log_format *form;
};
MUST_CHECK int build_log_answer(struct request *rq, const struct build_log_query *ask,
                                struct reply *reply, struct error *err);
