/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a body: a single raw file, or the parts of a form; either may be gzip. All files are
 * written on one connection, each with its metadata, without waiting for the agent in between. */
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "calls/multipart.h"
#include "calls/stream.h"
#include "compression/decompress.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "surface/envd/envd.h"
#include "surface/envd/files.h"
#include "wire/agent.h"

#define INFLATED_MAX (INT64_C(1) << 40)
#define ITEMS_MAX ((size_t)16 * 1024 * 1024)

struct envd_upload {
	struct stream stream;
	struct multipart multipart;
	struct decompressor *decompressor; /* NULL: the body is not compressed */
	struct relay *relay;               /* while a callback runs */
	struct buf fixed; /* the path in the query; empty = the file names in the form */
	struct buf path;  /* of the current file */
	struct buf user, attributes, items;
	unsigned begun, ended; /* files; the agent answers each with two DONE */
	bool is_form, in_file, is_half_ended, body_ended, has_metadata;
};

static struct envd_upload *upload_of(struct stream *s)
{
	return CONTAINER_OF(s, struct envd_upload, stream);
}

static void upload_done(struct stream *s)
{
	struct envd_upload *u = upload_of(s);

	multipart_done(&u->multipart);
	decompressor_free(u->decompressor);
	buf_done(&u->fixed);
	buf_done(&u->path);
	buf_done(&u->user);
	buf_done(&u->attributes);
	buf_done(&u->items);
}

static int begin_file(struct envd_upload *u, struct span path, struct error *err)
{
	struct agent_path message;

	buf_reset(&u->path);
	buf_add_span(&u->path, path);
	if (u->path.overflowed || path.size == 0 || memchr(path.data, '\0', path.size))
		return FAIL(err, ERROR_INVALID, "the path of file %u is empty or too long",
		            u->begun + 1);
	message = envd_path_of(buf_text(&u->path), buf_text(&u->user));
	message.flags |= AGENT_PATH_PARENTS | AGENT_PATH_IN_PLACE;
	u->begun++;
	u->in_file = true;
	return stream_send(u->relay, AGENT_WRITE, agent_path_shape, &message, err);
}

static int add_bytes(void *context, struct span bytes, UNUSED struct error *err)
{
	struct envd_upload *u = context;

	if (u->in_file)
		stream_send_bytes(u->relay, AGENT_DATA, bytes);
	return 0;
}

/* The metadata of this request replace all that the file had before. */
static int end_file(void *context, struct error *err)
{
	struct envd_upload *u = context;
	struct agent_path message = envd_path_of(buf_text(&u->path), buf_text(&u->user));

	if (!u->in_file)
		return 0;
	u->in_file = false;
	message.target = buf_text(&u->attributes);
	if (stream_send(u->relay, AGENT_DATA_END, NULL, NULL, err) < 0)
		return -1;
	return stream_send(u->relay, AGENT_SET_ATTRIBUTES, agent_path_shape, &message, err);
}

static int on_part(void *context, const struct multipart_part *part, struct error *err)
{
	struct envd_upload *u = context;

	if (!span_equals_text(part->name, "file"))
		return 0;
	if (u->fixed.size > 0 && u->begun > 0)
		return FAIL(err, ERROR_INVALID, "several files cannot have the path '%.160s'",
		            buf_text(&u->fixed));
	if (u->fixed.size > 0)
		return begin_file(u, buf_span(&u->fixed), err);
	if (!part->file_name.data || !span_is_utf8(part->file_name))
		return FAIL(err, ERROR_INVALID, "the file name of part %u is not UTF-8",
		            u->multipart.parts);
	return begin_file(u, part->file_name, err);
}

static const struct multipart_ops form_ops = {
        .on_part = on_part,
        .on_bytes = add_bytes,
        .on_part_end = end_file,
};

static int take_plain(void *context, struct span bytes, struct error *err)
{
	struct envd_upload *u = context;

	return u->is_form ? multipart_add(&u->multipart, bytes, err) : add_bytes(u, bytes, err);
}

static int take_bytes(struct envd_upload *u, struct span bytes, struct error *err)
{
	return u->decompressor ? decompressor_write(u->decompressor, bytes, err)
	                       : take_plain(u, bytes, err);
}

static int take_end(struct envd_upload *u, struct error *err)
{
	if (u->decompressor && decompressor_end(u->decompressor, err) < 0)
		return -1;
	if (!u->is_form)
		return end_file(u, err);
	if (multipart_end(&u->multipart, err) < 0)
		return -1;
	return u->begun ? 0 : FAIL(err, ERROR_INVALID, "the form has no part 'file'");
}

