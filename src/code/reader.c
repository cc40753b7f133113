/* SPDX-License-Identifier: Apache-2.0 */
#include "code/reader.h"

#include <stdlib.h>
#include <string.h>

#include "json/json.h"

#define MARK '\x1e' /* "record separator" */
#define HEAD_SIZE (1 + (CODE_NONCE_SIZE - 1) + 1)
#define COMPLAINT_MAX 512

/* Members of a struct code_result, which is `r` of struct s. */
#define RESULT_ROW(kind_, s, r, member, ...)                                                       \
	{                                                                                          \
		.kind = (kind_), .name = #member, .offset = offsetof(struct s, r member),          \
		.flags = JSON_OMIT_EMPTY, __VA_ARGS__                                              \
	}
#define RESULT_ROWS(s, r)                                                                          \
	RESULT_ROW(JSON_TEXT, s, r, text), RESULT_ROW(JSON_TEXT, s, r, html),                      \
	        RESULT_ROW(JSON_TEXT, s, r, markdown), RESULT_ROW(JSON_TEXT, s, r, svg),           \
	        RESULT_ROW(JSON_TEXT, s, r, png, .about = "base64"),                               \
	        RESULT_ROW(JSON_TEXT, s, r, jpeg, .about = "base64"),                              \
	        RESULT_ROW(JSON_TEXT, s, r, pdf, .about = "base64"),                               \
	        RESULT_ROW(JSON_TEXT, s, r, latex), RESULT_ROW(JSON_RAW, s, r, json),              \
	        RESULT_ROW(JSON_TEXT, s, r, javascript),                                           \
	        RESULT_ROW(JSON_RAW, s, r, data, .about = "a table: lists by column"),             \
	        RESULT_ROW(JSON_RAW, s, r, chart,                                                  \
	                   .about = "what a figure shows: type, title, axes, elements"),           \
	        RESULT_ROW(JSON_RAW, s, r, extra, .about = "of other media types, by their names")

static const struct json_member code_result_shape_members[] = {
        JSON_BOOL_MEMBER(code_result, is_main, .about = "the value of the last expression"),
        RESULT_ROWS(code_result, ),
};
JSON_SHAPE(code_result_shape, "CodeResult", code_result,
           "What a block of code shows, in every form that it has");

static const char *const types[] = {"begin", "stderr", "result", "error", "end", NULL};
enum type { TYPE_BEGIN, TYPE_STDERR, TYPE_RESULT, TYPE_ERROR, TYPE_END };
struct kernel_message {
	int type;
	int64_t count, status;
	bool is_main;
	struct code_result result; /* a text on stderr is its `text`, too */
	const char *name, *value, *traceback;
};
static const struct json_member message_shape_members[] = {
        JSON_CHOICE_MEMBER(kernel_message, type, .flags = JSON_REQUIRED, .choices = types),
        JSON_WHOLE_MEMBER(kernel_message, count, .min = 1),
        JSON_WHOLE_MEMBER(kernel_message, status, .max = 255),
        JSON_BOOL_MEMBER(kernel_message, is_main, .name = "main"),
        JSON_TEXT_MEMBER(kernel_message, name),
        JSON_TEXT_MEMBER(kernel_message, value),
        JSON_TEXT_MEMBER(kernel_message, traceback),
        RESULT_ROWS(kernel_message, result.),
};
static JSON_SHAPE(message_shape, "KernelMessage", kernel_message, "What a kernel tells");

