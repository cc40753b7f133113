/* SPDX-License-Identifier: Apache-2.0 */
/* calls/feed.h — events as they happen, for replies that wait for them. Private to this folder.
 *
 * The store tells of every commit. A worker then reads what is new, once for all streams, and the
 * loop hands it to each that wants it: a stream that waits costs its connection and no thread. One
 * that is behind, because it asked for old events or because its client is slow, reads pages of its
 * own as fast as the client takes them, and joins the others when it has caught up. So a slow
 * client holds a bounded buffer and loses nothing; one that takes nothing at all is cut by the
 * server, and resumes by the last number that it has seen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "calls/output.h"
#include "edge/api.h"

struct api_feed;
struct api_feed *api_feed_new(struct api *api);
/* After server_close, when no worker runs any more. */
void api_feed_free(struct api_feed *feed);

/* Which events; NULL = any. */
struct feed_filter {
	const char *project_id, *sandbox_id, *pattern;
};
struct feed_options {
	struct feed_filter filter; /* copied */
	int64_t after;             /* the last event that the client knows */
	enum output_form form;     /* OUTPUT_SSE or OUTPUT_NDJSON */
};
/* The reply's rest; on a worker. */
void api_feed_reply(struct api_feed *feed, const struct feed_options *options, struct reply *reply);
