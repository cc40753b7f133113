/* SPDX-License-Identifier: Apache-2.0 */
/* Changes below a folder as events. */
#include "calls/files.h"
#include "calls/stream.h"
#include "edge/target.h"
#include "http/message/fault.h"
#include "json/write.h"
#include "wire/agent.h"

#define IDLE_MS 15000

struct file_watch {
	struct stream stream;
	bool is_sse;
	struct buf out;
	bool begun;
};

static void watch_done(struct stream *s)
{
	buf_done(&CONTAINER_OF(s, struct file_watch, stream)->out);
}

static void begin_event(struct file_watch *w, const char *event)
{
	if (w->is_sse)
		buf_addf(&w->out, "event: %s\ndata: ", event);
	json_begin_object(&w->out, NULL);
	json_add_text(&w->out, "event", event);
}

static void end_event(struct file_watch *w, struct relay *relay)
{
	json_end_object(&w->out);
	buf_add_text(&w->out, w->is_sse ? "\n\n" : "\n");
	relay_write(relay, buf_span(&w->out));
	buf_reset(&w->out);
}

static void write_change(struct file_watch *w, struct relay *relay, const char *event,
                         const struct agent_change *change)
{
	begin_event(w, event);
	if (change) {
		json_add_text(&w->out, "path", change->path);
		json_add_bool(&w->out, "is_directory", change->type == AGENT_FILE_FOLDER);
	}
	end_event(w, relay);
}

static int watch_on_sandbox_end(struct stream *s, struct relay *relay, const struct error *err)
{
	struct file_watch *w = CONTAINER_OF(s, struct file_watch, stream);

	if (!w->begun)
		return -1;
	begin_event(w, "error");
	http_add_error(&w->out, err);
	end_event(w, relay);
	relay_finish(relay);
	return 0;
}

static int watch_on_message(struct stream *s, struct relay *relay, uint16_t type,
                            struct span payload, struct error *err)
{
	static const char *const names[] = {
	        [AGENT_CREATED] = "created",   [AGENT_MODIFIED] = "modified",
	        [AGENT_REMOVED] = "removed",   [AGENT_RENAMED] = "renamed",
	        [AGENT_CHMODDED] = "chmodded", [AGENT_LOST] = "lost",
	};
	struct file_watch *w = CONTAINER_OF(s, struct file_watch, stream);
	struct agent_change change;

	if (type == AGENT_READY && !w->begun) {
		w->begun = true;
		relay_begin_header(relay, "Cache-Control", "no-store");
		relay_begin(relay, 200, w->is_sse ? "text/event-stream" : "application/x-ndjson",
		            -1);
		write_change(w, relay, "ready", NULL);
		return 0;
	}
	if (type != AGENT_CHANGE || !w->begun)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_change_shape, &change, sizeof(change), err) < 0)
		return -1;
	if (change.kind >= COUNT_OF(names))
		return stream_unexpected(type, err);
	write_change(w, relay, names[change.kind], change.kind == AGENT_LOST ? NULL : &change);
	return 0;
}

static void watch_on_tick(struct stream *s, struct relay *relay)
{
	struct file_watch *w = CONTAINER_OF(s, struct file_watch, stream);

	if (w->begun && w->is_sse)
		relay_write(relay, SPAN(": still here\n\n"));
}

static const struct stream_ops watch_ops = {
        .size = sizeof(struct file_watch),
        .on_message = watch_on_message,
        .on_tick = watch_on_tick,
        .on_sandbox_end = watch_on_sandbox_end,
        .done = watch_done,
};

int files_watch(struct request *rq, struct api_target *t, const struct files_call *call,
                bool as_sse, struct reply *reply, struct error *err)
{
	struct stream *s = stream_new(&watch_ops, t->hold);
	struct file_watch *w = CONTAINER_OF(s, struct file_watch, stream);
	struct stream_options options = {.tick_ms = IDLE_MS};

	w->is_sse = as_sse;
	w->out = BUF(64 * 1024);
	if (files_open(rq, &s->hold, call, &options.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	stream_start(s, reply, &options);
	return 0;
}
