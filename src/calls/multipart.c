/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/multipart.h"

#include <string.h>

#define PIECE (16 * 1024)

/* A parameter of a header value. */
struct parameter {
	struct span name, value;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span quoted_value(struct span *rest)
{
	/* Unescapes in place: browsers escape only the quote, so a lone backslash stays. */
	char *to, *start;
	size_t i = 1;

	memcpy(&start, &rest->data, sizeof(start));
	start++;
	to = start;
	while (i < rest->size && rest->data[i] != '"') {
		if (rest->data[i] == '\\' && i + 1 < rest->size && rest->data[i + 1] == '"')
			i++;
		*to++ = rest->data[i++];
	}
	if (i < rest->size)
		i++;
	span_skip(rest, i);
	return (struct span){start, (size_t)(to - start)};
}

/* Cuts the next parameter from the front of *rest. False at the end. */
static bool next_parameter(struct span *rest, struct parameter *ret)
{
	ptrdiff_t equals;

	while (rest->size > 0 && (*rest->data == ';' || is_blank(*rest->data))) {
		rest->data++;
		rest->size--;
	}
	equals = span_find(*rest, '=');
	if (equals < 0)
		return false;
	ret->name = span_trim((struct span){rest->data, (size_t)equals});
	span_skip(rest, (size_t)equals + 1);
	if (rest->size > 0 && *rest->data == '"') {
		ret->value = quoted_value(rest);
		return true;
	}
	(void)span_split(rest, ';', &ret->value);
	ret->value = span_trim(ret->value);
	return true;
}

static int set_mark(struct multipart *m, struct span boundary, struct error *err)
{
	if (boundary.size == 0 || boundary.size > MULTIPART_BOUNDARY_MAX)
		return FAIL(err, ERROR_INVALID, "a boundary has 1 to %d characters",
		            MULTIPART_BOUNDARY_MAX);
	for (size_t i = 0; i < boundary.size; i++) {
		if (boundary.data[i] <= ' ' || boundary.data[i] >= 127)
			return FAIL(err, ERROR_INVALID, "the boundary has an invalid character");
	}
	memcpy(m->mark, "\r\n--", 4);
	memcpy(m->mark + 4, boundary.data, boundary.size);
	m->mark_size = boundary.size + 4;
	return 0;
}

int multipart_init(struct multipart *m, const char *content_type, const struct multipart_ops *ops,
                   void *context, struct error *err)
{
	/* A copy, since quoted values are unescaped in place. */
	char text[512];
	struct span rest = span_of(content_type), type;
	struct parameter parameter;

	*m = (struct multipart){.ops = ops, .context = context};
	m->pending = BUF(MULTIPART_HEAD_MAX + PIECE + sizeof(m->mark));
	if (rest.size < sizeof(text)) {
		memcpy(text, rest.data, rest.size);
		rest.data = text;
	} else {
		rest.size = 0;
	}
	(void)span_split(&rest, ';', &type);
	if (!span_is_word(span_trim(type), "multipart/form-data"))
		return FAIL(err, ERROR_INVALID, "the body is not multipart/form-data");
	while (next_parameter(&rest, &parameter)) {
		if (!span_is_word(parameter.name, "boundary"))
			continue;
		/* The first boundary may lack the line break before it. */
		buf_add_text(&m->pending, "\r\n");
		return set_mark(m, parameter.value, err);
	}
	return FAIL(err, ERROR_INVALID, "the content type names no boundary");
}

void multipart_done(struct multipart *m)
{
	buf_done(&m->pending);
}

/* `form-data; name="file"; filename="a.txt"` */
static void read_disposition(struct span value, struct multipart_part *part)
{
	struct parameter parameter;
	struct span type;

	(void)span_split(&value, ';', &type);
	while (next_parameter(&value, &parameter)) {
		if (span_is_word(parameter.name, "name"))
			part->name = parameter.value;
		else if (span_is_word(parameter.name, "filename"))
			part->file_name = parameter.value;
	}
}

static int begin_part(struct multipart *m, struct span head, struct error *err)
{
	struct multipart_part part = {.name = {NULL, 0}};
	struct span line, name;

	if (++m->parts > MULTIPART_PARTS_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d parts", MULTIPART_PARTS_MAX);
	while (head.size > 0) {
		(void)span_split(&head, '\n', &line);
		if (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		if (span_split(&line, ':', &name) && span_is_word(name, "content-disposition"))
			read_disposition(line, &part);
	}
	if (!part.name.data)
		return FAIL(err, ERROR_INVALID, "part %u has no name", m->parts);
	return m->ops->on_part(m->context, &part, err);
}

static struct span find_bytes(const struct buf *in, struct span what)
{
	const char *at = in->size ? memmem(in->data, in->size, what.data, what.size) : NULL;

	return (struct span){at, at ? (size_t)(at - in->data) : 0};
}

/* Each step returns 1 when the state may have changed, 0 when it needs more bytes, -1 on failure.
 */
static int step_preamble(struct multipart *m, UNUSED struct error *err)
{
	struct span at = find_bytes(&m->pending, (struct span){m->mark, m->mark_size});

	if (at.data) {
		buf_consume(&m->pending, at.size + m->mark_size);
		m->state = MULTIPART_AFTER_BOUNDARY;
		return 1;
	}
	if (m->pending.size >= m->mark_size)
		buf_consume(&m->pending, m->pending.size - m->mark_size + 1);
	return 0;
}

static int step_after_boundary(struct multipart *m, struct error *err)
{
	size_t blanks = 0;

	while (blanks < m->pending.size && is_blank(m->pending.data[blanks]))
		blanks++;
	buf_consume(&m->pending, blanks);
	if (m->pending.size < 2)
		return 0;
	if (memcmp(m->pending.data, "--", 2) == 0)
		m->state = MULTIPART_EPILOGUE;
	else if (memcmp(m->pending.data, "\r\n", 2) == 0)
		m->state = MULTIPART_HEAD;
	else
		return FAIL(err, ERROR_INVALID,
		            "a boundary is followed by neither a line break nor --");
	buf_consume(&m->pending, 2);
	return 1;
}

static int step_head(struct multipart *m, struct error *err)
{
	struct span at = find_bytes(&m->pending, SPAN("\r\n\r\n"));

	if (at.data ? at.size > MULTIPART_HEAD_MAX : m->pending.size > MULTIPART_HEAD_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "the head of a part is longer than %d bytes",
		            MULTIPART_HEAD_MAX);
	if (!at.data)
		return 0;
	if (begin_part(m, (struct span){m->pending.data, at.size}, err) < 0)
		return -1;
	buf_consume(&m->pending, at.size + 4);
	m->state = MULTIPART_BODY;
	return 1;
}

static int step_body(struct multipart *m, struct error *err)
{
	struct span at = find_bytes(&m->pending, (struct span){m->mark, m->mark_size});
	size_t sure = m->pending.size < m->mark_size ? 0 : m->pending.size - m->mark_size + 1;

	if (at.data)
		sure = at.size;
	if (sure > 0 && m->ops->on_bytes(m->context, (struct span){m->pending.data, sure}, err) < 0)
		return -1;
	buf_consume(&m->pending, sure);
	if (!at.data)
		return 0;
	buf_consume(&m->pending, m->mark_size);
	m->state = MULTIPART_AFTER_BOUNDARY;
	return m->ops->on_part_end(m->context, err) < 0 ? -1 : 1;
}

static int step_epilogue(struct multipart *m, UNUSED struct error *err)
{
	buf_reset(&m->pending);
	return 0;
}

int multipart_add(struct multipart *m, struct span bytes, struct error *err)
{
	static int (*const steps[])(struct multipart *, struct error *) = {
	        [MULTIPART_PREAMBLE] = step_preamble,
	        [MULTIPART_AFTER_BOUNDARY] = step_after_boundary,
	        [MULTIPART_HEAD] = step_head,
	        [MULTIPART_BODY] = step_body,
	        [MULTIPART_EPILOGUE] = step_epilogue,
	};

	while (bytes.size > 0) {
		size_t piece = bytes.size < PIECE ? bytes.size : PIECE;
		int moved;

		buf_add(&m->pending, bytes.data, piece);
		span_skip(&bytes, piece);
		do
			moved = steps[m->state](m, err);
		while (moved > 0);
		if (moved < 0)
			return -1;
	}
	return 0;
}

int multipart_end(struct multipart *m, struct error *err)
{
	if (m->state != MULTIPART_EPILOGUE)
		return FAIL(err, ERROR_INVALID, "the body ends before its closing boundary");
	return 0;
}
