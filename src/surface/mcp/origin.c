/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/origin.h"

#include <string.h>

#include "base/bytes.h"

/* "name" of "name:port", "[::1]" of "[::1]:port". */
static struct span name_of(struct span text)
{
	ptrdiff_t end = text.size > 0 && text.data[0] == '[' ? span_find(text, ']') + 1
	                                                     : span_find(text, ':');

	if (end > 0)
		text.size = (size_t)end;
	return text;
}

/* False for empty names. */
static bool is_same(struct span a, struct span b)
{
	return a.size > 0 && span_is_same_word(a, b);
}

static bool is_local(struct span name)
{
	return is_same(name, SPAN("localhost")) || is_same(name, SPAN("127.0.0.1")) ||
	       is_same(name, SPAN("[::1]"));
}

static bool is_listed(struct span name, const char *list)
{
	struct span rest = span_of(list), item;

	while (rest.size > 0) {
		(void)span_split(&rest, ',', &item);
		item = span_trim(item);
		if (span_equals_text(item, "*") || is_same(item, name))
			return true;
	}
	return false;
}

/* "null", that of a page without one, has none. */
static struct span origin_name(const char *origin)
{
	const char *name = strstr(origin, "://");

	return name ? name_of(span_of(name + 3)) : (struct span){NULL, 0};
}

static int refuse_header(const char *header, const char *value, struct error *err)
{
	(void)FAIL(err, ERROR_FORBIDDEN, "%s '%.100s' may not use this server", header, value);
	return FAIL_HINT(err, "a name that is right goes into the option hosts");
}

int mcp_origin_check(const struct mcp_origin *o, struct error *err)
{
	struct span host = name_of(span_of(o->host ? o->host : "")), origin;
	bool is_private = is_local(name_of(span_of(o->listen)));

	if (is_private && !o->is_unix && !is_local(host) && !is_listed(host, o->hosts))
		return refuse_header("Host", o->host ? o->host : "", err);
	if (!o->origin)
		return 0;
	origin = origin_name(o->origin);
	if (is_same(origin, host) || (is_private && is_local(origin)) ||
	    (origin.size > 0 && is_listed(origin, o->hosts)))
		return 0;
	return refuse_header("Origin", o->origin, err);
}
