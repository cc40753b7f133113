/* SPDX-License-Identifier: Apache-2.0 */
/* /daytona/toolbox/:id/files/bulk-upload and /bulk-download — many files in one multipart body.
 * They are transferred one after the other on one connection to the agent. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "activity/activity.h"
#include "calls/file_form.h"
#include "calls/files.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "wire/agent.h"

#define BASE DAYTONA_TOOLBOX "/:id/files"
#define FILES_MAX 1000
#define TEXTS_MAX ((size_t)4 * 1024 * 1024)

struct bulk_upload {
	struct file_form form;
	struct buf name, path; /* name and content of the last ".path" part */
	bool in_path;
};

static struct bulk_upload *upload_of(struct file_form *f)
{
	return CONTAINER_OF(f, struct bulk_upload, form);
}

static void upload_done(struct stream *s)
{
	struct bulk_upload *u = CONTAINER_OF(s, struct bulk_upload, form.stream);

	buf_done(&u->name);
	buf_done(&u->path);
	file_form_done(s);
}

/* "files[0]" of "files[0].file". */
static struct span index_of(struct span name)
{
	while (name.size > 0 && name.data[name.size - 1] != '.')
		name.size--;
	return name;
}

static bool name_ends_in(struct span name, const char *end)
{
	size_t size = strlen(end);

	return name.size >= size && memcmp(name.data + name.size - size, end, size) == 0;
}

static int begin_file(struct bulk_upload *u, struct span name, struct error *err)
{
	struct file_form *f = &u->form;
	const char *path;

	if (u->path.size == 0 || !span_equals(index_of(name), index_of(buf_span(&u->name))))
		return FAIL(err, ERROR_INVALID,
		            "part %u: the part with its path must come before the file",
		            f->multipart.parts);
	if (path_resolve(&f->stream.arena, f->file.path, buf_span(&u->path), &path, err) < 0)
		return -1;
	return file_form_begin(f, path, err);
}

static int on_part(struct file_form *f, const struct multipart_part *part, struct error *err)
{
	struct bulk_upload *u = upload_of(f);

	u->in_path = name_ends_in(part->name, ".path");
	if (name_ends_in(part->name, ".file"))
		return begin_file(u, part->name, err);
	if (!u->in_path)
		return 0;
	buf_reset(&u->name);
	buf_reset(&u->path);
	buf_add_span(&u->name, part->name);
	return 0;
}

static int on_text(struct file_form *f, struct span bytes, struct error *err)
{
	struct bulk_upload *u = upload_of(f);

	if (!u->in_path)
		return 0;
	buf_add_span(&u->path, bytes);
	if (u->path.overflowed || u->name.overflowed)
		return FAIL(err, ERROR_INVALID, "part %u: its path is longer than %d bytes",
		            f->multipart.parts, PATH_SIZE_MAX);
	return 0;
}

static void write_entry(struct file_form *f, const struct agent_file *file)
{
	json_begin_object(&f->answer, NULL);
	json_add_text(&f->answer, "path", file->path);
	json_add_whole(&f->answer, "bytes", (int64_t)file->size);
	json_end_object(&f->answer);
}

static const struct file_form_ops upload_ops = {
        .on_part = on_part,
        .on_text = on_text,
        .write_entry = write_entry,
        .head = "{\"files\":[",
        .tail = "]}",
        .missing = "the form has no part 'files[0].file'",
};

static int on_only_part(struct file_form *f, const struct multipart_part *part, struct error *err)
{
	if (!part->file_name.data)
		return 0;
	if (f->files > 0)
		return FAIL(err, ERROR_INVALID, "part %u: only one file is allowed",
		            f->multipart.parts);
	return file_form_begin(f, f->file.path, err);
}

static void write_only_entry(struct file_form *f, const struct agent_file *file)
{
	json_begin_object(&f->answer, NULL);
	json_add_text(&f->answer, "name", path_last(file->path));
	json_add_text(&f->answer, "path", file->path);
	json_add_text(&f->answer, "type", "file");
	json_end_object(&f->answer);
}

static const struct file_form_ops upload_one_ops = {
        .on_part = on_only_part,
        .write_entry = write_only_entry,
        .head = "",
        .tail = "",
        .missing = "the form has no part 'files[0].file'",
};

static int start_upload(struct request *rq, struct api_target *t, const struct file_form_ops *ops,
                        const char *path, struct reply *reply, struct error *err)
{
	static const struct stream_ops stream = {
	        .size = sizeof(struct bulk_upload),
	        .on_message = file_form_on_message,
	        .on_client = file_form_on_client,
	        .done = upload_done,
	};
	struct file_form *f = file_form_new(rq, &stream, ops, t);
	struct bulk_upload *u = upload_of(f);

	u->name = BUF(256);
	u->path = BUF(PATH_SIZE_MAX);
	f->file = (struct agent_path){
	        .flags = AGENT_PATH_PARENTS,
	        .path = arena_text(&f->texts, path),
	        .user = arena_text(&f->texts, t->user),
	};
	return file_form_start(rq, f, reply, err);
}

