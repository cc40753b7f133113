/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/connect_stream.h — a stream of the agent's messages (calls/stream.h) that answers a
 * call of the Connect protocol: its envelopes, its deadline and its keepalive messages. */
#pragma once

#include "base/bytes.h"
#include "calls/stream.h"

struct api_target;
struct compute_request;
struct json_value;
struct relay;
struct reply;

struct connect_stream {
	struct stream stream; /* must be first */
	struct buf out;       /* envelopes that are not sent yet */
	const char *ping;     /* the keepalive message */
	int64_t end_ms;       /* monotonic time at which the stream ends; 0 = never */
	int64_t ping_ms;      /* between two keepalive messages */
	int64_t pinged_ms;    /* monotonic time of the last one */
	bool begun;           /* the head of the reply is sent */
};

struct connect_stream_options {
	const char *ping;
	size_t out_max;    /* bytes that are written between two flushes */
	int64_t within_ms; /* the stream ends with deadline_exceeded after this; 0 = never */
};
/* `ops->size` is the size of a struct that begins with struct connect_stream; the members that the
 * options do not set are zero. `ops` has connect_stream_on_tick, connect_stream_on_sandbox_end and
 * connect_stream_done, or calls them. */
struct connect_stream *connect_stream_new(struct request *rq, const struct stream_ops *ops,
                                          struct fleet_hold *hold,
                                          const struct connect_stream_options *options);
void connect_stream_done(struct stream *s);
void connect_stream_on_tick(struct stream *s, struct relay *relay);
int connect_stream_on_sandbox_end(struct stream *s, struct relay *relay, const struct error *err);
/* Sends the agent its request. Afterwards the reply owns the stream; on failure it is freed. */
MUST_CHECK int connect_stream_start(struct request *rq, struct connect_stream *c,
                                    const struct compute_request *request, struct reply *reply,
                                    struct error *err);

void connect_stream_flush(struct connect_stream *c, struct relay *relay);
/* Sends the last message; `err` NULL = success. */
void connect_stream_finish(struct connect_stream *c, struct relay *relay, const struct error *err);
/* For AGENT_FAILED: sends the failure as the last message. */
void connect_stream_fail(struct connect_stream *c, struct relay *relay, struct span payload);

/* Opens the sandbox of the request and runs a call that answers with a stream. A failure is sent as
 * a message, because clients turn the HTTP status of a stream into a less exact code: 429 becomes
 * "unavailable". A request without access gets the status 401. */
typedef int connect_stream_call(struct request *rq, struct reply *reply, struct api_target *t,
                                struct error *err);
MUST_CHECK int connect_stream_run(struct request *rq, struct reply *reply,
                                  connect_stream_call *call, struct error *err);
/* Reads the request's only message; {} if it is empty. */
MUST_CHECK int connect_stream_read(struct request *rq, const struct json_value **ret,
                                   struct error *err);
