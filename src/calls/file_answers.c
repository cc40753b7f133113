/* SPDX-License-Identifier: Apache-2.0 */
/* Replies with one entry or a list of entries, and uploads into a file. */

#include "activity/activity.h"
#include "base/clock.h"
#include "base/path.h"
#include "calls/files.h"
#include "calls/stream.h"
#include "edge/target.h"
#include "json/write.h"
#include "wire/agent.h"

struct file_reply {
	struct stream stream;
	struct buf entry;     /* JSON of the agent's file */
	struct buf path_text; /* the path in the request */
	unsigned expected;    /* number of files of a bulk write; 0 = not a bulk write */
	unsigned written;
	bool body_ended;
	files_entry_writer *write_entry;
	int status;
};

static void file_reply_done(struct stream *s)
{
	struct file_reply *a = CONTAINER_OF(s, struct file_reply, stream);

	buf_done(&a->entry);
	buf_done(&a->path_text);
}

static int file_reply_finish(struct file_reply *a, struct relay *relay, struct span payload,
                             struct error *err)
{
	struct agent_done done;

	if (stream_decode(&a->stream, payload, agent_done_shape, &done, sizeof(done), err) < 0)
		return -1;
	if (a->expected > 0 && ++a->written < a->expected)
		return 0;
	if (a->expected > 0)
		done.count = a->written;
	a->stream.ended = true;
	if (a->entry.size == 0) {
		json_begin_object(&a->entry, NULL);
		json_add_whole(&a->entry, "count", (int64_t)done.count);
		json_end_object(&a->entry);
	}
	relay_answer(relay, a->status, "application/json", buf_span(&a->entry));
	return 0;
}

static int file_reply_on_message(struct stream *s, struct relay *relay, uint16_t type,
                                 struct span payload, struct error *err)
{
	struct file_reply *a = CONTAINER_OF(s, struct file_reply, stream);
	struct agent_file file;

	if (type == AGENT_READY)
		return 0;
	if (type == AGENT_DONE)
		return file_reply_finish(a, relay, payload, err);
	if (type == AGENT_FILE && a->expected > 0)
		return 0;
	if (type != AGENT_FILE || a->entry.size > 0)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	a->write_entry(&a->entry, &file, buf_text(&a->path_text));
	return 0;
}

static int file_reply_on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                                struct error *err)
{
	struct file_reply *a = CONTAINER_OF(s, struct file_reply, stream);

	if (a->body_ended)
		return 0;
	stream_send_bytes(relay, AGENT_DATA, bytes);
	if (!last)
		return 0;
	a->body_ended = true;
	return stream_send(relay, AGENT_DATA_END, NULL, NULL, err);
}

static const struct stream_ops file_reply_ops = {
        .size = sizeof(struct file_reply),
        .on_message = file_reply_on_message,
        .done = file_reply_done,
};
static const struct stream_ops upload_ops = {
        .size = sizeof(struct file_reply),
        .on_message = file_reply_on_message,
        .on_client = file_reply_on_client,
        .done = file_reply_done,
};

static struct stream *file_reply_new(struct request *rq, const struct stream_ops *ops,
                                     struct api_target *t, const struct files_call *call)
{
	struct activity_note *note = files_begin_note(rq, t, call);
	struct stream *s = stream_new(ops, t->hold);
	struct file_reply *a = CONTAINER_OF(s, struct file_reply, stream);

	s->note = note;
	a->write_entry = call->write_entry ? call->write_entry : files_write_entry;
	a->status = call->status ? call->status : 200;
	a->entry = BUF(64 * 1024);
	a->path_text = BUF(64 * 1024);
	buf_add_text(&a->path_text, call->path.target && call->path.target[0] ? call->path.target
	                                                                      : call->path.path);
	return s;
}

