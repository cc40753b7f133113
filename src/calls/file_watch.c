/* SPDX-License-Identifier: Apache-2.0 */
/* Changes below a folder as events. */
#include "calls/files.h"
#include "calls/stream.h"
#include "edge/target.h"
#include "json/json.h"

#define IDLE_MS 15000

struct file_watch {
	struct stream stream;
	enum output_form form;
	struct buf out;
	bool begun;
};

static void watch_done(struct stream *s)
{
	buf_done(&CONTAINER_OF(s, struct file_watch, stream)->out);
}

static void write_change(struct file_watch *w, struct relay *relay, const char *event,
                         const struct agent_change *change)
{
	if (w->form == OUTPUT_SSE)
		buf_addf(&w->out, "event: %s\ndata: ", event);
	buf_addf(&w->out, "{\"event\":\"%s\"", event);
	if (change) {
		buf_add_text(&w->out, ",\"path\":");
		json_write_text(&w->out, span_of(change->path));
		buf_addf(&w->out, ",\"is_directory\":%s",
		         change->type == AGENT_FILE_FOLDER ? "true" : "false");
	}
	buf_add_text(&w->out, w->form == OUTPUT_SSE ? "}\n\n" : "}\n");
	relay_write(relay, buf_span(&w->out));
	buf_reset(&w->out);
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
		relay_begin(relay, 200, output_content_type(w->form), -1);
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

	if (w->begun && w->form == OUTPUT_SSE)
		relay_write(relay, SPAN(": still here\n\n"));
}

static const struct stream_ops watch_ops = {
        .size = sizeof(struct file_watch),
        .on_message = watch_on_message,
        .on_tick = watch_on_tick,
        .done = watch_done,
};

int files_watch(struct request *rq, struct api_target *t, const struct files_call *call,
                enum output_form form, struct reply *reply, struct error *err)
{
	struct stream *s = stream_new(&watch_ops, t->hold);
	struct file_watch *w = CONTAINER_OF(s, struct file_watch, stream);
	struct stream_options options = {.tick_ms = IDLE_MS};

	w->form = form;
	w->out = BUF(64 * 1024);
	if (files_open(rq, &s->hold, call, &options.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	stream_start(s, reply, &options);
	return 0;
}