static void answer_finished_upload(struct envd_upload *u, struct relay *relay)
{
	if (!u->body_ended || u->ended < u->begun)
		return;
	u->stream.ended = true;
	json_end_list(&u->items);
	relay_answer(relay, 200, "application/json", buf_span(&u->items));
}

static int on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                     struct error *err)
{
	struct envd_upload *u = upload_of(s);
	int result = 0;

	if (u->body_ended)
		return 0;
	u->relay = relay;
	if (!u->is_form && u->begun == 0)
		result = begin_file(u, buf_span(&u->fixed), err);
	if (result == 0)
		result = take_bytes(u, bytes, err);
	if (result == 0 && last)
		result = take_end(u, err);
	arena_reset(&s->arena);
	if (result < 0)
		return -1;
	u->body_ended = last;
	answer_finished_upload(u, relay);
	return 0;
}

static int on_file(struct envd_upload *u, struct span payload, struct error *err)
{
	struct agent_file file;

	if (stream_decode(&u->stream, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	envd_write_upload(&u->items, file.path, u->has_metadata ? buf_text(&u->attributes) : NULL);
	return u->items.overflowed ? FAIL(err, ERROR_TOO_LARGE, "the form has too many files") : 0;
}

static int on_failed(struct envd_upload *u, struct span payload, struct error *err)
{
	u->stream.ended = true;
	(void)compute_failed(payload, err);
	envd_error_translate(err);
	/* The path is a folder. */
	if (err->code == ERROR_CONFLICT)
		err->code = ERROR_INVALID;
	return -1;
}

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	struct envd_upload *u = upload_of(s);

	if (type == AGENT_FAILED)
		return on_failed(u, payload, err);
	if (type == AGENT_READY)
		return 0;
	if (type == AGENT_FILE)
		return on_file(u, payload, err);
	if (type != AGENT_DONE || u->ended == u->begun)
		return stream_unexpected(type, err);
	u->ended += u->is_half_ended;
	u->is_half_ended = !u->is_half_ended;
	answer_finished_upload(u, relay);
	return 0;
}

static const struct stream_ops upload_ops = {
        .size = sizeof(struct envd_upload),
        .on_message = on_message,
        .on_client = on_client,
        .done = upload_done,
        .takes_failures = true,
};

static int choose_form(struct request *rq, struct envd_upload *u, struct error *err)
{
	static const char form[] = "multipart/form-data", raw[] = "application/octet-stream";
	const char *type = request_header(rq, "Content-Type");
	const char *coding = request_header(rq, "Content-Encoding");

	if (coding && strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "identity") != 0)
		return FAIL(err, ERROR_INVALID, "Content-Encoding must be gzip or identity");
	if (coding && strcasecmp(coding, "gzip") == 0)
		u->decompressor = decompressor_new(
		        &(struct decompressor_options){INFLATED_MAX, take_plain, u});
	if (type && strncasecmp(type, form, sizeof(form) - 1) == 0) {
		u->is_form = true;
		return multipart_init(&u->multipart, type, &form_ops, u, err);
	}
	if (!type || strncasecmp(type, raw, sizeof(raw) - 1) != 0)
		return FAIL(err, ERROR_INVALID, "the body is neither %s nor %s", form, raw);
	if (u->fixed.size == 0)
		return FAIL(err, ERROR_INVALID, "path is missing");
	return 0;
}

static int prepare_upload(struct request *rq, const struct api_target *t,
                          const struct envd_files_query *q, struct envd_upload *u,
                          struct error *err)
{
	const char *user, *attributes;

	u->fixed = u->path = BUF(PATH_SIZE_MAX);
	u->user = BUF(256);
	u->attributes = BUF(16 * 1024);
	u->items = BUF(ITEMS_MAX);
	json_begin_list(&u->items, NULL);
	if (envd_user_find(rq, t, q->username, &user, err) < 0 ||
	    envd_metadata_read(rq, &attributes, err) < 0)
		return -1;
	buf_add_text(&u->user, user);
	buf_add_text(&u->attributes, attributes);
	u->has_metadata = strchr(attributes, '=') != NULL;
	buf_add_text(&u->fixed, q->path ? q->path : "");
	return choose_form(rq, u, err);
}

int envd_upload(struct request *rq, struct api_target *t, const struct envd_files_query *q,
                struct reply *reply, struct error *err)
{
	struct stream_options options = {.fd = -1};
	struct stream *s;

	if (provider_require(t->hold.provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	s = stream_new(&upload_ops, &t->hold);
	if (prepare_upload(rq, t, q, upload_of(s), err) < 0 || request_may_block(rq, err) < 0 ||
	    provider_ops_of(s->hold.provider)
	                    ->compute->connect(s->hold.provider, s->hold.id, rq->deadline,
	                                       &options.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	stream_start(s, reply, &options);
	return 0;
}
