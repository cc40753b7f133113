/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/connect.h"

#include "http/server/failure.h"
#include "json/write.h"

#define TIMEOUT_DIGITS_MAX INT64_C(9999999999)

int connect_take_envelope(struct span *in, unsigned *ret_flags, struct span *ret_message,
                          struct error *err)
{
	const unsigned char *head = (const unsigned char *)in->data;
	size_t size;

	if (in->size < CONNECT_HEAD_SIZE)
		return 0;
	size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (head[0] & CONNECT_COMPRESSED)
		return FAIL(err, ERROR_UNSUPPORTED, "messages must not be compressed");
	if (head[0] & ~(unsigned)CONNECT_END)
		return FAIL(err, ERROR_INVALID, "an envelope has the unknown flags %u", head[0]);
	if (size > CONNECT_MESSAGE_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a message is larger than %zu bytes",
		            CONNECT_MESSAGE_MAX);
	if (in->size - CONNECT_HEAD_SIZE < size)
		return 0;
	*ret_flags = head[0];
	*ret_message = (struct span){in->data + CONNECT_HEAD_SIZE, size};
	*in = (struct span){in->data + CONNECT_HEAD_SIZE + size,
	                    in->size - CONNECT_HEAD_SIZE - size};
	return 1;
}

int connect_read_single(struct span body, struct span *ret, struct error *err)
{
	struct span message;
	unsigned flags;
	int result = connect_take_envelope(&body, &flags, &message, err);

	if (result < 0)
		return -1;
	if (result == 0 || flags || body.size > 0)
		return FAIL(err, ERROR_INVALID, "the request is not one whole message");
	*ret = message;
	return 0;
}

size_t connect_begin_envelope(struct buf *out)
{
	size_t begun = out->size;

	buf_add(out, "\0\0\0\0\0", CONNECT_HEAD_SIZE);
	return begun;
}

void connect_end_envelope(struct buf *out, size_t begun, unsigned flags)
{
	size_t size = out->size - begun - CONNECT_HEAD_SIZE;
	char *head;

	/* The user of the buffer checks for overflow. */
	if (out->overflowed)
		return;
	head = out->data + begun;
	head[0] = (char)flags;
	for (unsigned i = 0; i < 4; i++)
		head[1 + i] = (char)(size >> 8 * (3 - i) & 0xff);
}

void connect_write_error(struct buf *out, const char *name, const char *code, const char *message)
{
	json_begin_object(out, name);
	json_add_text(out, "code", code);
	json_add_text(out, "message", message);
	json_end_object(out);
}

void connect_write_end(struct buf *out, const struct error *err)
{
	size_t begun = connect_begin_envelope(out);

	json_begin_object(out, NULL);
	if (err)
		connect_write_error(out, "error", connect_code(err->code), err->text);
	json_end_object(out);
	connect_end_envelope(out, begun, CONNECT_END);
}

const char *connect_code(enum error_code code)
{
	static const char *const names[ERROR_CODE_COUNT] = {
	        [ERROR_NONE] = "unknown",
	        [ERROR_INVALID] = "invalid_argument",
	        [ERROR_UNAUTHENTICATED] = "unauthenticated",
	        [ERROR_FORBIDDEN] = "permission_denied",
	        [ERROR_NOT_FOUND] = "not_found",
	        [ERROR_CONFLICT] = "failed_precondition",
	        [ERROR_TOO_LARGE] = "resource_exhausted",
	        [ERROR_LIMIT] = "resource_exhausted",
	        [ERROR_TIMEOUT] = "deadline_exceeded",
	        [ERROR_UNSUPPORTED] = "unimplemented",
	        [ERROR_UNAVAILABLE] = "unavailable",
	        [ERROR_SYSTEM] = "internal",
	        [ERROR_NO_SPACE] = "resource_exhausted",
	        [ERROR_BUDGET] = "resource_exhausted",
	        [ERROR_RANGE] = "out_of_range",
	};

	return names[(unsigned)code < ERROR_CODE_COUNT ? code : ERROR_NONE];
}

void connect_write_failure(struct http_failure *failure, struct buf *out)
{
	static const int statuses[ERROR_CODE_COUNT] = {
	        [ERROR_CONFLICT] = 400, [ERROR_TOO_LARGE] = 429, [ERROR_LIMIT] = 429,
	        [ERROR_NO_SPACE] = 429, [ERROR_BUDGET] = 429,    [ERROR_UNSUPPORTED] = 501,
	        [ERROR_RANGE] = 400,
	};
	enum error_code code = failure->err ? failure->err->code : error_code_parse(failure->code);

	if (failure->err && statuses[code])
		failure->status = statuses[code];
	connect_write_error(out, NULL, connect_code(code), failure->message);
}

int connect_timeout_parse(const char *text, int64_t *ret_ms, struct error *err)
{
	int64_t ms = 0;

	if (text && span_parse_whole(span_of(text), 0, TIMEOUT_DIGITS_MAX, &ms, err) < 0)
		return FAIL_CONTEXT(err, "Connect-Timeout-Ms");
	*ret_ms = ms;
	return 0;
}
