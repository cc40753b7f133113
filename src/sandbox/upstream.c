/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/upstream.h"

#include <stdio.h>

#define SCHEME "http://"

static int refuse_proxy(struct error *err, const char *why)
{
	(void)FAIL(err, ERROR_INVALID, "the URL of the proxy %s", why);
	return FAIL_HINT(err, "write http://HOST:PORT; HOST is a name or an IPv4 address");
}

/* The address and the name as which a proxy cannot be reached. */
static bool set_host(struct span host, struct upstream_proxy *ret)
{
	struct egress_range range;

	if (egress_range_parse(host, &range)) {
		ret->address = range.first;
		return range.first == range.last && range.first != 0 && span_find(host, '/') < 0;
	}
	(void)snprintf(ret->host, sizeof(ret->host), "%.*s", (int)host.size, host.data);
	return host_name_is_valid(host);
}

int upstream_proxy_parse(const char *text, struct upstream_proxy *ret, struct error *err)
{
	struct span rest = span_of(text), host;
	struct upstream_proxy proxy = {.port = 0};
	struct error ignored = {0};
	int64_t port;

	if (rest.size == 0) {
		*ret = proxy;
		return 0;
	}
	if (span_find(rest, '@') >= 0) {
		(void)FAIL(err, ERROR_INVALID, "the URL of the proxy has a user or a password");
		return FAIL_HINT(err, "write USER:PASSWORD into a file, and name that file with "
		                      "network_proxy_login_file");
	}
	if (!span_starts_with(rest, SCHEME))
		return refuse_proxy(err, "does not begin with http://");
	span_skip(&rest, sizeof(SCHEME) - 1);
	if (rest.size > 0 && rest.data[rest.size - 1] == '/')
		rest.size--;
	if (!span_split(&rest, ':', &host) ||
	    span_parse_whole(rest, 1, UINT16_MAX, &port, &ignored) < 0)
		return refuse_proxy(err, "has no port from 1 to 65535");
	if (!set_host(host, &proxy))
		return refuse_proxy(err, "has neither a host name nor an IPv4 address");
	proxy.port = (uint16_t)port;
	*ret = proxy;
	return 0;
}

int upstream_login_parse(struct span text, struct span *ret, struct error *err)
{
	struct span rest = text, line;

	(void)span_split(&rest, '\n', &line);
	line = span_trim(line);
	if (span_trim(rest).size > 0 || span_find(line, ':') < 1 || line.size > UPSTREAM_LOGIN_MAX)
		return FAIL(err, ERROR_INVALID,
		            "expected one line USER:PASSWORD of at most %d bytes",
		            UPSTREAM_LOGIN_MAX);
	for (size_t i = 0; i < line.size; i++)
		if ((unsigned char)line.data[i] < ' ' || line.data[i] == 0x7F)
			return FAIL(err, ERROR_INVALID, "the login has a control character");
	*ret = line;
	return 0;
}
