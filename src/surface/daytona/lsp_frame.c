/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/lsp_frame.h"

#include <string.h>

#define LENGTH "Content-Length:"
#define END "\r\n\r\n"
#define HEAD_MAX 1024

void lsp_frame_add(struct buf *out, struct span message)
{
	buf_addf(out, LENGTH " %zu" END, message.size);
	buf_add_span(out, message);
}

/* Returns NULL if the text does not occur. */
static const char *find_bytes(struct span in, const char *text)
{
	return memmem(in.data, in.size, text, strlen(text));
}

/* Reads the number between "Content-Length:" and the end of the line. */
static bool read_length(struct span head, int64_t *ret)
{
	struct error ignored;
	struct span line;

	(void)span_split(&head, '\r', &line);
	return span_parse_whole(span_trim(line), 2, LSP_MESSAGE_MAX, ret, &ignored) == 0;
}

bool lsp_frame_next(const struct buf *in, size_t *at, struct span *ret)
{
	for (;;) {
		struct span rest = {in->data + *at, in->size - *at};
		const char *length = rest.size > 0 ? find_bytes(rest, LENGTH) : NULL, *end;
		int64_t size;

		if (!length)
			return false;
		rest.size -= (size_t)(length - rest.data) + strlen(LENGTH);
		rest.data = length + strlen(LENGTH);
		end = find_bytes(rest, END);
		if (!end && rest.size < HEAD_MAX)
			return false;
		*at = (size_t)(rest.data - in->data);
		if (!end ||
		    !read_length((struct span){rest.data, (size_t)(end - rest.data)}, &size))
			continue;
		rest.size -= (size_t)(end - rest.data) + strlen(END);
		rest.data = end + strlen(END);
		if (rest.size > 0 && rest.data[0] != '{')
			continue;
		if (rest.size < (size_t)size) {
			*at = (size_t)(length - in->data);
			return false;
		}
		*ret = (struct span){rest.data, (size_t)size};
		*at = (size_t)(rest.data - in->data) + (size_t)size;
		return true;
	}
}
