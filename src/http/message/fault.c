/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/fault.h"

#include <assert.h>

#include "json/write.h"

static const struct http_fault_kind kinds[FAULT_COUNT] = {
        [FAULT_NONE] = {200, "none", "no fault", NULL},
        [FAULT_LINE_END] = {400, "invalid_request", "a line of the head does not end with CR LF",
                            NULL},
        [FAULT_REQUEST_LINE] = {400, "invalid_request", "the request line is malformed",
                                "it is METHOD TARGET HTTP/1.1: a known method in capitals, and one "
                                "space between them"},
        [FAULT_STATUS_LINE] = {502, "unavailable", "the status line is malformed", NULL},
        [FAULT_VERSION] = {505, "unsupported", "only HTTP/1.1 and HTTP/1.0 are spoken here", NULL},
        [FAULT_HEADER] = {400, "invalid_request", "a header is malformed",
                          "it is NAME: VALUE on one line, with no blank before the colon, no "
                          "folded line and no control byte"},
        [FAULT_HEADER_DOUBLED] = {400, "invalid_request",
                                  "a header that may occur once is repeated", NULL},
        [FAULT_HOST] = {400, "invalid_request", "the Host header is missing or invalid", NULL},
        [FAULT_HOST_UNKNOWN] = {421, "misdirected",
                                "the Host header names no host that this server is known by",
                                "if it is to be, add the name to --hosts (ATOLL_HOSTS)"},
        [FAULT_NODE] = {421, "misdirected",
                        "the request was passed on to a server that is not the one it is for",
                        "nothing was done; the --peer-url of the server that has it leads to "
                        "another one"},
        [FAULT_LENGTH] = {400, "invalid_request", "the length of the body is invalid or ambiguous",
                          "send one Content-Length of digits, or 'Transfer-Encoding: chunked', "
                          "not both"},
        [FAULT_CODING] = {400, "invalid_request", "Transfer-Encoding is not exactly 'chunked'",
                          "other codings are not read here, and none in HTTP/1.0"},
        [FAULT_TARGET] = {400, "invalid_request", "the request target is invalid",
                          "it is an absolute path, such as /healthz, percent-encoded"},
        [FAULT_PATH] = {400, "invalid_request",
                        "the path has a bad escape, a control byte or a dot part",
                        "percent-encode bytes, and resolve '.' and '..' before sending"},
        [FAULT_CHUNK] = {400, "invalid_request", "the chunked body is malformed",
                         "a chunk is SIZE in hexadecimal digits, CR LF, so many bytes, CR LF; the "
                         "last one is of size 0"},
        [FAULT_HEAD_SIZE] = {431, "too_large", "the head is too large", NULL},
        [FAULT_HEADER_COUNT] = {431, "too_large", "there are too many headers", NULL},
        [FAULT_TARGET_SIZE] = {414, "too_large", "the request target is too long", NULL},
        [FAULT_EXPECT] = {417, "unsupported", "the expectation is not '100-continue'", NULL},
        [FAULT_HEAD_SLOW] = {408, "timeout", "the head did not arrive in time", NULL},
        [FAULT_BODY_SLOW] = {408, "timeout", "the body did not arrive in time", NULL},
        [FAULT_BODY_SIZE] = {413, "too_large", "the body is too large", NULL},
        [FAULT_MEDIA] = {415, "unsupported_media_type", "the body is not JSON",
                         "send Content-Type: application/json"},
        [FAULT_ROUTE] = {404, "not_found", "there is nothing at this path", NULL},
        [FAULT_METHOD] = {405, "method_not_allowed", "this path does not take that method",
                          "the Allow header lists what it takes"},
        [FAULT_CONNECTIONS] = {503, "unavailable", "too many connections", NULL},
        [FAULT_DRAINING] = {503, "draining",
                            "the server is stopping: it ends the calls that run and takes no more",
                            "try again when it has started again, or at another server"},
};

const struct http_fault_kind *fault_kind_get(enum http_fault fault)
{
	assert(fault < FAULT_COUNT);
	return &kinds[fault];
}

static void add_quota(struct buf *out, const struct error_quota *quota)
{
	json_begin_object(out, "quota");
	json_add_text(out, "name", quota->name);
	json_add_text(out, "scope", quota->scope);
	json_add_number(out, "limit", quota->limit);
	json_add_number(out, "used", quota->used);
	json_add_time(out, "reset_at", quota->reset_at);
	json_end_object(out);
}

static void add_body(struct buf *out, const struct error_body *body)
{
	json_begin_object(out, "error");
	json_add_span(out, "code", span_of(body->code));
	json_add_span(out, "message", span_of(body->message));
	if (body->resource && body->resource[0])
		json_add_text(out, "resource", body->resource);
	if (body->hint && body->hint[0])
		json_add_text(out, "hint", body->hint);
	if (body->quota && body->quota->name[0])
		add_quota(out, body->quota);
	if (body->request_id && body->request_id[0])
		json_add_text(out, "request_id", body->request_id);
	json_end_object(out);
}

void error_body_write(struct buf *out, const struct error_body *body)
{
	json_begin_object(out, NULL);
	add_body(out, body);
	json_end_object(out);
}
static struct error_body body_of(const struct error *err, const char *request_id)
{
	return (struct error_body){.code = error_kind_get(err->code)->name,
	                           .message = err->text,
	                           .resource = err->resource,
	                           .hint = err->hint,
	                           .quota = &err->quota,
	                           .request_id = request_id};
}

void http_write_error(struct buf *out, const struct error *err, const char *request_id)
{
	const struct error_body body = body_of(err, request_id);

	error_body_write(out, &body);
}

void http_add_error(struct buf *out, const struct error *err)
{
	const struct error_body body = body_of(err, NULL);

	add_body(out, &body);
}
