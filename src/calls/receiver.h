/* SPDX-License-Identifier: Apache-2.0 */
/* calls/receiver.h — receives a request's body into a file before its handler's work begins.
 *
 * The loop sends the body, framed, into a socket pair. One thread, the receiver, reads all these
 * sockets and writes each body to its file. When a body is complete, its work is queued in a lane
 * (fleet/core/work_lane.h), which serves projects in turn. So a slow client uses its connection,
 * two descriptors and a file without a name, but no worker and no place in the lane.
 *
 * Options limit the uploads of the server (uploads_max) and of a project
 * (uploads_per_project_max), from the head of the request to the end of its work. The receiver
 * gives up an upload without a byte for upload_idle. After upload_idle it also gives up an upload
 * with fewer than upload_rate_min bytes a second. It drops an upload whose client disconnects. */
#pragma once

#include "http/server/http.h"

struct api;
struct receiver;
struct reply;
struct work_lane;
struct receiver *receiver_new(struct api *api);
/* Drops the uploads that are being received. Call it when the server is closed and before the fleet
 * closes. */
void receiver_stop(struct receiver *receiver);
/* Call it after the lanes have ended. NULL is fine. */
void receiver_free(struct receiver *receiver);

struct receiver_upload_ops {
	/* Opens the file for the body, after the upload is admitted. NULL: a file without a name in
	 * DATA/tmp. */
	int (*open)(void *state, struct request *rq, int *ret_fd, struct error *err);
	/* Checks before `bytes` more bytes are written. On the receiver's thread. NULL: no check.
	 */
	int (*add)(void *state, int64_t bytes, struct error *err);
	/* Does the work, on a thread of the lane. `fd` has the whole body and is at its beginning;
	 * -1 without a body. Writes the JSON of a 201 reply. */
	int (*work)(void *state, int fd, struct buf *json, struct error *err);
	/* Frees the state, and undoes what `open` and `add` did when `work` was not called. Called
	 * exactly once, last, on any thread. */
	void (*done)(void *state);
};
struct receiver_upload_options {
	const struct receiver_upload_ops *ops;
	void *state;
	struct work_lane *lane;
	const char *project_id; /* copied */
	const char *what;       /* "the image", for errors; static */
	int64_t bytes_max;
};
/* For a route with ROUTE_STREAM_BODY. Takes the state, also when it fails. */
MUST_CHECK int receiver_take(struct request *rq, const struct receiver_upload_options *options,
                             struct reply *reply, struct error *err);
/* For work without a body: queues the work at once. The reply is sent when the work is done. */
MUST_CHECK int receiver_queue(struct request *rq, const struct receiver_upload_options *options,
                              struct reply *reply, struct error *err);

struct receiver_counts {
	unsigned uploads;  /* under way */
	uint64_t refused;  /* by uploads_max and uploads_per_project_max */
	uint64_t given_up; /* by upload_idle and upload_rate_min */
};
struct receiver_counts receiver_counts_get(struct receiver *receiver);
