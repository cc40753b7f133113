/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/marks.h"

#define PREFIX "\036atoll:"
#define PREFIX_SIZE (sizeof(PREFIX) - 1)
#define HELD_MAX (PREFIX_SIZE + ID_SIZE + 8 + MARK_TEXT_MAX)

void shell_marks_init(struct shell_marks *m, const struct shell_marks_ops *ops, void *context)
{
	*m = (struct shell_marks){.ops = ops, .context = context, .held = BUF(HELD_MAX)};
}

void shell_marks_done(struct shell_marks *m)
{
	buf_done(&m->held);
}

static bool parse_code(struct span text, int64_t *ret)
{
	return span_parse_whole(text, 0, 255, ret, &(struct error){0}) == 0;
}

/* What stands between the prefix and the end of the line. */
static bool parse_mark(struct span line, struct shell_mark *ret)
{
	struct span kind, id;

	if (!span_split(&line, ':', &kind) || !span_split(&line, ':', &id) || kind.size != 1 ||
	    id.size >= sizeof(ret->id) || line.size > MARK_TEXT_MAX)
		return false;
	*ret = (struct shell_mark){.text = line};
	memcpy(ret->id, id.data, id.size);
	switch (kind.data[0]) {
	case MARK_FOLDER:
		ret->kind = MARK_FOLDER;
		return id.size == 0;
	case MARK_BEGIN:
		ret->kind = MARK_BEGIN;
		return id_is_valid(ret->id);
	case MARK_END:
		ret->kind = MARK_END;
		return id_is_valid(ret->id) && parse_code(line, &ret->exit_code);
	default:
		return false;
	}
}

static bool begins_like_mark(struct span held)
{
	return memcmp(held.data, PREFIX, held.size < PREFIX_SIZE ? held.size : PREFIX_SIZE) == 0;
}

/* How much of what is held, which begins with RS, is done with; 0 = more has to come. */
static size_t consume_mark(struct shell_marks *m)
{
	struct span held = buf_span(&m->held);
	ptrdiff_t end = span_find(held, '\n');
	struct shell_mark mark;

	if (begins_like_mark(held) && end < 0 && held.size < HELD_MAX)
		return 0;
	if (begins_like_mark(held) && end >= 0 &&
	    parse_mark((struct span){held.data + PREFIX_SIZE, (size_t)end - PREFIX_SIZE}, &mark)) {
		m->ops->on_mark(m->context, &mark);
		return (size_t)end + 1;
	}
	m->ops->on_bytes(m->context, (struct span){held.data, 1});
	return 1;
}

/* Up to the next RS. */
static size_t pass_output(struct shell_marks *m, struct span bytes)
{
	ptrdiff_t at = span_find(bytes, PREFIX[0]);
	size_t size = at < 0 ? bytes.size : (size_t)at;

	if (size > 0)
		m->ops->on_bytes(m->context, (struct span){bytes.data, size});
	return size;
}

static void consume_held(struct shell_marks *m)
{
	size_t done;

	while (m->held.size > 0) {
		done = m->held.data[0] == PREFIX[0] ? consume_mark(m)
		                                    : pass_output(m, buf_span(&m->held));
		if (done == 0)
			return;
		buf_consume(&m->held, done);
	}
}

void shell_marks_add(struct shell_marks *m, struct span bytes)
{
	while (bytes.size > 0) {
		size_t take = m->held.size == 0 ? pass_output(m, bytes) : 0, room;

		span_skip(&bytes, take);
		room = HELD_MAX - m->held.size;
		take = bytes.size < room ? bytes.size : room;
		buf_add(&m->held, bytes.data, take);
		span_skip(&bytes, take);
		consume_held(m);
	}
}

void shell_marks_end(struct shell_marks *m)
{
	if (m->held.size > 0)
		m->ops->on_bytes(m->context, buf_span(&m->held));
	buf_reset(&m->held);
}
