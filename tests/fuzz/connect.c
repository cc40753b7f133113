/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes of the Connect protocol, cut from a buffer that grows by pieces of a size that the
 * input's first byte chooses. */
#include "surface/envd/connect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf pending = BUF(CONNECT_MESSAGE_MAX + CONNECT_HEAD_SIZE);
	size_t piece = size > 0 && data[0] ? data[0] : 1;
	volatile char last;
	struct span message;
	struct error err;
	int result = 0;

	for (size_t at = 1; at < size && result == 0; at += piece) {
		size_t count = size - at < piece ? size - at : piece;
		unsigned flags;
		struct span rest;

		buf_add(&pending, data + at, count);
		rest = buf_span(&pending);
		while ((result = connect_take_envelope(&rest, &flags, &message, &err)) > 0)
			for (size_t i = 0; i < message.size; i++)
				last = message.data[i];
		buf_consume(&pending, pending.size - rest.size);
	}
	(void)last;
	if (size > 0)
		(void)!connect_read_single((struct span){(const char *)data, size}, &message, &err);
	return 0;
}