static int upload_files(struct request *rq, UNUSED const void *body, struct reply *reply,
                        struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	const char *folder;

	if (daytona_target_open(rq, &t, err) < 0 || files_resolve(rq, &t, "", &folder, err) < 0)
		return -1;
	return start_upload(rq, &t, &upload_ops, folder, reply, err);
}

int daytona_upload_one(struct request *rq, struct api_target *t, const char *path,
                       struct reply *reply, struct error *err)
{
	return start_upload(rq, t, &upload_one_ops, path, reply, err);
}

#define BOUNDARY "atoll-5c1fe0a2d9b74e68"

struct bulk_download {
	struct stream stream;
	struct buf names, paths; /* as requested, and absolute; each ends in NUL */
	struct buf user;
	size_t name_at, path_at; /* of the current file */
	uint64_t left; /* bytes that the part has announced but not sent; UINT64_MAX = no size was
	                  announced */
	bool in_part;
};

static struct bulk_download *download_of(struct stream *s)
{
	return CONTAINER_OF(s, struct bulk_download, stream);
}

static void download_done(struct stream *s)
{
	struct bulk_download *d = download_of(s);

	buf_done(&d->names);
	buf_done(&d->paths);
	buf_done(&d->user);
}

static void relay_write_text(struct relay *relay, const char *text)
{
	relay_write(relay, span_of(text));
}

/* Writes the name in quotes, as in RFC 2183. Readers decode that as Latin-1, so a name with other
 * characters is added in the form of RFC 5987. */
static void add_file_name(struct buf *out, const char *name)
{
	bool is_ascii = true;

	buf_add_text(out, "filename=\"");
	for (const char *c = name; *c; c++) {
		if (*c == '"' || *c == '\\')
			buf_add_byte(out, '\\');
		buf_add_byte(out, *c);
		is_ascii &= (unsigned char)*c < 0x80;
	}
	buf_add_byte(out, '"');
	if (is_ascii)
		return;
	buf_add_text(out, "; filename*=UTF-8''");
	for (const char *c = name; *c; c++)
		buf_addf(out, "%%%02X", (unsigned char)*c);
}

static void begin_part(struct bulk_download *d, struct relay *relay, const char *field,
                       const char *headers)
{
	AUTO(buf_done) struct buf head = BUF(8 * PATH_SIZE_MAX);

	buf_addf(&head, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"; ", field);
	add_file_name(&head, d->names.data + d->name_at);
	buf_addf(&head, "\r\n%s\r\n", headers);
	relay_write(relay, buf_span(&head));
	d->in_part = true;
}

static void on_file(struct bulk_download *d, struct relay *relay, const struct agent_file *file)
{
	AUTO(buf_done) struct buf headers = BUF(256);

	/* Files of /proc have the size 0, but they have content. */
	d->left = file->size > 0 ? file->size : UINT64_MAX;
	if (file->size > 0)
		buf_addf(&headers, "Content-Length: %" PRIu64 "\r\n", file->size);
	buf_add_text(&headers, "Content-Type: application/octet-stream\r\n");
	begin_part(d, relay, "file", buf_text(&headers));
}

static void on_data(struct bulk_download *d, struct relay *relay, struct span bytes)
{
	/* A file that grows during the download has more bytes than announced. */
	if (bytes.size > d->left)
		bytes.size = (size_t)d->left;
	if (d->left != UINT64_MAX)
		d->left -= bytes.size;
	if (bytes.size > 0)
		relay_write(relay, bytes);
}

static const struct {
	enum error_code code;
	int status;
	const char *name;
} download_failures[] = {
        {ERROR_NOT_FOUND, 404, "FILE_NOT_FOUND"},
        {ERROR_FORBIDDEN, 403, "FILE_ACCESS_DENIED"},
        {ERROR_INVALID, 400, "INVALID_FILE_PATH"},
};

static void on_failed(struct bulk_download *d, struct relay *relay, struct span payload)
{
	AUTO(buf_done) struct buf text = BUF(4096);
	struct error err = {0};
	int status = 500;
	const char *name = "FILE_READ_FAILED";

	(void)compute_failed(payload, &err);
	for (size_t i = 0; i < COUNT_OF(download_failures); i++) {
		if (download_failures[i].code != err.code)
			continue;
		status = download_failures[i].status;
		name = download_failures[i].name;
	}
	json_begin_object(&text, NULL);
	json_add_whole(&text, "statusCode", status);
	json_add_text(&text, "message", err.text);
	json_add_text(&text, "code", name);
	json_add_text(&text, "source", "DAYTONA_DAEMON");
	json_end_object(&text);
	begin_part(d, relay, "error", "Content-Type: application/json; charset=utf-8\r\n");
	relay_write(relay, buf_span(&text));
}

static int request_next_file(struct bulk_download *d, struct relay *relay, struct error *err)
{
	const struct agent_path message = {.path = d->paths.data + d->path_at,
	                                   .user = buf_text(&d->user)};

	return stream_send(relay, AGENT_READ, agent_path_shape, &message, err);
}