static int file_reply_start(struct request *rq, struct stream *s, const struct files_call *call,
                            struct stream_options *options, struct reply *reply, struct error *err)
{
	if (files_open(rq, &s->hold, call, &options->fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	options->request = call->type;
	stream_start(s, reply, options);
	return 0;
}

void files_add_content(struct buf *out, struct span content)
{
	while (content.size > 0)
		wire_add_frame(out, AGENT_DATA, span_take(&content, AGENT_DATA_MAX));
	wire_add_frame(out, AGENT_DATA_END, (struct span){NULL, 0});
}

int files_answer(struct request *rq, struct api_target *t, const struct files_call *call,
                 struct span content, struct reply *reply, struct error *err)
{
	struct stream *s = file_reply_new(rq, &file_reply_ops, t, call);
	struct stream_options options = {.fd = -1};
	AUTO(buf_done) struct buf frames = BUF(2 * content.size + 4096);

	if (call->type == AGENT_WRITE) {
		files_add_content(&frames, content);
		activity_add_bytes(s->note, content.size);
		options.upstream_first = buf_span(&frames);
	}
	return file_reply_start(rq, s, call, &options, reply, err);
}

int files_upload(struct request *rq, struct api_target *t, const struct files_call *call,
                 struct reply *reply, struct error *err)
{
	struct stream_options options = {.fd = -1};

	return file_reply_start(rq, file_reply_new(rq, &upload_ops, t, call), call, &options, reply,
	                        err);
}

int files_write_all(struct request *rq, struct api_target *t, const struct files_write *writes,
                    size_t count, struct reply *reply, struct error *err)
{
	struct files_call none = {.type = AGENT_WRITE, .path = {.path = ""}};
	struct stream *s = file_reply_new(rq, &file_reply_ops, t, &none);
	struct stream_options options = {.fd = -1, .request = AGENT_WRITE};
	AUTO(buf_done) struct buf frames = BUF((size_t)128 * 1024 * 1024);

	CONTAINER_OF(s, struct file_reply, stream)->expected = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		if (wire_encode(&frames, AGENT_WRITE, agent_path_shape, &writes[i].path, err) < 0) {
			stream_free(s);
			return -1;
		}
		files_add_content(&frames, writes[i].content);
		activity_add_word(s->note, writes[i].path.path);
		activity_add_bytes(s->note, writes[i].content.size);
	}
	if (files_connect(rq, &s->hold, &options.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	options.upstream_first = buf_span(&frames);
	stream_start(s, reply, &options);
	return 0;
}

struct file_list_reply {
	struct stream stream;
	struct files_list_options options;
	uint64_t count;
	int64_t listed_ms;    /* time of the request */
	struct buf out, last; /* last: the path of the last entry */
	struct buf after;     /* every entry comes after this path */
	bool begun;
};

static void file_list_done(struct stream *s)
{
	struct file_list_reply *l = CONTAINER_OF(s, struct file_list_reply, stream);

	buf_done(&l->out);
	buf_done(&l->last);
	buf_done(&l->after);
}

static void file_list_begin(struct file_list_reply *l, struct relay *relay)
{
	if (l->begun)
		return;
	l->begun = true;
	relay_begin(relay, 200, "application/json", -1);
	json_begin_object(&l->out, NULL);
	json_begin_list(&l->out, l->options.paths_only ? "paths" : "items");
}

static void file_list_add(struct file_list_reply *l, struct relay *relay,
                          const struct agent_file *file)
{
	file_list_begin(l, relay);
	if (l->count++ > 0)
		buf_add_byte(&l->out, ',');
	if (l->options.paths_only)
		json_add_text(&l->out, NULL, file->path);
	else
		files_write_entry(&l->out, file, file->path);
	if (l->out.size > 32 * 1024) {
		relay_write(relay, buf_span(&l->out));
		buf_reset(&l->out);
	}
}

static void file_list_finish(struct file_list_reply *l, struct relay *relay)
{
	file_list_begin(l, relay);
	l->stream.ended = true;
	json_end_list(&l->out);
	json_add_bool(&l->out, "truncated", l->count >= l->options.max);
	if (!l->options.paths_only) {
		json_add_text(&l->out, "next_after",
		              l->count >= l->options.max ? buf_text(&l->last) : NULL);
		json_add_whole(&l->out, "listed_at_ms", l->listed_ms);
	}
	json_end_object(&l->out);
	relay_write(relay, buf_span(&l->out));
	relay_finish(relay);
}

static int file_list_on_message(struct stream *s, struct relay *relay, uint16_t type,
                                struct span payload, struct error *err)
{
	struct file_list_reply *l = CONTAINER_OF(s, struct file_list_reply, stream);
	struct agent_file file;

	if (type == AGENT_DONE) {
		file_list_finish(l, relay);
		return 0;
	}
	if (type != AGENT_FILE)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	if (l->count >= l->options.max)
		return FAIL(err, ERROR_TOO_LARGE,
		            "the agent listed more files than it was asked for");
	if (l->after.size > 0 && path_compare(file.path, buf_text(&l->after)) <= 0) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "the agent of this sandbox is too old to continue a list");
		return FAIL_HINT(err, "stop the sandbox and start it again");
	}
	buf_reset(&l->last);
	buf_add_text(&l->last, file.path);
	file_list_add(l, relay, &file);
	return 0;
}

static const struct stream_ops file_list_ops = {
        .size = sizeof(struct file_list_reply),
        .on_message = file_list_on_message,
        .done = file_list_done,
};

int files_list(struct request *rq, struct api_target *t, const struct files_call *call,
               const struct files_list_options *options, struct reply *reply, struct error *err)
{
	struct stream *s = stream_new(&file_list_ops, t->hold);
	struct file_list_reply *l = CONTAINER_OF(s, struct file_list_reply, stream);
	struct stream_options start = {.fd = -1};
	struct files_call copy = *call;

	l->options = *options;
	l->listed_ms = clock_unix_ms();
	l->out = BUF(256 * 1024);
	l->last = BUF(64 * 1024);
	l->after = BUF(64 * 1024);
	if (call->type == AGENT_LIST)
		buf_add_text(&l->after, call->path.target ? call->path.target : "");
	copy.path.size_max = options->max;
	return file_reply_start(rq, s, &copy, &start, reply, err);
}
