/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "wire/wire.h"

#include <endian.h>
#include <string.h>

static uint32_t member_max(const struct wire_member *member)
{
	return member->max ? member->max : WIRE_PAYLOAD_MAX;
}

static void add_u32(struct buf *out, uint32_t value)
{
	value = htole32(value);
	buf_add(out, &value, sizeof(value));
}

static void add_u64(struct buf *out, uint64_t value)
{
	value = htole64(value);
	buf_add(out, &value, sizeof(value));
}

static int add_bytes(struct buf *out, struct span bytes, uint32_t max, struct error *err)
{
	if (bytes.size > max)
		return FAIL(err, ERROR_TOO_LARGE, "%zu bytes where at most %u fit into a message",
		            bytes.size, max);
	add_u32(out, (uint32_t)bytes.size);
	buf_add_span(out, bytes);
	return 0;
}

static int add_list(struct buf *out, const char *const *list, uint32_t max, struct error *err)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	if (count > max)
		return FAIL(err, ERROR_TOO_LARGE, "%zu items where at most %u fit into a message",
		            count, max);
	add_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		if (add_bytes(out, span_of(list[i]), WIRE_PAYLOAD_MAX, err) < 0)
			return -1;
	return 0;
}

static int add_member(struct buf *out, const struct wire_member *member, const void *message,
                      struct error *err)
{
	const void *at = (const char *)message + member->offset;

	switch (member->kind) {
	case WIRE_U32:
		add_u32(out, *(const uint32_t *)at);
		return 0;
	case WIRE_U64:
	case WIRE_I64:
		add_u64(out, *(const uint64_t *)at);
		return 0;
	case WIRE_TEXT:
		return add_bytes(out, span_of(*(const char *const *)at), member_max(member), err);
	case WIRE_BYTES:
		return add_bytes(out, *(const struct span *)at, member_max(member), err);
	case WIRE_TEXT_LIST:
		return add_list(out, *(const char *const *const *)at, member_max(member), err);
	case WIRE_END_OF_SHAPE:
		break;
	}
	return 0;
}

static int add_payload(struct buf *out, const struct wire_member *shape, const void *message,
                       struct error *err)
{
	size_t start = out->size;

	for (; shape && shape->kind != WIRE_END_OF_SHAPE; shape++)
		if (add_member(out, shape, message, err) < 0)
			return -1;
	if (out->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "message does not fit into %zu bytes",
		            out->size_max);
	if (out->size - start > WIRE_PAYLOAD_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "message is larger than %d bytes",
		            WIRE_PAYLOAD_MAX);
	return 0;
}

int wire_encode(struct buf *out, uint16_t type, const struct wire_member *shape,
                const void *message, struct error *err)
{
	unsigned char head[WIRE_HEAD_SIZE] = {0};
	size_t start = out->size;
	bool overflowed = out->overflowed;

	buf_add(out, head, sizeof(head));
	if (add_payload(out, shape, message, err) < 0) {
		out->size = start;
		out->overflowed = overflowed;
		if (out->data)
			out->data[start] = '\0';
		return -1;
	}
	wire_put_head(head, type, (uint32_t)(out->size - start - sizeof(head)));
	memcpy(out->data + start, head, sizeof(head));
	return 0;
}

struct payload_reader {
	struct arena *arena;
	struct span rest;
};

static int take_raw(struct payload_reader *r, size_t size, const char **ret, struct error *err)
{
	if (size > r->rest.size)
		return FAIL(err, ERROR_INVALID,
		            "message ends early: %zu bytes wanted, %zu are left", size,
		            r->rest.size);
	*ret = r->rest.data;
	span_skip(&r->rest, size);
	return 0;
}

static int take_u32(struct payload_reader *r, uint32_t *ret, struct error *err)
{
	const char *data;
	uint32_t value;

	if (take_raw(r, sizeof(value), &data, err) < 0)
		return -1;
	memcpy(&value, data, sizeof(value));
	*ret = le32toh(value);
	return 0;
}

static int take_u64(struct payload_reader *r, uint64_t *ret, struct error *err)
{
	const char *data;
	uint64_t value;

	if (take_raw(r, sizeof(value), &data, err) < 0)
		return -1;
	memcpy(&value, data, sizeof(value));
	*ret = le64toh(value);
	return 0;
}

static int take_bytes(struct payload_reader *r, uint32_t max, struct span *ret, struct error *err)
{
	uint32_t size;
	const char *data;

	if (take_u32(r, &size, err) < 0)
		return -1;
	if (size > max)
		return FAIL(err, ERROR_INVALID, "message holds %u bytes where at most %u may be",
		            size, max);
	if (take_raw(r, size, &data, err) < 0)
		return -1;
	*ret = (struct span){data, size};
	return 0;
}

static int take_text(struct payload_reader *r, uint32_t max, const char **ret, struct error *err)
{
	struct span bytes;

	if (take_bytes(r, max, &bytes, err) < 0)
		return -1;
	if (span_find(bytes, '\0') >= 0)
		return FAIL(err, ERROR_INVALID, "text in a message holds a NUL");
	*ret = bytes.size ? arena_copy(r->arena, bytes) : "";
	return 0;
}

static int take_list(struct payload_reader *r, uint32_t max, const char ***ret, struct error *err)
{
	const char **list;
	uint32_t count;

	if (take_u32(r, &count, err) < 0)
		return -1;
	/* Every item takes four bytes at least: what the count claims is checked before memory is
	 * taken for it. */
	if (count > max || count > r->rest.size / sizeof(uint32_t))
		return FAIL(err, ERROR_INVALID, "message claims a list of %u items", count);
	list = ARENA_ARRAY(r->arena, const char *, (size_t)count + 1);
	for (uint32_t i = 0; i < count; i++)
		if (take_text(r, WIRE_PAYLOAD_MAX, &list[i], err) < 0)
			return -1;
	*ret = list;
	return 0;
}

static int take_member(struct payload_reader *r, const struct wire_member *member, void *message,
                       struct error *err)
{
	void *at = (char *)message + member->offset;

	switch (member->kind) {
	case WIRE_U32:
		return take_u32(r, at, err);
	case WIRE_U64:
	case WIRE_I64:
		return take_u64(r, at, err);
	case WIRE_TEXT:
		return take_text(r, member_max(member), at, err);
	case WIRE_BYTES:
		return take_bytes(r, member_max(member), at, err);
	case WIRE_TEXT_LIST:
		return take_list(r, member_max(member), at, err);
	case WIRE_END_OF_SHAPE:
		break;
	}
	return 0;
}

int wire_decode(struct arena *a, struct span payload, const struct wire_member *shape,
                void *message, size_t size, struct error *err)
{
	struct payload_reader r = {.arena = a, .rest = payload};

	memset(message, 0, size);
	for (; shape && shape->kind != WIRE_END_OF_SHAPE; shape++)
		if (take_member(&r, shape, message, err) < 0)
			return -1;
	if (r.rest.size)
		return FAIL(err, ERROR_INVALID, "message has %zu bytes too many", r.rest.size);
	return 0;
}