/* The part is complete: requests the next file, or ends the body. */
static int finish_part(struct bulk_download *d, struct relay *relay, struct error *err)
{
	relay_write_text(relay, "\r\n");
	d->in_part = false;
	d->name_at += strlen(d->names.data + d->name_at) + 1;
	d->path_at += strlen(d->paths.data + d->path_at) + 1;
	if (d->path_at < d->paths.size)
		return request_next_file(d, relay, err);
	d->stream.ended = true;
	relay_write_text(relay, "--" BOUNDARY "--\r\n");
	relay_finish(relay);
	return 0;
}

static void download_on_start(UNUSED struct stream *s, struct relay *relay)
{
	relay_begin(relay, 200, "multipart/form-data; boundary=" BOUNDARY, -1);
}

static int download_on_message(struct stream *s, struct relay *relay, uint16_t type,
                               struct span payload, struct error *err)
{
	struct bulk_download *d = download_of(s);
	struct agent_file file;

	switch (type) {
	case AGENT_FILE:
		if (d->in_part)
			return stream_unexpected(type, err);
		if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
			return -1;
		on_file(d, relay, &file);
		return 0;
	case AGENT_DATA:
		if (!d->in_part)
			return stream_unexpected(type, err);
		on_data(d, relay, payload);
		return 0;
	case AGENT_FAILED:
		if (d->in_part)
			return compute_failed(payload, err);
		on_failed(d, relay, payload);
		return finish_part(d, relay, err);
	case AGENT_DONE:
		if (!d->in_part || (d->left > 0 && d->left != UINT64_MAX))
			return FAIL(err, ERROR_CONFLICT,
			            "the file became shorter while it was read");
		return finish_part(d, relay, err);
	default:
		return stream_unexpected(type, err);
	}
}

static const struct stream_ops download_ops = {
        .size = sizeof(struct bulk_download),
        .on_start = download_on_start,
        .on_message = download_on_message,
        .done = download_done,
        .takes_failures = true,
};

struct bulk_download_body {
	const char **paths;
};
static const struct json_member download_request_members[] = {
        JSON_TEXT_LIST_MEMBER(bulk_download_body, paths, .flags = JSON_REQUIRED, .min = 1,
                              .max = FILES_MAX),
};
static JSON_OPEN_SHAPE(download_request, "DaytonaDownload", bulk_download_body,
                       "The files to read");

static int check_name(const char *name, struct error *err)
{
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return FAIL(err, ERROR_INVALID,
			            "paths: control characters are not allowed");
	return name[0] ? 0 : FAIL(err, ERROR_INVALID, "paths: a path is empty");
}

static int add_paths(struct request *rq, const struct api_target *t,
                     const struct bulk_download_body *b, struct bulk_download *d, struct error *err)
{
	for (size_t i = 0; b->paths[i]; i++) {
		const char *path;

		if (check_name(b->paths[i], err) < 0 ||
		    files_resolve(rq, t, b->paths[i], &path, err) < 0)
			return -1;
		buf_add(&d->names, b->paths[i], strlen(b->paths[i]) + 1);
		buf_add(&d->paths, path, strlen(path) + 1);
		activity_add_word(d->stream.note, path);
	}
	return d->names.overflowed || d->paths.overflowed
	               ? FAIL(err, ERROR_TOO_LARGE, "the paths are too long in total")
	               : 0;
}

static int download_files(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct stream_options options = {.fd = -1, .request = AGENT_READ};
	struct files_call call = {.type = AGENT_READ};
	struct activity_note *note;
	struct bulk_download *d;

	if (daytona_target_open(rq, &t, err) < 0)
		return -1;
	note = files_begin_note(rq, &t, &call);
	d = download_of(stream_new(&download_ops, t.hold));
	d->stream.note = note;
	d->names = d->paths = BUF(TEXTS_MAX);
	d->user = BUF(256);
	buf_add_text(&d->user, t.user);
	call.path.user = buf_text(&d->user);
	if (add_paths(rq, &t, body, d, err) < 0) {
		stream_free(&d->stream);
		return -1;
	}
	call.path.path = d->paths.data;
	if (files_open(rq, &d->stream.hold, &call, &options.fd, err) < 0) {
		stream_free(&d->stream);
		return -1;
	}
	stream_start(&d->stream, reply, &options);
	return 0;
}

const struct route daytona_bulk_routes[] = {
        {HTTP_POST, BASE "/bulk-upload", SCOPE_SANDBOX_WRITE, ROUTE_STREAM_BODY | ROUTE_HIDDEN,
         .handle = upload_files, .tag = "daytona", .summary = "Write files"},
        {HTTP_POST, BASE "/bulk-download", SCOPE_SANDBOX_READ, ROUTE_HIDDEN,
         .body = &download_request, .handle = download_files, .tag = "daytona",
         .summary = "Read files"},
        {.path = NULL},
};
