/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <string.h>

#include "base/bytes.h"
#include "config/check.h"
#include "config/url.h"

#define SCHEME "http://"
#define PORT_USUAL 80

static int refuse_callback(const char *url, struct error *err)
{
	(void)FAIL(err, ERROR_INVALID, "'%.100s' is not a URL that an agent can post to", url);
	return FAIL_HINT(err, "use plain http and a numeric address, such as http://10.0.0.5:7777");
}

/* "10.0.0.5:80", "10.0.0.5" or "[2001:db8::5]:80". */
static bool parse_authority(struct span text, struct config_callback *ret)
{
	unsigned char address[16];
	struct span host = text, port = {NULL, 0};
	ptrdiff_t end = text.size > 0 && text.data[0] == '[' ? span_find(text, ']') : -1;
	ptrdiff_t colon = end >= 0 ? end + 1 : span_find(text, ':');
	int64_t number = PORT_USUAL;
	bool has_port = colon >= 0 && (size_t)colon < text.size;

	if (has_port) {
		if (text.data[colon] != ':')
			return false;
		host.size = (size_t)colon;
		port = (struct span){text.data + colon + 1, text.size - (size_t)colon - 1};
	}
	if (has_port && span_parse_whole(port, 1, 65535, &number, &(struct error){0}) < 0)
		return false;
	if (end >= 0)
		host = (struct span){text.data + 1, (size_t)end - 1};
	if (host.size >= sizeof(ret->address) || text.size >= sizeof(ret->host))
		return false;
	memcpy(ret->address, host.data, host.size);
	memcpy(ret->host, text.data, text.size);
	ret->port = (uint16_t)number;
	return inet_pton(end >= 0 ? AF_INET6 : AF_INET, ret->address, address) == 1;
}

/* The path goes into a request's first line unescaped. */
static bool is_plain_path(const char *path)
{
	for (; *path; path++)
		if (*path <= ' ' || *path >= 0x7f || strchr("?#", *path))
			return false;
	return true;
}

int config_callback_parse(const char *url, struct config_callback *ret, struct error *err)
{
	struct config_callback callback = {.path = ""};
	const char *authority = url + sizeof(SCHEME) - 1, *slash;
	size_t size;

	if (strncmp(url, "https://", 8) == 0) {
		(void)FAIL(err, ERROR_UNSUPPORTED, "agents do not speak https");
		return FAIL_HINT(err, "give an http address on a network of your own, or none: the "
		                      "server sees the ends of jobs itself");
	}
	if (strncmp(url, SCHEME, sizeof(SCHEME) - 1) != 0)
		return refuse_callback(url, err);
	slash = strchr(authority, '/');
	size = slash ? (size_t)(slash - authority) : strlen(authority);
	if (!parse_authority((struct span){authority, size}, &callback))
		return refuse_callback(url, err);
	size = slash ? strlen(slash) : 0;
	while (size > 0 && slash[size - 1] == '/')
		size--;
	if (size >= sizeof(callback.path) || (slash && !is_plain_path(slash)))
		return refuse_callback(url, err);
	if (size > 0)
		memcpy(callback.path, slash, size);
	*ret = callback;
	return 0;
}

int check_callback(const char *value, struct error *err)
{
	struct config_callback callback;

	return *value ? config_callback_parse(value, &callback, err) : 0;
}
