/* SPDX-License-Identifier: Apache-2.0 */
/* One connection for each call, which ends with it: the API is on this machine. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "lambda/parts.h"

#define HEAD_MAX 16384
#define ANSWER_MAX ((size_t)8 << 20) /* the service's own limit is 6 MB */

static int parse_address(const char *api, struct sockaddr_in *ret, struct error *err)
{
	struct span rest = span_of(api), host;
	int64_t port = 0;
	char text[INET_ADDRSTRLEN];

	*ret = (struct sockaddr_in){.sin_family = AF_INET};
	if (!span_split(&rest, ':', &host) || host.size >= sizeof(text) ||
	    span_parse_whole(rest, 1, 65535, &port, err) < 0)
		return FAIL(err, ERROR_INVALID,
		            "AWS_LAMBDA_RUNTIME_API '%.60s' is not ADDRESS:PORT", api);
	(void)snprintf(text, sizeof(text), "%.*s", (int)host.size, host.data);
	ret->sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, text, &ret->sin_addr) == 1)
		return 0;
	return FAIL(err, ERROR_INVALID, "AWS_LAMBDA_RUNTIME_API '%.60s' has no IPv4 address", api);
}

static int connect_api(const char *api, int *ret_fd, struct error *err)
{
	struct sockaddr_in address;
	AUTO_CLOSE int fd = -1;

	if (parse_address(api, &address, err) < 0)
		return -1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return FAIL_ERRNO(err, "connect to the Runtime API");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void write_request(struct buf *out, const struct runtime_call *call)
{
	buf_addf(out, "%s /2018-06-01/runtime%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n",
	         call->body ? "POST" : "GET", call->path, call->api);
	if (call->error_type)
		buf_addf(out, "Lambda-Runtime-Function-Error-Type: %s\r\n", call->error_type);
	if (call->body)
		buf_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		         call->body->size);
	buf_add_text(out, "\r\n");
	if (call->body)
		buf_add_span(out, buf_span(call->body));
}

static void take_header(struct span name, struct span value, struct runtime_answer *ret,
                        int64_t *ret_size, bool *ret_chunked)
{
	struct error ignored = {0};

	if (span_is_word(name, "Lambda-Runtime-Aws-Request-Id") && value.size <= REQUEST_ID_MAX)
		(void)snprintf(ret->request_id, sizeof(ret->request_id), "%.*s", (int)value.size,
		               value.data);
	else if (span_is_word(name, "Lambda-Runtime-Deadline-Ms"))
		(void)!span_parse_whole(value, 0, INT64_MAX, &ret->deadline_unix_ms, &ignored);
	else if (span_is_word(name, "Content-Length"))
		(void)!span_parse_whole(value, 0, INT64_MAX, ret_size, &ignored);
	else if (span_is_word(name, "Transfer-Encoding"))
		*ret_chunked = span_is_word(value, "chunked");
}

/* The data of chunks, without their sizes. */
static int join_chunks(struct span text, struct buf *out, struct error *err)
{
	struct span line;

	while (span_split(&text, '\n', &line)) {
		size_t size = strtoul(line.data, NULL, 16);

		if (size == 0)
			return 0;
		if (size > text.size)
			break;
		buf_add_span(out, span_take(&text, size));
		(void)span_split(&text, '\n', &line);
	}
	return FAIL(err, ERROR_UNAVAILABLE, "half an answer of the Runtime API");
}

static int take_body(struct span rest, int64_t size, bool is_chunked, struct buf *out,
                     struct error *err)
{
	if (is_chunked)
		return join_chunks(rest, out, err);
	if (size >= 0 && (int64_t)rest.size < size)
		return FAIL(err, ERROR_UNAVAILABLE, "half an answer of the Runtime API");
	if (size >= 0)
		rest.size = (size_t)size;
	buf_add_span(out, rest);
	return 0;
}

static int parse_answer(struct span text, struct runtime_answer *ret, struct error *err)
{
	struct span line, name;
	int64_t status = 0, size = -1;
	bool is_chunked = false;

	if (!span_split(&text, '\n', &line) || line.size < 12 ||
	    span_parse_whole((struct span){line.data + 9, 3}, 100, 599, &status, err) < 0)
		return FAIL(err, ERROR_UNAVAILABLE, "the Runtime API does not speak HTTP");
	ret->status = (int)status;
	while (span_split(&text, '\n', &line)) {
		if (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		if (line.size == 0)
			return take_body(text, size, is_chunked, &ret->body, err);
		if (span_split(&line, ':', &name))
			take_header(name, span_trim(line), ret, &size, &is_chunked);
	}
	return FAIL(err, ERROR_UNAVAILABLE, "half an answer of the Runtime API");
}

int runtime_do(const struct runtime_call *call, struct runtime_answer *ret, struct error *err)
{
	AUTO(buf_done) struct buf request = BUF(HEAD_MAX + ANSWER_MAX);
	AUTO(buf_done) struct buf text = BUF(HEAD_MAX + 2 * ANSWER_MAX);
	AUTO_CLOSE int fd = -1;

	*ret = (struct runtime_answer){.body = BUF(ANSWER_MAX)};
	write_request(&request, call);
	if (request.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the answer is too large for a function");
	if (connect_api(call->api, &fd, err) < 0 ||
	    fd_write_all(fd, request.data, request.size, err) < 0 ||
	    fd_read_to_end(fd, &text, err) < 0)
		return FAIL_CONTEXT(err, "%s", call->path);
	if (parse_answer(buf_span(&text), ret, err) < 0) {
		buf_done(&ret->body);
		return -1;
	}
	return 0;
}
