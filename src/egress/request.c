/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 9112, less all that two readers could understand in two ways: lines end in CR LF, nothing is
 * folded, there is one Host, and one way to say how long the body is. */
#include <ctype.h>
#include <string.h>

#include "egress/look.h"

#define FIELDS_MAX 128
#define LENGTH_DIGITS_MAX 15
#define CHUNK_DIGITS_MAX 8
#define HTTP_PORT ":80"

/* Headers for this connection alone, and headers that change the protocol. */
static const char *const dropped[] = {"connection",          "keep-alive", "proxy-connection",
                                      "proxy-authorization", "upgrade",    "te",
                                      "http2-settings",      "trailer"};

static enum host_name_result refuse_request(struct host_name *ret, const char *why)
{
	ret->refusal = why;
	return LOOK_REFUSED;
}

static bool is_token(struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c >= 0x80 || (!isalnum(c) && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c))))
			return false;
	}
	return text.size > 0;
}

static bool is_visible(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if ((unsigned char)text.data[i] < 0x20 && text.data[i] != '\t')
			return false;
	return true;
}

/* The next line without its end. False when there is none, or when a CR or LF is in it. */
static bool take_line(struct span *rest, struct span *ret)
{
	struct span line;

	if (!span_split(rest, '\n', &line) || line.size == 0 || line.data[line.size - 1] != '\r')
		return false;
	line.size--;
	*ret = line;
	return span_find(line, '\r') < 0;
}

struct head {
	struct span host, length;
	unsigned hosts, lengths, encodings, fields;
	bool is_chunked, is_http10;
};

/* "GET /path HTTP/1.1" */
static const char *read_start(struct span line, struct head *head)
{
	struct span method, target;

	if (!span_split(&line, ' ', &method) || !is_token(method) ||
	    !span_split(&line, ' ', &target))
		return "it is not HTTP/1";
	head->is_http10 = span_equals_text(line, "HTTP/1.0");
	if (!head->is_http10 && !span_equals_text(line, "HTTP/1.1"))
		return "it is not HTTP/1";
	if (span_equals_text(method, "CONNECT"))
		return "CONNECT is for proxies, and this is none";
	if (span_equals_text(method, "OPTIONS") && span_equals_text(target, "*"))
		return NULL;
	if (target.size == 0 || target.data[0] != '/')
		return "its target is not a path";
	return is_visible(target) && span_find(target, '\t') < 0 ? NULL : "its target is malformed";
}

static const char *read_field(struct span line, struct head *head)
{
	struct span name, value = line;

	if (++head->fields > FIELDS_MAX)
		return "it has too many header fields";
	if (!span_split(&value, ':', &name) || !is_token(name) || !is_visible(value))
		return "a header field is malformed";
	value = span_trim(value);
	if (span_is_word(name, "host")) {
		head->hosts++;
		head->host = value;
	} else if (span_is_word(name, "content-length")) {
		head->lengths++;
		head->length = value;
	} else if (span_is_word(name, "transfer-encoding")) {
		head->encodings++;
		head->is_chunked = span_is_word(value, "chunked");
	}
	return NULL;
}

static const char *check_body(const struct head *head, struct body *ret)
{
	struct error ignored = {0};
	int64_t length = 0;

	if (head->lengths + head->encodings > 1)
		return "it says twice how long its body is";
	if (head->encodings == 1 && (!head->is_chunked || head->is_http10))
		return "its transfer encoding is not \"chunked\"";
	if (head->lengths == 1 &&
	    (head->length.size > LENGTH_DIGITS_MAX ||
	     span_parse_whole(head->length, 0, INT64_MAX, &length, &ignored) < 0))
		return "its content length is malformed";
	*ret = (struct body){.state = head->encodings ? BODY_CHUNK_SIZE
	                              : length > 0    ? BODY_BYTES
	                                              : BODY_DONE,
	                     .left = (uint64_t)length};
	return NULL;
}

static const char *check_host(const struct head *head, struct host_name *ret)
{
	const size_t port_size = strlen(HTTP_PORT);
	struct span host = head->host;

	if (head->hosts != 1)
		return head->hosts == 0 ? "it has no Host" : "it has more than one Host";
	if (host.size > port_size &&
	    memcmp(host.data + host.size - port_size, HTTP_PORT, port_size) == 0)
		host.size -= port_size;
	if (!host_name_is_valid(host))
		return "its Host is no host's name";
	memcpy(ret->name, host.data, host.size);
	ret->name[host.size] = '\0';
	return NULL;
}

