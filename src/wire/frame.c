/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "wire/wire.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

void wire_put_head(unsigned char head[WIRE_HEAD_SIZE], uint16_t type, uint32_t payload_size)
{
	uint32_t size = htole32(payload_size);

	type = htole16(type);
	memcpy(head, &size, sizeof(size));
	memcpy(head + 4, &type, sizeof(type));
	memset(head + 6, 0, 2);
}

void wire_add_frame(struct buf *out, uint16_t type, struct span payload)
{
	unsigned char head[WIRE_HEAD_SIZE];

	assert(payload.size <= WIRE_PAYLOAD_MAX);
	wire_put_head(head, type, (uint32_t)payload.size);
	/* Both or neither: half a frame would put the other side out of step. */
	if (!buf_reserve(out, sizeof(head) + payload.size))
		return;
	buf_add(out, head, sizeof(head));
	buf_add_span(out, payload);
}

int wire_next(struct span *in, uint16_t *ret_type, struct span *ret_payload, size_t *ret_need,
              struct error *err)
{
	uint32_t size;
	uint16_t type, zero;

	if (ret_need)
		*ret_need = WIRE_HEAD_SIZE - (in->size < WIRE_HEAD_SIZE ? in->size : 0);
	if (in->size < WIRE_HEAD_SIZE)
		return 0;
	memcpy(&size, in->data, sizeof(size));
	memcpy(&type, in->data + 4, sizeof(type));
	memcpy(&zero, in->data + 6, sizeof(zero));
	size = le32toh(size);
	if (zero || size > WIRE_PAYLOAD_MAX)
		return FAIL(err, ERROR_INVALID, "not a frame: type %u, size %u", le16toh(type),
		            size);
	if (in->size - WIRE_HEAD_SIZE < size) {
		if (ret_need)
			*ret_need = WIRE_HEAD_SIZE + size - in->size;
		return 0;
	}
	*ret_type = le16toh(type);
	*ret_payload = (struct span){in->data + WIRE_HEAD_SIZE, size};
	span_skip(in, WIRE_HEAD_SIZE + size);
	return 1;
}
