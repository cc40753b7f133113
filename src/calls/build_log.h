/* SPDX-License-Identifier: Apache-2.0 */
/* calls/build_log.h — the log of a build as a surface writes it: what there is, or as it comes. It
 * is in memory while the build runs, so a stream costs no worker and no query. Private to this
 * folder. */
#pragma once

#include "edge/caller.h"

/* How a surface writes it. */
struct build_log_format {
	const char *content_type;
	/* `lines` are NDJSON; `first` counts those before them. */
	void (*write)(struct buf *out, struct span lines, int64_t first);
	const char *idle; /* tells a client that the stream still stands; NULL = nothing does */
};

/* What there is from line `since` on, as much as `out` has room for; *ret_next is what to go on
 * with. */
MUST_CHECK int build_log_read(struct request *rq, const char *id, int64_t since, struct buf *out,
                              int64_t *ret_next, struct error *err);
/* Of a build of the caller's: the whole of it, to its end while it runs when it `follows`. */
struct build_log_query {
	const char *id;
	int64_t since;
	bool follows;
	const struct build_log_format *form;
};
MUST_CHECK int build_log_answer(struct request *rq, const struct build_log_query *ask,
                                struct reply *reply, struct error *err);