/* Where the head ends, or 0. */
static size_t head_size(struct span bytes)
{
	const char *end = bytes.size ? memmem(bytes.data, bytes.size, "\r\n\r\n", 4) : NULL;

	return end ? (size_t)(end - bytes.data) + 4 : 0;
}

enum host_name_result request_look(struct span bytes, struct host_name *ret, size_t *ret_size,
                                   struct body *ret_body)
{
	struct span rest = {bytes.data, head_size(bytes)}, line;
	struct head head = {.hosts = 0};
	const char *why;

	*ret = (struct host_name){.refusal = NULL};
	if (rest.size > LOOK_BYTES_MAX || (rest.size == 0 && bytes.size >= LOOK_BYTES_MAX))
		return refuse_request(ret, "its head is too large");
	/* TLS to this port would wait for ever. */
	if (bytes.size > 0 && !is_token((struct span){bytes.data, 1}))
		return refuse_request(ret, "it is not HTTP/1");
	if (rest.size == 0)
		return LOOK_MORE;
	*ret_size = rest.size;
	why = take_line(&rest, &line) ? read_start(line, &head) : "it is not HTTP/1";
	while (!why) {
		if (!take_line(&rest, &line))
			return refuse_request(ret, "a header field is malformed");
		if (line.size == 0)
			break;
		why = read_field(line, &head);
	}
	if (!why)
		why = check_host(&head, ret);
	if (!why)
		why = check_body(&head, ret_body);
	return why ? refuse_request(ret, why) : LOOK_FOUND;
}

static bool is_dropped(struct span line)
{
	struct span name;

	(void)span_split(&line, ':', &name);
	for (size_t i = 0; i < COUNT_OF(dropped); i++)
		if (span_is_word(name, dropped[i]))
			return true;
	return false;
}

void request_pass(struct span head, struct buf *out)
{
	struct span line;

	while (take_line(&head, &line) && line.size > 0) {
		if (is_dropped(line))
			continue;
		buf_add_span(out, line);
		buf_add_text(out, "\r\n");
	}
	buf_add_text(out, "Connection: close\r\n\r\n");
}

/* The next state after one byte of what frames the chunks, or -1. */
static int frame_byte(struct body *b, char byte)
{
	int digit;

	switch (b->state) {
	case BODY_CHUNK_SIZE:
		if (byte == '\r' && b->digits > 0)
			return BODY_CHUNK_SIZE_END;
		digit = hex_digit_value(byte);
		if (digit < 0 || ++b->digits > CHUNK_DIGITS_MAX)
			return -1;
		b->left = b->left << 4 | (unsigned)digit;
		return BODY_CHUNK_SIZE;
	case BODY_CHUNK_SIZE_END:
		if (byte != '\n')
			return -1;
		return b->left > 0 ? BODY_CHUNK : BODY_LAST_CR;
	case BODY_CHUNK_CR:
		return byte == '\r' ? BODY_CHUNK_LF : -1;
	case BODY_CHUNK_LF:
		b->digits = 0;
		return byte == '\n' ? BODY_CHUNK_SIZE : -1;
	case BODY_LAST_CR:
		return byte == '\r' ? BODY_LAST_LF : -1;
	case BODY_LAST_LF:
		return byte == '\n' ? BODY_DONE : -1;
	case BODY_BYTES:
	case BODY_CHUNK:
	case BODY_DONE:
		break;
	}
	return -1;
}

ssize_t body_take(struct body *b, struct span bytes)
{
	size_t taken = 0;

	while (taken < bytes.size && b->state != BODY_DONE) {
		size_t here = bytes.size - taken;
		int next;

		if (b->state == BODY_BYTES || b->state == BODY_CHUNK) {
			if (here > b->left)
				here = (size_t)b->left;
			b->left -= here;
			taken += here;
			if (b->left == 0)
				b->state = b->state == BODY_BYTES ? BODY_DONE : BODY_CHUNK_CR;
			continue;
		}
		next = frame_byte(b, bytes.data[taken]);
		if (next < 0)
			return -1;
		b->state = (enum body_state)next;
		taken++;
	}
	return (ssize_t)taken;
}
