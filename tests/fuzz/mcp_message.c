/* SPDX-License-Identifier: Apache-2.0 */
/* A version header, a method header, a name header and a body, parted by newlines. What is taken
 * for a message must be answerable: its id is JSON that comes back as it was. */
#include <stdlib.h>
#include <string.h>

#include "surface/mcp/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *header(struct arena *a, struct span *rest)
{
	struct span line = {NULL, 0};

	if (!span_split(rest, '\n', &line))
		*rest = line;
	return line.size > 0 && span_find(line, '\0') < 0 ? arena_copy(a, line) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct span rest = {(const char *)data, size};
	struct mcp_headers headers = {.version = header(&a, &rest)};
	const struct json_value *answer;
	struct mcp_message message;
	struct mcp_fault fault = {.code = 0};
	struct error err;

	headers.method = header(&a, &rest);
	headers.name = header(&a, &rest);
	if (mcp_parse(&a, rest, &headers, &message, &fault) == 0) {
		if (message.is_modern && message.id.size > 0 && !message.version)
			abort();
		fault = (struct mcp_fault){.code = MCP_NO_METHOD, .text = "x"};
	} else if (fault.code == 0 || fault.status < 400) {
		abort();
	}
	mcp_write_fault(&out, message.id, &fault);
	if (out.overflowed || json_load(&a, buf_span(&out), &answer, &err) < 0)
		abort();
	return 0;
}
