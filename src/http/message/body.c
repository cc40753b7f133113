/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/body.h"

void body_start(struct body_reader *body, bool chunked, int64_t content_length)
{
	body->chunked = chunked;
	body->remaining = chunked || content_length < 0 ? 0 : content_length;
	body->trailer_bytes = 0;
	body->trailers = NULL;
	body->line_size = 0;
	body->state = chunked ? BODY_SIZE_LINE : body->remaining ? BODY_DATA : BODY_COMPLETE;
}

/* Collects up to CR LF. BODY_PIECE: body->line holds a whole line, without its end. */
static enum body_result take_line(struct body_reader *body, struct span *data)
{
	while (data->size) {
		unsigned char c = (unsigned char)data->data[0];
		bool after_cr = body->line_size && body->line[body->line_size - 1] == '\r';

		if (after_cr != (c == '\n') || body->line_size == BODY_LINE_MAX)
			return BODY_BAD;
		if ((c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
			return BODY_BAD;
		span_skip(data, 1);
		if (c == '\n') {
			body->line_size--;
			return BODY_PIECE;
		}
		body->line[body->line_size++] = (char)c;
	}
	return BODY_MORE;
}

/* 1 to 15 hexadecimal digits, then nothing or ";extension". */
static bool parse_size(struct body_reader *body)
{
	unsigned i = 0;

	body->remaining = 0;
	for (; i < body->line_size && hex_digit_value(body->line[i]) >= 0; i++) {
		if (i == 15)
			return false;
		body->remaining = body->remaining * 16 + hex_digit_value(body->line[i]);
	}
	return i > 0 && (i == body->line_size || body->line[i] == ';');
}

static enum body_result take_size_line(struct body_reader *body, struct span *data)
{
	enum body_result result = take_line(body, data);

	if (result != BODY_PIECE)
		return result;
	if (!parse_size(body))
		return BODY_BAD;
	body->line_size = 0;
	body->state = body->remaining ? BODY_DATA : BODY_TRAILERS;
	return BODY_PIECE;
}

static enum body_result take_data_end(struct body_reader *body, struct span *data)
{
	enum body_result result = take_line(body, data);

	if (body->line_size > 1 || (result == BODY_PIECE && body->line_size))
		return BODY_BAD;
	if (result == BODY_MORE && body->line_size && body->line[0] != '\r')
		return BODY_BAD;
	if (result == BODY_PIECE)
		body->state = BODY_SIZE_LINE;
	return result;
}

static void keep_trailer(struct body_reader *body)
{
	if (!body->trailers)
		return;
	buf_add(body->trailers, body->line, body->line_size);
	buf_add_span(body->trailers, SPAN("\r\n"));
}

/* Checks trailers only as lines; their reader checks the names. */
static enum body_result take_trailers(struct body_reader *body, struct span *data)
{
	enum body_result result = take_line(body, data);

	if (result != BODY_PIECE)
		return result;
	body->trailer_bytes += body->line_size;
	if (body->trailer_bytes > BODY_TRAILERS_MAX)
		return BODY_BAD;
	if (body->line_size == 0)
		body->state = BODY_COMPLETE;
	else if (!memchr(body->line, ':', body->line_size) || body->line[0] == ' ' ||
	         body->line[0] == '\t' || body->line[0] == ':')
		return BODY_BAD;
	else
		keep_trailer(body);
	body->line_size = 0;
	return BODY_PIECE;
}

static void take_data(struct body_reader *body, struct span *data, struct span *ret_piece)
{
	size_t size = (int64_t)data->size < body->remaining ? data->size : (size_t)body->remaining;

	*ret_piece = span_take(data, size);
	body->remaining -= (int64_t)size;
	if (body->remaining == 0)
		body->state = body->chunked ? BODY_DATA_END : BODY_COMPLETE;
}

enum body_result body_next(struct body_reader *body, struct span *data, struct span *ret_piece)
{
	enum body_result result = BODY_PIECE;

	while (result == BODY_PIECE) {
		if (body->state == BODY_COMPLETE)
			return BODY_END;
		if (!data->size)
			return BODY_MORE;
		if (body->state == BODY_DATA) {
			take_data(body, data, ret_piece);
			return BODY_PIECE;
		}
		result = body->state == BODY_SIZE_LINE  ? take_size_line(body, data)
		         : body->state == BODY_DATA_END ? take_data_end(body, data)
		                                        : take_trailers(body, data);
	}
	return result;
}

void body_unread(struct body_reader *body, struct span *data, size_t size)
{
	if (size == 0)
		return;
	*data = (struct span){data->data - size, data->size + size};
	body->remaining += (int64_t)size;
	body->state = BODY_DATA;
}
