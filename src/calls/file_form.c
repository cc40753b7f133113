/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/file_form.h"

#include "activity/activity.h"
#include "base/path.h"
#include "calls/files.h"
#include "edge/target.h"
#include "http/server/http.h"
#include "wire/agent.h"

#define ANSWER_MAX ((size_t)16 * 1024 * 1024)

static struct file_form *form_of(struct stream *s)
{
	return CONTAINER_OF(s, struct file_form, stream);
}

struct file_form *file_form_new(const struct request *rq, const struct stream_ops *stream,
                                const struct file_form_ops *ops, struct api_target *t)
{
	const struct files_call call = {.type = AGENT_WRITE, .path = {.path = ""}};
	struct activity_note *note = files_begin_note(rq, t, &call);
	struct file_form *f = form_of(stream_new(stream, t->hold));

	f->stream.note = note;
	f->ops = ops;
	f->answer = BUF(ANSWER_MAX);
	buf_add_text(&f->answer, ops->head);
	return f;
}

void file_form_done(struct stream *s)
{
	struct file_form *f = form_of(s);

	multipart_done(&f->multipart);
	buf_done(&f->answer);
	arena_done(&f->texts);
}

int file_form_send(struct file_form *f, uint16_t type, const struct agent_path *path,
                   struct error *err)
{
	f->waiting++;
	return stream_send(f->relay, type, agent_path_shape, path, err);
}

int file_form_begin(struct file_form *f, const char *path, struct error *err)
{
	struct agent_path file = f->file;

	file.path = path;
	activity_add_word(f->stream.note, path);
	f->in_file = true;
	f->files++;
	return file_form_send(f, AGENT_WRITE, &file, err);
}

static int on_part(void *context, const struct multipart_part *part, struct error *err)
{
	struct file_form *f = context;

	return f->ops->on_part(f, part, err);
}

static int on_bytes(void *context, struct span bytes, struct error *err)
{
	struct file_form *f = context;

	if (!f->in_file)
		return f->ops->on_text ? f->ops->on_text(f, bytes, err) : 0;
	stream_send_bytes(f->relay, AGENT_DATA, bytes);
	return 0;
}

static int on_part_end(void *context, struct error *err)
{
	struct file_form *f = context;

	if (!f->in_file)
		return 0;
	f->in_file = false;
	if (stream_send(f->relay, AGENT_DATA_END, NULL, NULL, err) < 0)
		return -1;
	return f->ops->on_file_end ? f->ops->on_file_end(f, err) : 0;
}

static const struct multipart_ops part_ops = {
        .on_part = on_part, .on_bytes = on_bytes, .on_part_end = on_part_end};

int file_form_add(struct file_form *f, struct span bytes, struct error *err)
{
	return f->is_raw ? on_bytes(f, bytes, err) : multipart_add(&f->multipart, bytes, err);
}

int file_form_end(struct file_form *f, struct error *err)
{
	if (f->is_raw)
		return on_part_end(f, err);
	if (multipart_end(&f->multipart, err) < 0)
		return -1;
	return f->files ? 0 : FAIL(err, ERROR_INVALID, "%s", f->ops->missing);
}

static int take_body(struct file_form *f, struct span bytes, bool last, struct error *err)
{
	if (f->ops->on_body)
		return f->ops->on_body(f, bytes, last, err);
	if (file_form_add(f, bytes, err) < 0)
		return -1;
	return last ? file_form_end(f, err) : 0;
}

static void answer_if_done(struct file_form *f, struct relay *relay)
{
	if (!f->body_ended || f->waiting > 0)
		return;
	f->stream.ended = true;
	buf_add_text(&f->answer, f->ops->tail);
	relay_answer(relay, 200, "application/json", buf_span(&f->answer));
}

int file_form_on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                        struct error *err)
{
	struct file_form *f = form_of(s);
	int result;

	if (f->body_ended)
		return 0;
	f->relay = relay;
	result = take_body(f, bytes, last, err);
	arena_reset(&s->arena);
	if (result < 0)
		return -1;
	f->body_ended = last;
	answer_if_done(f, relay);
	return 0;
}

int file_form_on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                         struct error *err)
{
	struct file_form *f = form_of(s);
	struct agent_file file;

	if (type == AGENT_READY)
		return 0;
	if (type == AGENT_DONE && f->waiting > 0) {
		f->waiting--;
		answer_if_done(f, relay);
		return 0;
	}
	if (type != AGENT_FILE || f->entries == f->files)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	f->entries++;
	f->ops->write_entry(f, &file);
	return f->answer.overflowed ? FAIL(err, ERROR_TOO_LARGE, "the form has too many files") : 0;
}

int file_form_start(struct request *rq, struct file_form *f, struct reply *reply, struct error *err)
{
	const char *type = request_header(rq, "Content-Type");
	struct stream_options options = {.fd = -1};

	if ((!f->is_raw &&
	     multipart_init(&f->multipart, type ? type : "", &part_ops, f, err) < 0) ||
	    files_connect(rq, &f->stream.hold, &options.fd, err) < 0) {
		stream_free(&f->stream);
		return -1;
	}
	stream_start(&f->stream, reply, &options);
	return 0;
}

/* A browser may send the whole path of a file; each part of it must be a plain name. */
static int on_folder_part(struct file_form *f, const struct multipart_part *part, struct error *err)
{
	const char *name, *path;

	if (!part->file_name.data)
		return 0;
	if (!span_is_utf8(part->file_name))
		return FAIL(err, ERROR_INVALID, "the file name of part %u is not UTF-8",
		            f->multipart.parts);
	if (path_check_relative(&f->stream.arena, part->file_name, &name, err) < 0)
		return FAIL_CONTEXT(err, "file name of part %u", f->multipart.parts);
	if (path_resolve(&f->stream.arena, f->file.path, span_of(name), &path, err) < 0)
		return -1;
	return file_form_begin(f, path, err);
}

static void write_folder_entry(struct file_form *f, const struct agent_file *file)
{
	files_write_entry(&f->answer, file, file->path);
}

int files_upload_form(struct request *rq, struct api_target *t, const struct files_call *call,
                      struct reply *reply, struct error *err)
{
	static const struct file_form_ops ops = {
	        .on_part = on_folder_part,
	        .write_entry = write_folder_entry,
	        .head = "{\"items\":[",
	        .tail = "],\"truncated\":false}",
	        .missing = "the form has no part with a file name",
	};
	static const struct stream_ops stream = {
	        .size = sizeof(struct file_form),
	        .on_message = file_form_on_message,
	        .on_client = file_form_on_client,
	        .done = file_form_done,
	};
	struct file_form *f = file_form_new(rq, &stream, &ops, t);

	f->file = call->path;
	f->file.path = arena_text(&f->texts, call->path.path);
	f->file.user = arena_text(&f->texts, call->path.user);
	return file_form_start(rq, f, reply, err);
}
