/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data uploads: every part with a file name becomes a file, one WRITE after the
 * other on one connection, without waiting for the agent in between. */
#include "base/path.h"
#include "calls/files.h"
#include "calls/multipart.h"
#include "calls/stream.h"
#include "edge/target.h"

struct upload_form {
	struct stream stream;
	struct multipart multipart;
	struct relay *relay;     /* while a callback runs */
	struct agent_path path;  /* the request for each file, without the name */
	struct buf folder, user; /* texts of `path` */
	bool in_file, body_ended;
	unsigned begun, written;
	struct buf items; /* entries of the answer */
	struct buf paths; /* paths of the files, each with its NUL, oldest first */
	size_t paths_at;  /* offset of the path whose entry comes next */
};

static struct upload_form *form_of(struct stream *s)
{
	return CONTAINER_OF(s, struct upload_form, stream);
}

static void form_done(struct stream *s)
{
	struct upload_form *f = form_of(s);

	multipart_done(&f->multipart);
	buf_done(&f->folder);
	buf_done(&f->user);
	buf_done(&f->items);
	buf_done(&f->paths);
}

/* A browser may send the whole path of a file; each part of it must be a plain name. */
static int form_on_part(void *context, const struct multipart_part *part, struct error *err)
{
	struct upload_form *f = context;
	const char *name, *whole;

	f->in_file = part->file_name.data != NULL;
	if (!f->in_file)
		return 0;
	if (!span_is_utf8(part->file_name))
		return FAIL(err, ERROR_INVALID, "the file name of part %u is not UTF-8",
		            f->multipart.parts);
	if (path_check_relative(&f->stream.arena, part->file_name, &name, err) < 0)
		return FAIL_CONTEXT(err, "file name of part %u", f->multipart.parts);
	if (path_resolve(&f->stream.arena, buf_text(&f->folder), span_of(name), &whole, err) < 0)
		return -1;
	f->path.path = whole;
	f->path.user = buf_text(&f->user);
	f->begun++;
	buf_add(&f->paths, whole, strlen(whole) + 1);
	if (f->paths.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the names of the files are too long together");
	return stream_send(f->relay, AGENT_WRITE, agent_path_shape, &f->path, err);
}

static int form_on_bytes(void *context, struct span bytes, UNUSED struct error *err)
{
	struct upload_form *f = context;

	if (f->in_file)
		stream_send_bytes(f->relay, AGENT_DATA, bytes);
	return 0;
}

static int form_on_part_end(void *context, struct error *err)
{
	struct upload_form *f = context;

	if (!f->in_file)
		return 0;
	return stream_send(f->relay, AGENT_DATA_END, NULL, NULL, err);
}

static const struct multipart_ops form_multipart = {
        .on_part = form_on_part,
        .on_bytes = form_on_bytes,
        .on_part_end = form_on_part_end,
};

static void answer_if_done(struct upload_form *f, struct relay *relay)
{
	if (!f->body_ended || f->written < f->begun)
		return;
	f->stream.ended = true;
	buf_add_text(&f->items, "],\"truncated\":false}");
	relay_answer(relay, 200, "application/json", buf_span(&f->items));
}

static int form_on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                          struct error *err)
{
	struct upload_form *f = form_of(s);
	int result;

	if (f->body_ended)
		return 0;
	f->relay = relay;
	result = multipart_add(&f->multipart, bytes, err);
	arena_reset(&s->arena);
	if (result < 0 || !last)
		return result;
	if (multipart_end(&f->multipart, err) < 0)
		return -1;
	if (f->begun == 0)
		return FAIL(err, ERROR_INVALID, "the form has no part with a file name");
	f->body_ended = true;
	answer_if_done(f, relay);
	return 0;
}

static int form_on_message(struct stream *s, struct relay *relay, uint16_t type,
                           struct span payload, struct error *err)
{
	struct upload_form *f = form_of(s);
	struct agent_file file;

	if (type == AGENT_READY)
		return 0;
	if (type == AGENT_DONE && f->written < f->begun) {
		f->written++;
		answer_if_done(f, relay);
		return 0;
	}
	if (type != AGENT_FILE || f->paths_at >= f->paths.size)
		return stream_unexpected(type, err);
	if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	if (f->items.data[f->items.size - 1] != '[')
		buf_add_byte(&f->items, ',');
	files_write_entry(&f->items, &file, f->paths.data + f->paths_at);
	f->paths_at += strlen(f->paths.data + f->paths_at) + 1;
	return 0;
}

static const struct stream_ops form_ops = {
        .size = sizeof(struct upload_form),
        .on_message = form_on_message,
        .on_client = form_on_client,
        .done = form_done,
};

int files_upload_form(struct request *rq, struct api_target *t, const struct files_call *call,
                      struct reply *reply, struct error *err)
{
	const char *type = request_header(rq, "Content-Type");
	struct stream *s = stream_new(&form_ops, &t->hold);
	struct upload_form *f = form_of(s);
	struct stream_options options = {.fd = -1};

	f->path = call->path;
	f->folder = BUF(PATH_SIZE_MAX + 1);
	f->user = BUF(4096);
	f->items = BUF(16 * 1024 * 1024);
	f->paths = BUF(4 * 1024 * 1024);
	buf_add_text(&f->folder, call->path.path);
	buf_add_text(&f->user, call->path.user);
	buf_add_text(&f->items, "{\"items\":[");
	if (multipart_init(&f->multipart, type ? type : "", &form_multipart, f, err) < 0) {
		stream_free(s);
		return -1;
	}
	if (files_connect(rq, &s->hold, &options.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	stream_start(s, reply, &options);
	return 0;
}
