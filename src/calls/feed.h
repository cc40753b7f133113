/* SPDX-License-Identifier: Apache-2.0 */
/* calls/feed.h — streams of the rows of a log as they are written: events, or activity.
 *
 * The writer of the log wakes the feed after each commit. A worker then reads the new rows once for
 * all streams, and the loop hands each event to the streams whose filter matches. An idle stream
 * needs a connection and no thread.
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
struct event_bounds;
struct reply;
struct store;

/* Which rows; NULL = any. A source uses only those that its rows have. */
struct feed_filter {
	const char *project_id, *sandbox_id, *pattern, *user_id, *key_id, *conversation;
};
struct feed_page {
	const struct feed_filter *filter;
	int64_t after, before, limit; /* as in struct event_page */
};
struct feed_rows {
	const void *items; /* oldest first; each begins with an int64_t: its number */
	size_t count;
};
/* A log with numbered rows. */
struct event_watcher;
struct feed_source {
	/* The log calls the watcher after each commit, from any thread. */
	void (*watch)(struct api *api, struct event_watcher *w);
	void (*unwatch)(struct api *api, struct event_watcher *w);
	size_t row_size;
	int (*bounds)(struct store *s, struct event_bounds *ret, struct error *err);
	int (*list)(struct store *s, struct arena *a, const struct feed_page *page,
	            struct feed_rows *ret, struct error *err);
	bool (*is_wanted)(const struct feed_filter *filter, const void *row);
	const char *(*name)(const void *row); /* of the server-sent event */
	/* As one JSON object; `object`: of read_objects, or no bytes. */
	void (*write)(struct buf *out, const void *row, struct span object);
	/* As event_objects_read; NULL: the rows have no objects. */
	int (*read_objects)(const struct api *api, struct arena *a, const struct feed_rows *rows,
	                    event_object_writer *write, struct span **ret, struct error *err);
};
extern const struct feed_source event_feed_source;

struct api_feed;
/* `source` lives for ever. */
struct api_feed *api_feed_new(struct api *api, const struct feed_source *source);
/* After server_close, when no worker runs any more. */
void api_feed_free(struct api_feed *feed);
struct feed_options {
	struct feed_filter filter; /* copied */
	int64_t after;             /* the last event that the client knows */
	struct span first;         /* written before the first event; copied */
	enum output_form form;     /* OUTPUT_SSE or OUTPUT_NDJSON */
	/* Adds the object of each event, see event_objects.h; NULL: none. The same for all streams.
	 */
	event_object_writer *write_object;
	/* Writes a row in the stream's own way, on the loop's thread; NULL: by `form`. */
	void (*write)(void *context, struct buf *out, const void *row);
	void (*end)(void *context); /* called once, when the stream ends; may be NULL */
	void *context;
};
/* Makes the reply a stream of events. Call it on a worker. */
void api_feed_reply(struct api_feed *feed, const struct feed_options *options, struct reply *reply);
