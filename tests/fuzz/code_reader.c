/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel in a sandbox says: both streams, in pieces. */
#include <stdint.h>
#include <stdlib.h>

#include "code/reader.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_event(void *context, const struct code_event *event)
{
	struct code_reader *r = context;
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	if (!r->has_begun || (event->text.size > 0 && !event->text.data))
		abort();
	if (event->kind == CODE_RESULT)
		json_write(&out, &code_result_shape, event->result);
	/* A line of NDJSON. */
	for (size_t i = 0; i < out.size; i++)
		if (out.data[i] == '\n')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(code_reader_done) struct code_reader r;

	code_reader_init(&r, "0123456789abcdef");
	r.on_event = on_event;
	r.context = &r;
	/* The first byte of a piece says of which stream it is and how long. */
	while (size > 1) {
		size_t piece = 1 + (data[0] >> 1);

		piece = piece < size - 1 ? piece : size - 1;
		code_reader_feed(&r, data[0] & 1 ? AGENT_STDERR : AGENT_STDOUT,
		                 (struct span){(const char *)data + 1, piece});
		data += 1 + piece;
		size -= 1 + piece;
	}
	(void)code_reader_is_over(&r);
	return 0;
}
