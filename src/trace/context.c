/* SPDX-License-Identifier: Apache-2.0 */
/* The header traceparent of the W3C recommendation "Trace Context". */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/trace.h"

#define VERSION_SIZE 2
#define TRACE_DIGITS (2 * TRACE_ID_SIZE)
#define SPAN_DIGITS (2 * TRACE_SPAN_ID_SIZE)
#define FLAG_SAMPLED 1

static bool is_zero(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Moves `digits` hexadecimal digits in lower case, and the dash before them, out of the text. */
static bool take_field(struct span *rest, size_t digits, bool has_dash, void *ret)
{
	struct span field;

	if (has_dash && (rest->size == 0 || rest->data[0] != '-'))
		return false;
	if (has_dash)
		span_skip(rest, 1);
	if (rest->size < digits)
		return false;
	field = span_take(rest, digits);
	for (size_t i = 0; i < digits; i++)
		if (field.data[i] >= 'A' && field.data[i] <= 'F')
			return false;
	return hex_decode(field, ret, digits / 2) == 0;
}

bool trace_parse_parent(const char *text, struct trace_span *span)
{
	struct span rest = span_of(text);
	unsigned char version, flags, trace_id[TRACE_ID_SIZE], parent_id[TRACE_SPAN_ID_SIZE];

	if (!take_field(&rest, VERSION_SIZE, false, &version) || version == 0xFF ||
	    !take_field(&rest, TRACE_DIGITS, true, trace_id) ||
	    !take_field(&rest, SPAN_DIGITS, true, parent_id) || !take_field(&rest, 2, true, &flags))
		return false;
	/* A later version may have further fields after a dash; version 0 ends here. */
	if (rest.size > 0 && (version == 0 || rest.data[0] != '-'))
		return false;
	if (is_zero(trace_id, sizeof(trace_id)) || is_zero(parent_id, sizeof(parent_id)))
		return false;
	memcpy(span->trace_id, trace_id, sizeof(trace_id));
	memcpy(span->parent_id, parent_id, sizeof(parent_id));
	span->is_recorded = flags & FLAG_SAMPLED;
	return true;
}

bool trace_format_parent(const struct trace_span *span, char ret[TRACE_PARENT_SIZE])
{
	char trace_id[TRACE_DIGITS + 1], id[SPAN_DIGITS + 1];

	ret[0] = '\0';
	if (!span || !span->is_known)
		return false;
	hex_encode(span->trace_id, TRACE_ID_SIZE, trace_id);
	hex_encode(span->id, TRACE_SPAN_ID_SIZE, id);
	(void)snprintf(ret, TRACE_PARENT_SIZE, "00-%s-%s-%02x", trace_id, id,
	               span->is_recorded ? FLAG_SAMPLED : 0U);
	return true;
}

bool trace_format_line(char ret[TRACE_LINE_SIZE])
{
	char parent[TRACE_PARENT_SIZE];

	if (!trace_format_parent(trace_current(), parent))
		return false;
	(void)snprintf(ret, TRACE_LINE_SIZE, "traceparent: %s", parent);
	return true;
}
