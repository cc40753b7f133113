/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "calls/stream.h"
#include "compression/compress.h"
#include "edge/activity.h"
#include "edge/target.h"
#include "http/server/http.h"
#include "http/server/range.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "wire/agent.h"

int files_resolve(struct request *rq, const struct api_target *t, const char *path,
                  const char **ret, struct error *err)
{
	return path_resolve(rq->arena, path_or_root(t->workdir), span_of(path), ret, err);
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
	        [AGENT_FILE_OTHER] = "other",
	        [AGENT_FILE_REGULAR] = "file",
	        [AGENT_FILE_FOLDER] = "directory",
	        [AGENT_FILE_SYMLINK] = "symlink",
	};

	return names[type < COUNT_OF(names) ? type : AGENT_FILE_OTHER];
}

void files_write_entry(struct buf *out, const struct agent_file *file, const char *path)
{
	char mode[8];

	(void)snprintf(mode, sizeof(mode), "%04o", file->mode & 07777);
	json_begin_object(out, NULL);
	json_add_text(out, "path", path);
	json_add_text(out, "name", path_last(path));
	json_add_text(out, "type", type_name(file->type));
	json_add_whole(out, "size", (int64_t)file->size);
	json_add_text(out, "mode", mode);
	json_add_whole(out, "uid", file->uid);
	json_add_whole(out, "gid", file->gid);
	json_add_epoch_time(out, "modified_at", file->modified_unix_ms);
	json_add_text(out, "link", file->link[0] ? file->link : NULL);
	json_end_object(out);
}

