/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/preview.h"

#include "base/bytes.h"

static int parse_port(struct span text, uint16_t *ret, struct error *err)
{
	int64_t port;

	if (span_parse_whole(text, 1, UINT16_MAX, &port, err) < 0)
		return FAIL(err, ERROR_INVALID, "port '%.*s' is not a number from 1 to 65535",
		            (int)(text.size < 32 ? text.size : 32), text.data);
	*ret = (uint16_t)port;
	return 0;
}

int preview_port_parse(const char *text, uint16_t *ret, struct error *err)
{
	return parse_port(span_of(text), ret, err);
}

static int parse_range(struct span text, struct preview_ports *ret, struct error *err)
{
	struct span first;
	bool is_range = span_split(&text, '-', &first);
	unsigned i = ret->count;

	if (i == PREVIEW_RANGES_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d ports and ranges", PREVIEW_RANGES_MAX);
	if (parse_port(span_trim(first), &ret->ranges[i].first, err) < 0)
		return -1;
	ret->ranges[i].last = ret->ranges[i].first;
	if (is_range && parse_port(span_trim(text), &ret->ranges[i].last, err) < 0)
		return -1;
	if (ret->ranges[i].last < ret->ranges[i].first)
		return FAIL(err, ERROR_INVALID, "ports %u-%u end before they begin",
		            ret->ranges[i].first, ret->ranges[i].last);
	ret->count++;
	return 0;
}

int preview_ports_parse(const char *text, struct preview_ports *ret, struct error *err)
{
	struct span rest = span_trim(span_of(text)), part;
	struct preview_ports ports = {.any = span_equals_text(rest, "any")};
	bool more = rest.size > 0 && !ports.any;

	while (more) {
		more = span_split(&rest, ',', &part);
		if (parse_range(span_trim(part), &ports, err) < 0)
			return -1;
	}
	*ret = ports;
	return 0;
}

bool preview_port_is_reserved(uint16_t port)
{
	return port == 49983 || port == 49999;
}

bool preview_ports_has(const struct preview_ports *ports, uint16_t port)
{
	if (preview_port_is_reserved(port))
		return false;
	for (unsigned i = 0; i < ports->count; i++)
		if (port >= ports->ranges[i].first && port <= ports->ranges[i].last)
			return true;
	return ports->any;
}
