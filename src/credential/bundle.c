/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox's own bundle of certificates, and the sandbox's authority in it. */
#include <string.h>

#include "credential/authority.h"
#include "json/base64.h"

#define BEGIN "-----BEGIN "
#define END "-----END "
#define CERTIFICATE_SIZE_MAX ((size_t)16 * 1024) /* of an authority's PEM block */

/* Moves past a PEM block that the text begins with, and the rest of its last line. Without an end
 * of its own, the block goes to the next one, or is the whole text. */
static struct span take_block(struct span *rest)
{
	const struct span inside = span_after(*rest, strlen(BEGIN));
	const char *next = memmem(inside.data, inside.size, BEGIN, strlen(BEGIN));
	size_t size = next ? (size_t)(next - rest->data) : rest->size;
	const char *end = memmem(rest->data, size, END, strlen(END));
	const char *line_end = end ? memchr(end, '\n', size - (size_t)(end - rest->data)) : NULL;

	return span_take(rest, line_end ? (size_t)(line_end + 1 - rest->data) : size);
}

/* The bytes between the first and the last line, without line breaks. */
static struct span content_of(struct arena *a, struct span block)
{
	AUTO(buf_done) struct buf text = BUF(CERTIFICATE_SIZE_MAX);
	struct span line, decoded = {NULL, 0};

	(void)span_split(&block, '\n', &line);
	while (span_split(&block, '\n', &line) && !span_starts_with(line, END)) {
		if (line.size > 0 && line.data[line.size - 1] == '\r')
			line.size--;
		buf_add_span(&text, span_trim(line));
	}
	if (text.overflowed || !base64_decode(a, buf_span(&text), &decoded))
		return (struct span){NULL, 0};
	return decoded;
}

static bool is_of_a_sandbox(struct arena *a, struct span block)
{
	struct span content = content_of(a, block);

	return content.size > 0 && memmem(content.data, content.size, CREDENTIAL_AUTHORITY_NAME,
	                                  strlen(CREDENTIAL_AUTHORITY_NAME));
}

void credential_bundle_update(struct buf *out, struct span bundle, const char *certificate)
{
	AUTO(arena_done) struct arena a = {0};

	while (bundle.size > 0) {
		const char *begin = memmem(bundle.data, bundle.size, BEGIN, strlen(BEGIN));
		struct span block;

		buf_add_span(out, span_take(&bundle,
		                            begin ? (size_t)(begin - bundle.data) : bundle.size));
		if (!begin)
			break;
		block = take_block(&bundle);
		if (!is_of_a_sandbox(&a, block))
			buf_add_span(out, block);
		arena_reset(&a);
	}
	if (out->size > 0 && out->data[out->size - 1] != '\n')
		buf_add_byte(out, '\n');
	buf_add_text(out, certificate);
}