static void send_event(struct code_reader *r, const struct code_event *event)
{
	r->on_event(r->context, event);
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

/* A line of NDJSON holds no line break; inside JSON strings they are escaped. */
static void join_lines(struct span *json)
{
	char *text = (char *)(uintptr_t)json->data;

	for (size_t i = 0; i < json->size; i++)
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = ' ';
}

static void tell_result(struct code_reader *r, struct kernel_message *m)
{
	struct code_result *result = &m->result;

	result->is_main = m->is_main;
	join_lines(&result->json);
	join_lines(&result->data);
	join_lines(&result->chart);
	join_lines(&result->extra);
	send_event(r, &(struct code_event){.kind = CODE_RESULT, .result = result});
}

static void tell_message(struct code_reader *r, struct kernel_message *m)
{
	struct code_event event = {.kind = CODE_BEGIN};

	switch ((enum type)m->type) {
	case TYPE_BEGIN:
		r->has_begun = true;
		event.count = m->count;
		break;
	case TYPE_STDERR:
		event.kind = CODE_STDERR;
		event.text = span_of(text_or_empty(m->result.text));
		break;
	case TYPE_RESULT:
		tell_result(r, m);
		return;
	case TYPE_ERROR:
		event.kind = CODE_ERROR;
		event.name = text_or_empty(m->name);
		event.value = text_or_empty(m->value);
		event.traceback = text_or_empty(m->traceback);
		break;
	case TYPE_END:
		r->streams[0].has_ended = true;
		event.kind = CODE_END;
		event.status = m->status;
		break;
	}
	send_event(r, &event);
}

static void report_left_out(struct code_reader *r, const char *why)
{
	char text[COMPLAINT_MAX];
	AUTO(buf_done) struct buf line = BUF(sizeof(text));

	buf_addf(&line, "atoll: a result is left out: %.400s\n", why);
	if (r->has_begun)
		send_event(r, &(struct code_event){.kind = CODE_STDERR, .text = buf_span(&line)});
}

static void take_message(struct code_reader *r)
{
	struct kernel_message message = {.type = 0};
	struct error err;

	if (r->is_too_long)
		report_left_out(r, "it is longer than 16 MiB");
	else if (json_parse(&r->arena, buf_span(&r->message), &message_shape, &message, &err) < 0)
		report_left_out(r, err.text);
	else if (r->has_begun != (message.type == TYPE_BEGIN))
		tell_message(r, &message);
	arena_reset(&r->arena);
	buf_reset(&r->message);
	r->is_too_long = false;
}

static void tell_text(struct code_reader *r, unsigned stream, struct span text)
{
	if (text.size > 0 && r->has_begun)
		send_event(r, &(struct code_event){.kind = stream == 0 ? CODE_STDOUT : CODE_STDERR,
		                                   .text = text});
}

static void tell_begun(struct code_reader *r, unsigned stream)
{
	struct code_stream *s = &r->streams[stream];
	struct span begun = {s->begun, s->begun_size};

	s->begun_size = 0;
	tell_text(r, stream, begun);
}

/* Appends the bytes that complete a begun character; true when it is complete. */
static bool complete_begun(struct code_stream *s, struct span *text)
{
	while (text->size > 0 && span_begun((struct span){s->begun, s->begun_size})) {
		if (span_continued((struct span){text->data, 1}) == 0)
			break;
		s->begun[s->begun_size++] = *text->data;
		text->data++;
		text->size--;
	}
	return text->size > 0 || !span_begun((struct span){s->begun, s->begun_size});
}

static void add_text(struct code_reader *r, unsigned stream, struct span text)
{
	struct code_stream *s = &r->streams[stream];
	size_t begun;

	if (s->begun_size > 0) {
		if (!complete_begun(s, &text))
			return;
		tell_begun(r, stream);
	}
	begun = span_begun(text);
	text.size -= begun;
	tell_text(r, stream, text);
	if (begun > 0)
		memcpy(s->begun, text.data + text.size, begun);
	s->begun_size = begun;
}

static void take_piece(struct code_reader *r, unsigned stream)
{
	struct code_stream *s = &r->streams[stream];
	struct span payload = {s->piece + HEAD_SIZE, s->size - HEAD_SIZE};
	bool is_last = s->piece[HEAD_SIZE - 1] == '.';

	s->size = 0;
	tell_begun(r, stream);
	if (stream == 1) {
		s->has_ended = true;
		return;
	}
	if (r->message.size + payload.size > CODE_MESSAGE_MAX)
		r->is_too_long = true;
	if (r->is_too_long)
		buf_reset(&r->message);
	else
		buf_add_span(&r->message, payload);
	if (is_last)
		take_message(r);
}

/* Whether the byte can stand at that place of a piece's head. */
static bool byte_fits_head(const struct code_reader *r, size_t at, char byte)
{
	if (at == 0)
		return byte == MARK;
	if (at < HEAD_SIZE - 1)
		return byte == r->nonce[at - 1];
	return byte == '.' || byte == '+';
}

/* Removes the bytes of the current piece from the front of `bytes`. */
static void feed_piece(struct code_reader *r, unsigned stream, struct span *bytes)
{
	struct code_stream *s = &r->streams[stream];
	char byte = bytes->data[0];

	if (s->size >= HEAD_SIZE && byte == '\n') {
		bytes->data++;
		bytes->size--;
		take_piece(r, stream);
		return;
	}
	if (s->size < HEAD_SIZE ? !byte_fits_head(r, s->size, byte)
	                        : s->size == CODE_PIECE_MAX || byte == MARK) {
		/* Not a piece: its bytes are output, and this byte is read again. */
		struct span text = {s->piece, s->size};

		s->size = 0;
		add_text(r, stream, text);
		return;
	}
	s->piece[s->size++] = byte;
	bytes->data++;
	bytes->size--;
}

struct span code_event_text(const struct code_event *event, bool *ret_is_whole)
{
	*ret_is_whole = event->kind == CODE_RESULT || event->kind == CODE_ERROR;
	if (event->kind == CODE_STDOUT || event->kind == CODE_STDERR)
		return event->text;
	if (event->kind == CODE_RESULT && event->result->text)
		return span_of(event->result->text);
	if (event->kind == CODE_ERROR)
		return span_of(event->traceback[0] ? event->traceback : event->value);
	return (struct span){NULL, 0};
}

void code_reader_init(struct code_reader *r, const char *nonce)
{
	*r = (struct code_reader){.message = BUF(CODE_MESSAGE_MAX)};
	memcpy(r->nonce, nonce, CODE_NONCE_SIZE);
}

void code_reader_done(struct code_reader *r)
{
	buf_done(&r->message);
	arena_done(&r->arena);
}

void code_reader_feed(struct code_reader *r, enum agent_stream stream, struct span bytes)
{
	unsigned i = stream == AGENT_STDERR;
	struct code_stream *s = &r->streams[i];

	while (bytes.size > 0 && !s->has_ended) {
		const char *mark = memchr(bytes.data, MARK, bytes.size);
		size_t before = mark ? (size_t)(mark - bytes.data) : bytes.size;

		if (s->size > 0 || before == 0) {
			feed_piece(r, i, &bytes);
			continue;
		}
		add_text(r, i, span_take(&bytes, before));
	}
}

bool code_reader_is_over(const struct code_reader *r)
{
	return r->streams[0].has_ended && r->streams[1].has_ended;
}
