/* SPDX-License-Identifier: Apache-2.0 */
#include "config/otlp.h"

#include <string.h>

#include "base/bytes.h"
#include "config/check.h"

#define HEADER_MAX 4096

static bool is_header_name(struct span name)
{
	static const char letters[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	        "!#$&'*+-.^_`|~";

	for (size_t i = 0; i < name.size; i++)
		if (!memchr(letters, name.data[i], sizeof(letters) - 1))
			return false;
	return name.size > 0;
}

/* Appends the value without its escapes; false: it has a control character or a wrong escape. */
static bool add_value(struct buf *out, struct span value)
{
	while (value.size > 0) {
		int byte = span_take_escaped(&value);

		if (byte < 0 || (byte < ' ' && byte != '\t') || byte == 0x7F)
			return false;
		buf_add_byte(out, (char)byte);
	}
	return !out->overflowed;
}

/* 1: a header was added as a line; 0: none is left; -1: it is malformed. */
static int take_header(struct span *rest, struct buf *out)
{
	struct span pair, name;

	do {
		if (rest->size == 0)
			return 0;
		(void)span_split(rest, ',', &pair);
		pair = span_trim(pair);
	} while (pair.size == 0);
	if (!span_split(&pair, '=', &name) || !is_header_name(span_trim(name)))
		return -1;
	buf_add_span(out, span_trim(name));
	buf_add_text(out, ": ");
	return add_value(out, span_trim(pair)) ? 1 : -1;
}

const char *config_otlp_header_next(struct arena *a, struct span *rest)
{
	AUTO(buf_done) struct buf line = BUF(HEADER_MAX);

	return take_header(rest, &line) > 0 ? arena_text(a, buf_text(&line)) : NULL;
}

int check_otlp_headers(const char *value, struct error *err)
{
	struct span rest = span_of(value);
	int more;

	do {
		AUTO(buf_done) struct buf line = BUF(HEADER_MAX);

		more = take_header(&rest, &line);
	} while (more > 0);
	if (more == 0)
		return 0;
	/* The error does not repeat the value, which may be a secret. */
	(void)FAIL(err, ERROR_INVALID, "the headers for the collector are malformed");
	return FAIL_HINT(err, "write NAME=VALUE,NAME=VALUE; a comma, a '%%' or a control character "
	                      "in a value is escaped as %%2C, %%25, …");
}

int check_otlp_endpoint(const char *value, struct error *err)
{
	const char *host = strncmp(value, "https://", 8) == 0  ? value + 8
	                   : strncmp(value, "http://", 7) == 0 ? value + 7
	                                                       : NULL;

	if (!value[0] || (host && host[0] && host[0] != '/' && !strpbrk(value, "?# \t@")))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%s' is not the URL of a collector", value);
	return FAIL_HINT(err, "its port for OTLP over HTTP is usually 4318: http://127.0.0.1:4318");
}
