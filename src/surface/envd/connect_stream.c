/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/connect_stream.h"

#include <strings.h>

#include "base/clock.h"
#include "edge/target.h"
#include "provider/compute.h"
#include "surface/envd/connect.h"
#include "surface/envd/envd.h"

#define PING_S 90
#define PING_S_MAX 3600

static struct connect_stream *connect_stream_of(struct stream *s)
{
	return CONTAINER_OF(s, struct connect_stream, stream);
}

/* "Keepalive-Ping-Interval", in seconds. */
static int64_t ping_ms_of(const struct request *rq)
{
	const char *text = request_header(rq, "Keepalive-Ping-Interval");
	struct error ignored;
	int64_t seconds;

	if (!text || span_parse_whole(span_of(text), 1, PING_S_MAX, &seconds, &ignored) < 0)
		seconds = PING_S;
	return seconds * 1000;
}

struct connect_stream *connect_stream_new(struct request *rq, const struct stream_ops *ops,
                                          struct fleet_hold *hold,
                                          const struct connect_stream_options *options)
{
	struct connect_stream *c = connect_stream_of(stream_new(ops, hold));

	c->ping = options->ping;
	c->out = BUF(options->out_max);
	c->pinged_ms = clock_monotonic_ms();
	c->ping_ms = ping_ms_of(rq);
	c->end_ms = options->within_ms ? c->pinged_ms + options->within_ms : 0;
	return c;
}

void connect_stream_done(struct stream *s)
{
	buf_done(&connect_stream_of(s)->out);
}

/* Until the next keepalive message or the end of the stream. */
static int64_t next_tick_ms(const struct connect_stream *c, int64_t now)
{
	int64_t at = c->pinged_ms + c->ping_ms;

	if (c->end_ms && c->end_ms < at)
		at = c->end_ms;
	return at > now ? at - now : 1;
}

int connect_stream_start(struct request *rq, struct connect_stream *c,
                         const struct compute_request *request, struct reply *reply,
                         struct error *err)
{
	struct stream *s = &c->stream;
	struct stream_options options = {.fd = -1,
	                                 .request = request->type,
	                                 .tick_ms = next_tick_ms(c, clock_monotonic_ms())};

	if (compute_open(s->hold.provider, s->hold.id, request, rq->deadline, &options.fd, err) <
	    0) {
		stream_free(s);
		/* On the loop's thread the deadline passes as soon as the agent does not answer at
		 * once. */
		if (err->code == ERROR_TIMEOUT)
			(void)!request_may_block(rq, err);
		return -1;
	}
	stream_start(s, reply, &options);
	return 0;
}

void connect_stream_flush(struct connect_stream *c, struct relay *relay)
{
	if (!c->begun) {
		c->begun = true;
		relay_begin_header(relay, "Cache-Control", "no-store");
		relay_begin(relay, 200, CONNECT_STREAM_TYPE, -1);
	}
	relay_write(relay, buf_span(&c->out));
	buf_reset(&c->out);
}

void connect_stream_finish(struct connect_stream *c, struct relay *relay, const struct error *err)
{
	connect_write_end(&c->out, err);
	connect_stream_flush(c, relay);
	relay_finish(relay);
}

void connect_stream_fail(struct connect_stream *c, struct relay *relay, struct span payload)
{
	struct error failed;

	c->stream.ended = true;
	(void)compute_failed(payload, &failed);
	envd_error_translate(&failed);
	connect_stream_finish(c, relay, &failed);
}

/* The words that E2B's clients use themselves when a connection breaks and the sandbox is gone. */
int connect_stream_on_sandbox_end(struct stream *s, struct relay *relay,
                                  UNUSED const struct error *err)
{
	struct error ended;

	(void)FAIL(&ended, ERROR_UNAVAILABLE,
	           "the sandbox was killed or reached its end of life during the call");
	connect_stream_finish(connect_stream_of(s), relay, &ended);
	return 0;
}

static void write_ping(struct connect_stream *c, struct relay *relay)
{
	size_t begun;

	if (!c->begun)
		return;
	begun = connect_begin_envelope(&c->out);
	buf_add_text(&c->out, c->ping);
	connect_end_envelope(&c->out, begun, 0);
	connect_stream_flush(c, relay);
}

void connect_stream_on_tick(struct stream *s, struct relay *relay)
{
	struct connect_stream *c = connect_stream_of(s);
	int64_t now = clock_monotonic_ms();
	struct error late;

	if (c->end_ms && now >= c->end_ms) {
		(void)FAIL(&late, ERROR_TIMEOUT, "the time of this stream is over");
		connect_stream_finish(c, relay, &late);
		return;
	}
	/* Sent at the interval that the client asked for, whatever other messages were sent. */
	if (now - c->pinged_ms >= c->ping_ms) {
		c->pinged_ms = now;
		write_ping(c, relay);
	}
	relay_tick_in(relay, next_tick_ms(c, now));
}

/* Answers a failure before the first message by the message that ends the stream. Returns 0, or -1
 * if a worker has to run the handler again. */
static int refuse_stream(struct request *rq, struct reply *reply, const struct error *err)
{
	struct buf *out;

	if (request_is_deferred(rq))
		return -1;
	out = reply_buf(reply, CONNECT_STREAM_TYPE);
	buf_reset(out);
	connect_write_end(out, err);
	return 0;
}

int connect_stream_run(struct request *rq, struct reply *reply, connect_stream_call *call,
                       struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	int opened = envd_target_open(rq, reply, &t, err);

	if (opened > 0)
		return 0;
	if (opened < 0 && err->code == ERROR_UNAUTHENTICATED)
		return -1;
	return opened == 0 && call(rq, reply, &t, err) == 0 ? 0 : refuse_stream(rq, reply, err);
}

int connect_stream_read(struct request *rq, const struct json_value **ret, struct error *err)
{
	const char *type = request_header(rq, "Content-Type");
	struct span message;

	if (!type || strncasecmp(type, CONNECT_STREAM_TYPE, sizeof(CONNECT_STREAM_TYPE) - 1) != 0)
		return FAIL(err, ERROR_INVALID, "the body is not " CONNECT_STREAM_TYPE);
	if (connect_read_single(rq->body, &message, err) < 0)
		return -1;
	return json_load(rq->arena, message.size ? message : SPAN("{}"), ret, err);
}
