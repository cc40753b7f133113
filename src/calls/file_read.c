/* SPDX-License-Identifier: Apache-2.0 */
/* A file's bytes or lines inside JSON, in pages. */
#include <assert.h>
#include <string.h>

#include "calls/files.h"
#include "calls/stream.h"
#include "edge/target.h"
#include "edge/text.h"
#include "json/write.h"
#include "wire/agent.h"

struct file_read {
	struct stream stream;
	struct files_read_options options;
	struct buf path, bytes, out;
	uint64_t offset, size; /* of the file */
	int64_t line;          /* number of the current line, from 1 */
	bool full;             /* the page is full; lines are still counted */
	bool line_open;        /* the last byte was not a line feed */
};

static struct file_read *read_of(struct stream *s)
{
	return CONTAINER_OF(s, struct file_read, stream);
}

static void read_done(struct stream *s)
{
	buf_done(&read_of(s)->path);
	buf_done(&read_of(s)->bytes);
	buf_done(&read_of(s)->out);
}

/* Ends the page with its last complete line, or within its only line. */
static void end_page(struct file_read *r, struct span piece)
{
	size_t size = r->bytes.size;

	r->full = true;
	while (size > 0 && r->bytes.data[size - 1] != '\n')
		size--;
	if (size > 0)
		r->bytes.size = size;
	else
		buf_add(&r->bytes, piece.data, r->options.bytes_max - r->bytes.size);
}

/* Adds the piece if its line is wanted. `piece` is not empty and has no line feed except as its
 * last byte. */
static void add_piece(struct file_read *r, struct span piece)
{
	const struct files_read_options *o = &r->options;
	bool wanted = r->line >= o->first_line && r->line - o->first_line < o->line_count;

	assert(piece.size > 0);
	if (wanted && !r->full) {
		if (r->bytes.size + piece.size > o->bytes_max)
			end_page(r, piece);
		else
			buf_add_span(&r->bytes, piece);
	}
	r->line_open = piece.data[piece.size - 1] != '\n';
	if (!r->line_open)
		r->line++;
}

static void add_lines(struct file_read *r, struct span bytes)
{
	while (bytes.size > 0) {
		const char *end = memchr(bytes.data, '\n', bytes.size);
		size_t size = end ? (size_t)(end - bytes.data) + 1 : bytes.size;

		add_piece(r, span_take(&bytes, size));
	}
}

static void add_bytes(struct file_read *r, struct span bytes)
{
	size_t room = r->options.bytes_max - r->bytes.size;

	r->full = r->full || bytes.size > room;
	buf_add(&r->bytes, bytes.data, bytes.size < room ? bytes.size : room);
}

/* -1: nothing follows. */
static void write_next(struct file_read *r, int64_t offset)
{
	if (offset < 0)
		json_add_null(&r->out, "next_offset");
	else
		json_add_whole(&r->out, "next_offset", offset);
}

static void write_lines(struct file_read *r)
{
	int64_t total = r->line - 1 + r->line_open;
	int64_t kept = 0;
	bool has_next;

	for (size_t i = 0; i < r->bytes.size; i++)
		kept += r->bytes.data[i] == '\n';
	if (r->bytes.size > 0 && r->bytes.data[r->bytes.size - 1] != '\n')
		kept++;
	json_add_whole(&r->out, "offset", r->options.first_line);
	json_add_whole(&r->out, "lines", kept);
	json_add_whole(&r->out, "total_lines", total);
	has_next = r->options.first_line + kept <= total && kept > 0;
	write_next(r, has_next ? r->options.first_line + kept : -1);
	json_add_bool(&r->out, "truncated", has_next || r->full);
}

static void write_bytes(struct file_read *r)
{
	uint64_t next = r->offset + r->bytes.size;
	bool has_next = r->full || next < r->size;

	json_add_whole(&r->out, "offset", (int64_t)r->offset);
	json_add_whole(&r->out, "length", (int64_t)r->bytes.size);
	write_next(r, has_next ? (int64_t)next : -1);
	json_add_bool(&r->out, "truncated", has_next);
}

static void write_content(struct file_read *r)
{
	if (!r->options.as_base64) {
		text_write(&r->out, "content", "encoding", buf_span(&r->bytes));
		return;
	}
	json_add_bytes(&r->out, "content", buf_span(&r->bytes));
	json_add_text(&r->out, "encoding", "base64");
}

static void read_answer(struct file_read *r, struct relay *relay)
{
	r->stream.ended = true;
	json_begin_object(&r->out, NULL);
	json_add_span(&r->out, "path", buf_span(&r->path));
	write_content(r);
	json_add_whole(&r->out, "size", (int64_t)r->size);
	if (r->options.by_lines)
		write_lines(r);
	else
		write_bytes(r);
	json_end_object(&r->out);
	relay_answer(relay, 200, "application/json", buf_span(&r->out));
}

static int read_on_message(struct stream *s, struct relay *relay, uint16_t type,
                           struct span payload, struct error *err)
{
	struct file_read *r = read_of(s);
	struct agent_file file;

	switch (type) {
	case AGENT_FILE:
		if (stream_decode(s, payload, agent_file_shape, &file, sizeof(file), err) < 0)
			return -1;
		r->size = file.size;
		return 0;
	case AGENT_DATA:
		if (payload.size == 0)
			return 0;
		if (r->options.by_lines)
			add_lines(r, payload);
		else
			add_bytes(r, payload);
		return 0;
	case AGENT_DONE:
		read_answer(r, relay);
		return 0;
	default:
		return stream_unexpected(type, err);
	}
}

static const struct stream_ops read_ops = {
        .size = sizeof(struct file_read),
        .on_message = read_on_message,
        .done = read_done,
};

int files_read(struct request *rq, struct api_target *t, const struct files_call *call,
               const struct files_read_options *options, struct reply *reply, struct error *err)
{
	struct activity_note *note = files_begin_note(rq, t, call);
	struct stream *s = stream_new(&read_ops, t->hold);
	struct file_read *r = read_of(s);
	struct stream_options start = {.fd = -1, .request = call->type};
	struct files_call copy = *call;

	s->note = note;
	r->options = *options;
	r->offset = call->path.offset;
	r->line = 1;
	r->path = BUF(64 * 1024);
	r->bytes = BUF(options->bytes_max);
	r->out = BUF(6 * options->bytes_max + 512 * 1024);
	buf_add_text(&r->path, options->path);
	if (!options->by_lines)
		copy.path.size_max = options->bytes_max;
	if (files_open(rq, &s->hold, &copy, &start.fd, err) < 0) {
		stream_free(s);
		return -1;
	}
	stream_start(s, reply, &start);
	return 0;
}
