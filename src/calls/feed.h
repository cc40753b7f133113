/* SPDX-License-Identifier: Apache-2.0 */
/* calls/feed.h — streams of events as they happen.
 *
 * The store announces every commit. A worker then reads the new events once for all streams, and
 * the loop hands each event to the streams whose filter matches. An idle stream needs a connection
 * and no thread.
 *
 * A stream falls behind when it asked for old events or when its client is slow. Such a stream
 * reads pages of its own, as fast as its client takes them, and joins the others when it has caught
 * up. So a slow client uses a bounded buffer and loses no event. The server closes the connection
 * of a client that takes nothing; the client resumes after the last number that it has seen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "calls/event_objects.h"
#include "calls/output.h"

struct api;
struct buf;
struct event_record;
struct reply;

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
	struct span first;         /* written before the first event; copied */
	enum output_form form;     /* OUTPUT_SSE or OUTPUT_NDJSON */
	/* Adds the object of each event, see event_objects.h; NULL: none. The same for all streams.
	 */
	event_object_writer *write_object;
	/* Writes an event in the stream's own way, on the loop's thread; NULL: by `form`. */
	void (*write)(void *context, struct buf *out, const struct event_record *r);
	void (*end)(void *context); /* called once, when the stream ends; may be NULL */
	void *context;
};
/* Makes the reply a stream of events. Call it on a worker. */
void api_feed_reply(struct api_feed *feed, const struct feed_options *options, struct reply *reply);
