/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/connect_stream.h — a stream of an agent's messages (api/stream.h) that answers a
 * call of the Connect protocol: what its messages have in common, its time, its signs of life.
 * Private to this folder. */
#pragma once

#include "calls/stream.h"
#include "surface/envd/connect.h"
#include "surface/envd/envd.h"

struct compute_request;

struct connect_stream {
	struct stream stream; /* first */
	struct buf out;       /* envelopes on their way */
	const char *ping;     /* the message that only says that the stream lives */
	int64_t end_ms;       /* monotonic: then the stream ends; 0 = never */
	int64_t ping_ms, pinged_ms;
	bool begun;
};

struct connect_stream_options {
	const char *ping;
	size_t out_max;    /* of what is written between two flushes */
	int64_t within_ms; /* then it ends with deadline_exceeded; 0 = never */
};
/* Zeroed but for what the options say. `ops->size` is that of a struct that begins with struct
 * connect_stream; `ops` has connect_stream_on_tick and _done, or calls them. */
struct connect_stream *connect_stream_new(struct request *rq, const struct stream_ops *ops,
                                          struct fleet_hold *hold,
                                          const struct connect_stream_options *options);
void connect_stream_done(struct stream *s);
void connect_stream_on_tick(struct stream *s, struct relay *relay);
/* Sends the agent its request. The stream is the reply's from here on, and gone when this fails. */
MUST_CHECK int connect_stream_start(struct request *rq, struct connect_stream *c,
                                    const struct compute_request *request, struct reply *reply,
                                    struct error *err);

void connect_stream_flush(struct connect_stream *c, struct relay *relay);
/* The last message; `err` NULL: all went well. */
void connect_stream_finish(struct connect_stream *c, struct relay *relay, const struct error *err);
/* AGENT_FAILED: the last message as well. */
void connect_stream_fail(struct connect_stream *c, struct relay *relay, struct span payload);

/* envd_target_open for a stream: what refuses it is told by a message, as clients take a stream's
 * HTTP status for less: 429 for "unavailable". But who may not come in gets 401. */
MUST_CHECK int connect_stream_open(struct request *rq, struct reply *reply, struct api_target *ret,
                                   struct error *err);
/* The request's one message; {} when it is empty. */
MUST_CHECK int connect_stream_read(struct request *rq, const struct json_value **ret,
                                   struct error *err);
/* A stream that fails before its first message ends by a message all the same: 0, or -1 when a
 * worker has to try. */
int connect_stream_refuse(struct request *rq, struct reply *reply, const struct error *err);
