/* SPDX-License-Identifier: Apache-2.0 */
#include "credential/h2/block.h"

#include <string.h>

#define HEAD_SIZE_MAX ((size_t)64 * 1024)
#define WORD_MAX 64 /* of a method or a scheme */
#define FIELD_OVERHEAD 32

void h2_block_begin(struct h2_block *b)
{
	const size_t sizes[] = {WORD_MAX, WORD_MAX, 512, HEAD_TARGET_MAX, 3};
	struct buf *words[] = {&b->method, &b->scheme, &b->authority, &b->path, &b->status};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		words[i]->size_max = sizes[i];
		buf_reset(words[i]);
	}
	b->lines.size_max = HEAD_SIZE_MAX;
	b->cookies.size_max = HEAD_SIZE_MAX;
	buf_reset(&b->lines);
	buf_reset(&b->cookies);
	b->size = 0;
	b->is_refused = false;
}

void h2_block_done(struct h2_block *b)
{
	buf_done(&b->method);
	buf_done(&b->scheme);
	buf_done(&b->authority);
	buf_done(&b->path);
	buf_done(&b->status);
	buf_done(&b->lines);
	buf_done(&b->cookies);
}

size_t h2_block_memory(const struct h2_block *b)
{
	return b->method.capacity + b->scheme.capacity + b->authority.capacity + b->path.capacity +
	       b->status.capacity + b->lines.capacity + b->cookies.capacity;
}

static bool is_name(struct span name)
{
	for (size_t i = 0; i < name.size; i++) {
		unsigned char c = (unsigned char)name.data[i];

		if (c <= 0x20 || c >= 0x7f || c == ':' || (c >= 'A' && c <= 'Z'))
			return false;
	}
	return name.size > 0;
}

/* What could end a line, and blanks at the ends, which readers disagree about. */
static bool is_value(struct span value)
{
	for (size_t i = 0; i < value.size; i++) {
		unsigned char c = (unsigned char)value.data[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return span_trim(value).size == value.size;
}

/* About a connection, which HTTP/2 has other means for (RFC 9113, 8.2.2). */
static bool is_of_connection(struct span name, struct span value)
{
	static const char *const names[] = {"connection", "keep-alive", "proxy-connection",
	                                    "transfer-encoding", "upgrade"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (span_is_word(name, names[i]))
			return true;
	return span_is_word(name, "te") && !span_is_word(value, "trailers");
}

/* A pseudo-header comes once, before all others, and is not empty. */
static void add_pseudo(struct h2_block *b, struct span name, struct span value)
{
	const struct {
		const char *name;
		struct buf *word;
	} words[] = {{":method", &b->method},
	             {":scheme", &b->scheme},
	             {":authority", &b->authority},
	             {":path", &b->path},
	             {":status", &b->status}};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!span_equals_text(name, words[i].name))
			continue;
		if (words[i].word->size > 0 || value.size == 0 || b->lines.size > 0 ||
		    b->cookies.size > 0)
			break;
		buf_add_span(words[i].word, value);
		b->is_refused = b->is_refused || words[i].word->overflowed;
		return;
	}
	b->is_refused = true; /* an undefined one, and ":protocol" */
}

void h2_block_add(struct h2_block *b, struct span name, struct span value)
{
	b->size += name.size + value.size + FIELD_OVERHEAD;
	if (b->size > HEAD_SIZE_MAX || !is_value(value))
		b->is_refused = true;
	if (b->is_refused)
		return;
	if (name.size > 0 && name.data[0] == ':') {
		add_pseudo(b, name, value);
		return;
	}
	if (!is_name(name) || is_of_connection(name, value)) {
		b->is_refused = true;
		return;
	}
	if (span_equals_text(name, "cookie")) {
		if (b->cookies.size > 0)
			buf_add_text(&b->cookies, "; ");
		buf_add_span(&b->cookies, value);
		return;
	}
	buf_add_span(&b->lines, name);
	buf_add_text(&b->lines, ": ");
	buf_add_span(&b->lines, value);
	buf_add_text(&b->lines, "\r\n");
}

static void add_lines(struct buf *out, const struct h2_block *b)
{
	buf_add_span(out, buf_span(&b->lines));
	if (b->cookies.size > 0) {
		buf_add_text(out, "cookie: ");
		buf_add_span(out, buf_span(&b->cookies));
		buf_add_text(out, "\r\n");
	}
	buf_add_text(out, "\r\n");
}

/* A client may also send Host, when it has translated the request: it says the same, or the request
 * is for two hosts. */
static bool take_host(const struct h2_block *b, struct buf *out)
{
	struct span rest = buf_span(&b->lines), line;

	while (span_split(&rest, '\n', &line)) {
		if (!span_starts_with(line, "host: "))
			continue;
		struct span host = span_trim((struct span){line.data + 6, line.size - 7});

		return b->authority.size == 0 || span_is_same_word(host, buf_span(&b->authority));
	}
	if (b->authority.size == 0)
		return false;
	buf_addf(out, "host: %s\r\n", buf_text(&b->authority));
	return true;
}

bool h2_block_request(const struct h2_block *b, struct arena *a, bool has_body,
                      struct http_head *ret)
{
	AUTO(buf_done) struct buf text = BUF(HEAD_SIZE_MAX * 3);
	char *copy;

	if (b->is_refused || b->method.size == 0 || b->path.size == 0 || b->status.size > 0 ||
	    !span_equals_text(buf_span(&b->scheme), "https"))
		return false;
	/* The proxy has one host for a connection: a target is a path, or the star of OPTIONS. */
	if (b->path.data[0] != '/' && !span_equals_text(buf_span(&b->path), "*"))
		return false;
	buf_addf(&text, "%s %s HTTP/1.1\r\n", buf_text(&b->method), buf_text(&b->path));
	if (!take_host(b, &text))
		return false;
	add_lines(&text, b);
	copy = arena_copy(a, buf_span(&text));
	if (text.overflowed || head_parse(copy, text.size, ret) != FAULT_NONE)
		return false;
	/* Frames end the body. */
	ret->chunked = has_body && ret->content_length < 0;
	return has_body || ret->content_length <= 0;
}

bool h2_block_answer(const struct h2_block *b, struct arena *a, bool has_body,
                     struct http_head *ret)
{
	AUTO(buf_done) struct buf text = BUF(HEAD_SIZE_MAX * 3);
	char *copy;

	if (b->is_refused || b->method.size > 0 || b->path.size > 0 || b->scheme.size > 0 ||
	    b->authority.size > 0)
		return false;
	buf_addf(&text, "HTTP/1.1 %s\r\n", b->status.size > 0 ? buf_text(&b->status) : "200");
	add_lines(&text, b);
	copy = arena_copy(a, buf_span(&text));
	if (text.overflowed || head_parse_answer(copy, text.size, ret) != FAULT_NONE)
		return false;
	ret->chunked = has_body && ret->content_length < 0;
	return true;
}
