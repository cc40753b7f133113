/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/hosts.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define NAME_MAX_BYTES 254

/* Without port, and the dot that a full name may end in. */
static struct span name_of(struct span host)
{
	struct span name = host;

	if (host.size && host.data[0] == '[') {
		ptrdiff_t end = span_find(host, ']');

		return (struct span){host.data, end < 0 ? host.size : (size_t)end + 1};
	}
	(void)span_split(&host, ':', &name);
	if (name.size > 1 && name.data[name.size - 1] == '.')
		name.size--;
	return name;
}

/* False for empty names. */
static bool is_same(struct span a, struct span b)
{
	return a.size > 0 && span_is_same_word(a, b);
}

static bool is_address(struct span name)
{
	char text[NAME_MAX_BYTES];
	struct in_addr v4;

	if (name.size && name.data[0] == '[')
		return true;
	if (name.size >= sizeof(text))
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	return inet_pton(AF_INET, text, &v4) == 1;
}

static bool is_listed(struct span name, const char *list)
{
	struct span rest = span_of(list), item;
	bool more = rest.size > 0;

	while (more) {
		more = span_split(&rest, ',', &item);
		item = span_trim(item);
		if (span_equals_text(item, "*") || is_same(item, name))
			return true;
	}
	return false;
}

static bool is_this_machine(struct span name)
{
	char own[NAME_MAX_BYTES] = "";

	return gethostname(own, sizeof(own) - 1) == 0 && is_same(name, span_of(own));
}

/* What stands before ".DOMAIN", or nothing. */
static struct span label_of_name(const struct config *config, struct span name)
{
	struct span domain = name_of(span_of(config->preview_domain));

	if (!domain.size || name.size < domain.size + 2 || !span_ends_with_word(name, domain) ||
	    name.data[name.size - domain.size - 1] != '.')
		return (struct span){NULL, 0};
	return (struct span){name.data, name.size - domain.size - 1};
}

/* "localhost", and what stands below it */
static bool is_localhost(struct span name)
{
	struct span below = SPAN(".localhost");

	return is_same(name, SPAN("localhost")) ||
	       (name.size > below.size && span_ends_with_word(name, below));
}

static bool name_is_shared(const struct config *config, struct span name)
{
	return is_address(name) || label_of_name(config, name).size > 0 || is_localhost(name) ||
	       is_listed(name, config->hosts);
}

static struct span origin_host(const struct config *config)
{
	const char *slashes = strstr(config->preview_origin, "//");

	return slashes ? span_of(slashes + 2) : (struct span){NULL, 0};
}

struct span host_label(const struct config *config, struct span host)
{
	return label_of_name(config, name_of(host));
}

bool host_is_preview_origin(const struct config *config, struct span host)
{
	return is_same(host, origin_host(config));
}

bool host_is_shared(const struct config *config, struct span host)
{
	return name_is_shared(config, name_of(host)) || host_is_preview_origin(config, host);
}

bool host_is_ours(const struct config *config, struct span host)
{
	struct span name = name_of(host);
	struct span listen = name_of(span_of(config->listen));

	return name_is_shared(config, name) || is_same(name, listen) || is_this_machine(name);
}
