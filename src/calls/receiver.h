/* SPDX-License-Identifier: Apache-2.0 */
/* calls/receiver.h — request bodies that are whole in a file before any work with them begins.
 * Private to this folder.
 *
 * The loop sends such a body, framed, into a socket pair. One thread, the receiver, reads all these
 * sockets and writes each body to its file. When a body is whole, its work is queued in a lane
 * (fleet/work_lane.h), whose projects take turns. So a slow client holds its connection, two
 * descriptors and a file without a name, but no worker and no place in the lane.
 *
 * Options bound the uploads of the server (uploads_max) and of a project
 * (uploads_per_project_max), from the head of the request to the end of its work. An upload is
 * given up when nothing has come for upload_idle, and when it has brought less than upload_rate_min
 * a second over more than upload_idle. An upload whose client leaves is dropped. */
#pragma once

#include "fleet/work_lane.h"
#include "http/http.h"

struct api;
struct receiver;
struct receiver *receiver_new(struct api *api);
/* Drops the uploads that are being received. Call it when the server is closed and before the fleet
 * closes. */
void receiver_stop(struct receiver *receiver);
/* Call it after the lanes have ended. NULL is fine. */
void receiver_free(struct receiver *receiver);

struct receiver_upload_ops {
	/* Where the body is written to; once the upload has its place. NULL: a file without a name
	 * in DATA/tmp. */
	int (*open)(void *state, struct request *rq, int *ret_fd, struct error *err);
	/* So many more bytes are to be written; on the receiver's thread. NULL: nothing is asked.
	 */
	int (*add)(void *state, int64_t bytes, struct error *err);
	/* On a thread of the lane. `fd` has the whole body and stands at its beginning; -1 without
	 * a body. Writes the JSON of a 201 reply. */
	int (*work)(void *state, int fd, struct buf *json, struct error *err);
	/* Always called once, last, on any thread: frees the state, and takes back what has been
	 * begun when `work` was not called. */
	void (*done)(void *state);
};
struct receiver_upload_options {
	const struct receiver_upload_ops *ops;
	void *state;
	struct work_lane *lane;
	const char *project_id; /* copied */
	const char *what;       /* "the image"; static */
	int64_t bytes_max;
};
/* For a row with ROUTE_STREAM_BODY. The state is the receiver's from here on, also when this fails.
 */
MUST_CHECK int receiver_take(struct request *rq, const struct receiver_upload_options *options,
                             struct reply *reply, struct error *err);
/* For work without a body: it is queued at once, and answered when it is done. */
MUST_CHECK int receiver_queue(struct request *rq, const struct receiver_upload_options *options,
                              struct reply *reply, struct error *err);

struct receiver_counts {
	unsigned uploads;  /* under way */
	uint64_t refused;  /* for uploads_max, uploads_per_project_max */
	uint64_t given_up; /* for upload_idle, upload_rate_min */
};
struct receiver_counts receiver_counts_get(struct receiver *receiver);