int files_open(struct request *rq, const struct fleet_hold *hold, const struct files_call *call,
               int *ret_fd, struct error *err)
{
	if (provider_require(hold->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_open(hold->provider, hold->id,
	                    &(struct compute_request){call->type, agent_path_shape, &call->path},
	                    rq->deadline, ret_fd, err);
}

int files_connect(struct request *rq, const struct fleet_hold *hold, int *ret_fd, struct error *err)
{
	if (provider_require(hold->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_connect(hold->provider, hold->id, rq->deadline, ret_fd, err);
}

struct activity_note *files_begin_note(const struct request *rq, const struct api_target *t,
                                       const struct files_call *call)
{
	static const struct {
		uint16_t type;
		const char *operation;
	} recorded[] = {
	        {AGENT_READ, "read"},       {AGENT_WRITE, "write"},   {AGENT_MKDIR, "mkdir"},
	        {AGENT_REMOVE, "remove"},   {AGENT_RENAME, "rename"}, {AGENT_COPY, "copy"},
	        {AGENT_TAR_OUT, "tar_out"}, {AGENT_TAR_IN, "tar_in"},
	};
	struct api_activity_call what = {.kind = ACTIVITY_FILE};
	struct activity_note *n;

	for (size_t i = 0; i < COUNT_OF(recorded); i++)
		if (recorded[i].type == call->type)
			what.operation = recorded[i].operation;
	if (!what.operation)
		return NULL;
	n = api_activity_begin(rq, t, &what);
	if (call->path.path && call->path.path[0])
		activity_add_word(n, call->path.path);
	if (call->path.target && call->path.target[0])
		activity_add_word(n, call->path.target);
	for (const char **name = call->names; name && *name; name++)
		activity_add_word(n, *name);
	return n;
}

int files_end_note(struct activity_note *n, int result, const struct error *err)
{
	if (result == 0)
		activity_succeed(n);
	else
		activity_fail(n, err->text);
	activity_end(n);
	return result;
}

struct file_download {
	struct stream stream;
	uint64_t offset, size_max; /* of the request; 0 = all */
	uint64_t left;             /* rest of the announced length; UINT64_MAX = no length */
	bool is_tar, is_zip, is_range, begun, folder_is_invalid;
	struct compressor *compressor; /* NULL: as it is */
	struct buf packed;
	bool has_last; /* the last byte is kept until the agent is done */
	char last;
};

static void download_done(struct stream *s)
{
	struct file_download *d = CONTAINER_OF(s, struct file_download, stream);

	compressor_free(d->compressor);
	buf_done(&d->packed);
}

static void begin_download(struct file_download *d, struct relay *relay, int64_t length)
{
	d->begun = true;
	d->left = length < 0 ? UINT64_MAX : (uint64_t)length;
	relay_begin_header(relay, "X-Content-Type-Options", "nosniff");
	relay_begin_header(relay, "Content-Disposition", "attachment");
	if (d->compressor)
		relay_begin_header(relay, "Content-Encoding", "gzip");
	else if (!d->is_tar)
		relay_begin_header(relay, "Accept-Ranges", "bytes");
	if (d->compressor)
		length = -1;
	relay_begin(relay, d->is_range ? 206 : 200,
	            d->is_zip   ? "application/zip"
	            : d->is_tar ? "application/x-tar"
	                        : "application/octet-stream",
	            length);
}

static int on_file(struct file_download *d, struct relay *relay, const struct agent_file *file,
                   struct error *err)
{
	uint64_t size = file->size > d->offset ? file->size - d->offset : 0;
	char range[96];

	if (d->size_max && size > d->size_max)
		size = d->size_max;
	if (d->is_range && size == 0)
		return range_fail(relay_request(relay), "file", file->size, err);
	if (d->is_range) {
		(void)snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
		               d->offset, d->offset + size - 1, file->size);
		relay_begin_header(relay, "Content-Range", range);
	}
	/* Files of the kernel have size 0 but may have bytes: wait for them. */
	if (file->size > 0)
		begin_download(d, relay, (int64_t)size);
	return 0;
}

static void write_packed(struct file_download *d, struct relay *relay, struct span bytes, bool last)
{
	compressor_write(d->compressor, bytes, last, &d->packed);
	relay_write(relay, buf_span(&d->packed));
	buf_reset(&d->packed);
}

static void on_data(struct file_download *d, struct relay *relay, struct span bytes)
{
	if (!d->begun)
		begin_download(d, relay, -1);
	/* A growing file may have more bytes than announced. */
	if (bytes.size > d->left)
		bytes.size = (size_t)d->left;
	if (d->left != UINT64_MAX)
		d->left -= bytes.size;
	if (d->compressor) {
		write_packed(d, relay, bytes, false);
		return;
	}
	/* A client that has all bytes may use its connection again, or pause the sandbox. The agent
	 * must have nothing more to send by then. */
	if (bytes.size > 0 && d->left == 0) {
		d->has_last = true;
		d->last = bytes.data[--bytes.size];
	}
	if (bytes.size > 0)
		relay_write(relay, bytes);
}

static int download_on_done(struct file_download *d, struct relay *relay, struct error *err)
{
	d->stream.ended = true;
	if (!d->begun)
		begin_download(d, relay, d->is_tar ? -1 : 0);
	if (d->left > 0 && d->left != UINT64_MAX)
		return FAIL(err, ERROR_CONFLICT, "the file became shorter while it was read");
	if (d->compressor)
		write_packed(d, relay, (struct span){NULL, 0}, true);
	if (d->has_last)
		relay_write(relay, (struct span){&d->last, 1});
	relay_finish(relay);
	return 0;
}

static int download_on_message(struct stream *s, struct relay *relay, uint16_t type,
                               struct span payload, struct error *err)
{
	struct file_download *d = CONTAINER_OF(s, struct file_download, stream);
	struct agent_file file;

	switch (type) {
	case AGENT_FAILED:
		s->ended = true;
		(void)compute_failed(payload, err);
		if (d->folder_is_invalid && err->code == ERROR_CONFLICT)
			err->code = ERROR_INVALID;
		return -1;
	case AGENT_READY:
		if (!d->begun && !d->is_zip)
			begin_download(d, relay, -1);
		return 0;
	case AGENT_FILE:
		if (d->begun)
			return stream_unexpected(type, err);
		if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
			return -1;
		return on_file(d, relay, &file, err);
	case AGENT_DATA:
		if (d->is_zip && !d->begun && !span_starts_with(payload, "PK")) {
			(void)FAIL(err, ERROR_UNSUPPORTED,
			           "the agent of this sandbox is too old to make a zip");
			return FAIL_HINT(err, "use tar, or stop the sandbox and start it again");
		}
		on_data(d, relay, payload);
		return 0;
	case AGENT_DONE:
		return download_on_done(d, relay, err);
	default:
		return stream_unexpected(type, err);
	}
}

static const struct stream_ops download_ops = {
        .size = sizeof(struct file_download),
        .on_message = download_on_message,
        .done = download_done,
        .takes_failures = true,
};

static int add_names(struct buf *out, const char *const *names, struct error *err)
{
	AUTO(buf_done) struct buf all = BUF(AGENT_NAMES_BYTES_MAX);

	for (; *names; names++)
		buf_add(&all, *names, strlen(*names) + 1);
	if (all.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the names are longer than %d bytes together",
		            AGENT_NAMES_BYTES_MAX);
	files_add_content(out, buf_span(&all));
	return 0;
}

int files_download(struct request *rq, struct api_target *t, const struct files_call *call,
                   struct reply *reply, struct error *err)
{
	struct activity_note *note = files_begin_note(rq, t, call);
	struct stream *s = stream_new(&download_ops, t->hold);
	struct file_download *d = CONTAINER_OF(s, struct file_download, stream);
	struct files_call copy = *call;
	struct stream_options options = {.fd = -1, .request = call->type};
	AUTO(buf_done) struct buf names = BUF((size_t)2 * AGENT_NAMES_BYTES_MAX);

	s->note = note;
	d->is_tar = call->type == AGENT_TAR_OUT;
	d->is_zip = call->as_zip;
	if (call->as_zip)
		copy.path.flags |= AGENT_PATH_ZIP;
	d->folder_is_invalid = call->folder_is_invalid;
	if (call->as_gzip && !d->is_tar) {
		d->compressor = compressor_new();
		d->packed = BUF((size_t)1024 * 1024);
	}
	d->is_range =
	        !d->is_tar && !d->compressor &&
	        range_parse(request_header(rq, "Range"), &copy.path.offset, &copy.path.size_max);
	d->offset = copy.path.offset;
	d->size_max = copy.path.size_max;
	if ((call->names && add_names(&names, call->names, err) < 0) ||
	    files_open(rq, &s->hold, &copy, &options.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	options.upstream_first = buf_span(&names);
	stream_start(s, reply, &options);
	return 0;
}
