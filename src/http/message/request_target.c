/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/request_target.h"

static void begin_part(struct request_target *t, size_t start)
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

enum http_fault target_parse(struct span target, char *path_room, struct request_target *ret)
{
	ptrdiff_t question = span_find(target, '?');
	struct span raw = {target.data, question < 0 ? target.size : (size_t)question}, rest = raw;
	size_t size = 0;

	ret->raw_path = raw;
	ret->raw_query = question < 0 ? (struct span){NULL, 0}
	                              : (struct span){target.data + question + 1,
	                                              target.size - (size_t)question - 1};
	ret->part_count = 0;
	while (rest.size > 0) {
		bool is_slash = rest.data[0] == '/';
		int byte = span_take_escaped(&rest);

		if (byte < 0x20 || byte == 0x7f)
			return FAULT_PATH;
		path_room[size++] = (char)byte;
		if (is_slash && (rest.size > 0 || raw.size > 1))
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
