/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a body: a single raw file, or the parts of a form; either may be gzip. All files are
 * written on one connection, each with its metadata, without waiting for the agent in between. */
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "calls/file_form.h"
#include "compression/decompress.h"
#include "edge/target.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "surface/envd/envd.h"
#include "surface/envd/files.h"
#include "wire/agent.h"

#define INFLATED_MAX (INT64_C(1) << 40)

struct envd_upload {
	struct file_form form;
	struct decompressor *decompressor; /* NULL: the body is not compressed */
	const char *fixed;      /* the path in the query; "" = the file names in the form */
	struct buf path;        /* of the current file */
	const char *attributes; /* of every file, see AGENT_SET_ATTRIBUTES */
};

static struct envd_upload *upload_of(struct file_form *f)
{
	return CONTAINER_OF(f, struct envd_upload, form);
}

static void upload_done(struct stream *s)
{
	struct envd_upload *u = CONTAINER_OF(s, struct envd_upload, form.stream);

	decompressor_free(u->decompressor);
	buf_done(&u->path);
	file_form_done(s);
}

static int begin_file(struct envd_upload *u, struct span path, struct error *err)
{
	buf_reset(&u->path);
	buf_add_span(&u->path, path);
	if (u->path.overflowed || path.size == 0 || memchr(path.data, '\0', path.size))
		return FAIL(err, ERROR_INVALID, "the path of file %u is empty or too long",
		            u->form.files + 1);
	return file_form_begin(&u->form, buf_text(&u->path), err);
}

/* The metadata of this request replace all that the file had before. */
static int on_file_end(struct file_form *f, struct error *err)
{
	struct agent_path message = envd_path_of(buf_text(&upload_of(f)->path), f->file.root);

	message.target = upload_of(f)->attributes;
	return file_form_send(f, AGENT_SET_ATTRIBUTES, &message, err);
}

static int on_part(struct file_form *f, const struct multipart_part *part, struct error *err)
{
	struct envd_upload *u = upload_of(f);

	if (!span_equals_text(part->name, "file"))
		return 0;
	if (u->fixed[0] && f->files > 0)
		return FAIL(err, ERROR_INVALID, "several files cannot have the path '%.160s'",
		            u->fixed);
	if (u->fixed[0])
		return begin_file(u, span_of(u->fixed), err);
	if (!part->file_name.data || !span_is_utf8(part->file_name))
		return FAIL(err, ERROR_INVALID, "the file name of part %u is not UTF-8",
		            f->multipart.parts);
	return begin_file(u, part->file_name, err);
}

static int take_plain(void *context, struct span bytes, struct error *err)
{
	struct envd_upload *u = context;

	return file_form_add(&u->form, bytes, err);
}

static int on_body(struct file_form *f, struct span bytes, bool last, struct error *err)
{
	struct envd_upload *u = upload_of(f);
	int result;

	if (f->is_raw && f->files == 0 && begin_file(u, span_of(u->fixed), err) < 0)
		return -1;
	result = u->decompressor ? decompressor_write(u->decompressor, bytes, err)
	                         : file_form_add(f, bytes, err);
	if (result < 0 || !last)
		return result;
	if (u->decompressor && decompressor_end(u->decompressor, err) < 0)
		return -1;
	return file_form_end(f, err);
}

static void write_entry(struct file_form *f, const struct agent_file *file)
{
	const char *attributes = upload_of(f)->attributes;

	envd_write_upload(&f->answer, file->path, strchr(attributes, '=') ? attributes : NULL);
}

static const struct file_form_ops upload_ops = {
        .on_part = on_part,
        .on_file_end = on_file_end,
        .on_body = on_body,
        .write_entry = write_entry,
        .head = "[",
        .tail = "]",
        .missing = "the form has no part 'file'",
};

static int on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                      struct error *err)
{
	if (type != AGENT_FAILED)
		return file_form_on_message(s, relay, type, payload, err);
	s->ended = true;
	(void)compute_failed(payload, err);
	envd_error_translate(err);
	/* The path is a folder. */
	if (err->code == ERROR_CONFLICT)
		err->code = ERROR_INVALID;
	return -1;
}

static const struct stream_ops stream_ops = {
        .size = sizeof(struct envd_upload),
        .on_message = on_message,
        .on_client = file_form_on_client,
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
	if (type && strncasecmp(type, form, sizeof(form) - 1) == 0)
		return 0;
	if (!type || strncasecmp(type, raw, sizeof(raw) - 1) != 0)
		return FAIL(err, ERROR_INVALID, "the body is neither %s nor %s", form, raw);
	u->form.is_raw = true;
	return u->fixed[0] ? 0 : FAIL(err, ERROR_INVALID, "path is missing");
}

static int prepare_upload(struct request *rq, const struct api_target *t,
                          const struct envd_files_query *q, struct envd_upload *u,
                          struct error *err)
{
	struct arena *texts = &u->form.texts;
	const char *user, *attributes;

	if (envd_user_find(rq, t, q->username, &user, err) < 0 ||
	    envd_metadata_read(rq, &attributes, err) < 0)
		return -1;
	u->fixed = arena_text(texts, q->path ? q->path : "");
	u->path = BUF(PATH_SIZE_MAX);
	u->attributes = arena_text(texts, attributes);
	u->form.file = envd_path_of("", arena_text(texts, user));
	u->form.file.flags |= AGENT_PATH_PARENTS | AGENT_PATH_IN_PLACE;
	return choose_form(rq, u, err);
}

int envd_upload(struct request *rq, struct api_target *t, const struct envd_files_query *q,
                struct reply *reply, struct error *err)
{
	struct file_form *f;

	if (provider_require(t->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	f = file_form_new(rq, &stream_ops, &upload_ops, t);
	if (prepare_upload(rq, t, q, upload_of(f), err) < 0 || request_may_block(rq, err) < 0) {
		stream_free(&f->stream);
		return -1;
	}
	return file_form_start(rq, f, reply, err);
}
