/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.Filesystem/WatchDir: changes in a folder as a stream. */
#include <errno.h>

#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "surface/envd/changes.h"
#include "surface/envd/connect.h"
#include "surface/envd/connect_stream.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define BODY_MAX_BYTES ((size_t)64 * 1024)

struct watch_stream {
	struct connect_stream base;
	struct changes changes;
};

static struct watch_stream *watch_stream_of(struct stream *s)
{
	return CONTAINER_OF(s, struct watch_stream, base.stream);
}

static void watch_done(struct stream *s)
{
	changes_done(&watch_stream_of(s)->changes);
	connect_stream_done(s);
}

static void write_message(struct watch_stream *w, struct relay *relay, const char *name,
                          struct span value)
{
	size_t begun = connect_begin_envelope(&w->base.out);

	json_begin_object(&w->base.out, NULL);
	json_add_raw(&w->base.out, name, value);
	json_end_object(&w->base.out);
	connect_end_envelope(&w->base.out, begun, 0);
	connect_stream_flush(&w->base, relay);
}

/* envd reports a path that is no folder as an invalid argument. */
static void fail_watch(struct watch_stream *w, struct relay *relay, struct span payload)
{
	struct error failed;

	w->base.stream.ended = true;
	(void)compute_failed(payload, &failed);
	changes_translate_error(&failed);
	connect_stream_finish(&w->base, relay, &failed);
}

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	struct watch_stream *w = watch_stream_of(s);
	struct span event;
	int result;

	if (type == AGENT_FAILED) {
		fail_watch(w, relay, payload);
		return 0;
	}
	if (type == AGENT_READY && !w->base.begun) {
		write_message(w, relay, "start", SPAN("{}"));
		return 0;
	}
	if (!w->base.begun)
		return stream_unexpected(type, err);
	result = changes_take_message(&w->changes, &s->arena, type, payload, &event, err);
	if (result > 0)
		write_message(w, relay, "filesystem", event);
	return result < 0 ? -1 : 0;
}

static const struct stream_ops watch_ops = {
        .size = sizeof(struct watch_stream),
        .on_message = on_message,
        .on_tick = connect_stream_on_tick,
        .on_sandbox_end = connect_stream_on_sandbox_end,
        .done = watch_done,
        .takes_failures = true,
};

static int start_watch(struct request *rq, struct reply *reply, struct api_target *t,
                       struct error *err)
{
	struct connect_stream_options options = {.ping = "{\"keepalive\":{}}",
	                                         .out_max = 2 * CHANGES_EVENT_MAX};
	const struct json_value *body;
	struct agent_path message;
	struct connect_stream *c;

	if (connect_stream_read(rq, &body, err) < 0 ||
	    changes_read_request(rq, t, body, &message, err) < 0 ||
	    connect_timeout_parse(request_header(rq, "Connect-Timeout-Ms"), &options.within_ms,
	                          err) < 0 ||
	    request_may_block(rq, err) < 0)
		return -1;
	c = connect_stream_new(rq, &watch_ops, t->hold, &options);
	changes_init(&watch_stream_of(&c->stream)->changes);
	return connect_stream_start(
	        rq, c, &(struct compute_request){AGENT_WATCH, agent_path_shape, &message}, reply,
	        err);
}

static int handle_watch(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	return connect_stream_run(rq, reply, start_watch, err);
}

const struct route envd_watch_routes[] = {
        {.method = HTTP_POST,
         .path = "/filesystem.Filesystem/WatchDir",
         .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN,
         .body_max = BODY_MAX_BYTES,
         .handle = handle_watch,
         .tag = CONNECT_TAG,
         .summary = "filesystem.WatchDir"},
        {.path = NULL},
};
