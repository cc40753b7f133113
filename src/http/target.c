/* SPDX-License-Identifier: Apache-2.0 */
#include "http/target.h"

/* The byte at raw[*at], escaped or not, or -1. */
static int take_byte(struct span raw, size_t *at)
{
	int high, low;

	if (raw.data[*at] != '%')
		return (unsigned char)raw.data[(*at)++];
	if (raw.size - *at < 3)
		return -1;
	high = hex_digit_value(raw.data[*at + 1]);
	low = hex_digit_value(raw.data[*at + 2]);
	*at += 3;
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static void begin_part(struct target *t, size_t start)
{
	if (t->part_count == TARGET_PARTS_MAX)
		return;
	if (t->part_count)
		t->parts[t->part_count - 1].end = start - 1;
	t->parts[t->part_count++].start = start;
}

static bool has_dot_part(struct span path)
{
	struct span part;
	bool more = true;

	while (more) {
		more = span_split(&path, '/', &part);
		if (span_equals_text(part, ".") || span_equals_text(part, ".."))
			return true;
	}
	return false;
}

enum http_fault target_parse(struct span target, char *path_room, struct target *ret)
{
	ptrdiff_t question = span_find(target, '?');
	struct span raw = {target.data, question < 0 ? target.size : (size_t)question};
	size_t size = 0;

	ret->raw_path = raw;
	ret->raw_query = question < 0 ? (struct span){NULL, 0}
	                              : (struct span){target.data + question + 1,
	                                              target.size - (size_t)question - 1};
	ret->part_count = 0;
	for (size_t at = 0; at < raw.size;) {
		bool is_slash = raw.data[at] == '/';
		int byte = take_byte(raw, &at);

		if (byte < 0x20 || byte == 0x7f)
			return FAULT_PATH;
		path_room[size++] = (char)byte;
		if (is_slash && at < raw.size + (raw.size > 1))
			begin_part(ret, size);
	}
	path_room[size] = '\0';
	if (ret->part_count)
		ret->parts[ret->part_count - 1].end = size;
	ret->path = path_room;
	ret->path_size = size;
	if (has_dot_part((struct span){path_room, size}) ||
	    !span_is_utf8((struct span){path_room, size}))
		return FAULT_PATH;
	return FAULT_NONE;
}
