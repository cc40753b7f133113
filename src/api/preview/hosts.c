/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a request is, by its Host. A browser can be led here by any name that somebody else owns;
 * only those are answered that we are known by. An address is no such name. */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "api/preview/preview.h"
#include "sandbox/preview.h"

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

/* What is empty names nothing. */
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
static struct span label_of(const struct config *config, struct span name)
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

static bool is_shared(const struct config *config, struct span name)
{
	return is_address(name) || label_of(config, name).size > 0 || is_localhost(name) ||
	       is_listed(name, config->hosts);
}

static bool is_ours(const struct config *config, struct span name)
{
	struct span listen = name_of(span_of(config->listen));

	return is_shared(config, name) || is_same(name, listen) || is_this_machine(name);
}

static struct span origin_host(const struct config *config)
{
	const char *slashes = strstr(config->preview_origin, "//");

	return slashes ? span_of(slashes + 2) : (struct span){NULL, 0};
}

/* Below the domain, the server has two names of its own, which clients of E2B know. */
static bool is_place(struct span label)
{
	return label.size > 0 && !is_same(label, SPAN("api")) && !is_same(label, SPAN("sandbox"));
}

bool preview_host_is_place(const struct config *config, struct span host)
{
	return is_place(label_of(config, name_of(host)));
}

bool preview_host_is_shared(const struct config *config, struct span host)
{
	return is_shared(config, name_of(host)) || is_same(host, origin_host(config));
}

struct http_host preview_find_host(void *context, struct span host)
{
	const struct config *config = ((const struct api *)context)->config;
	struct span name = name_of(host);

	if (is_place(label_of(config, name)))
		return (struct http_host){.route = &preview_host_route};
	/* By its port, too: it may be another one of the same machine. */
	if (is_same(host, origin_host(config)))
		return (struct http_host){.below = PREVIEW_BASE};
	return (struct http_host){.is_refused = !is_ours(config, name)};
}

int preview_host_parse(const struct config *config, struct span host, char ret_id[],
                       uint16_t *ret_port, struct error *err)
{
	struct span label = label_of(config, name_of(host)), port;
	char text[8];

	if (!span_split(&label, '-', &port) || port.size >= sizeof(text) || label.size != ID_SIZE)
		return FAIL(err, ERROR_NOT_FOUND, "the host is not PORT-ID.%s",
		            config->preview_domain);
	memcpy(text, port.data, port.size);
	text[port.size] = '\0';
	/* Browsers write hosts in lower case, as ids are. */
	for (size_t i = 0; i < label.size; i++)
		ret_id[i] = (char)(label.data[i] >= 'A' && label.data[i] <= 'Z' ? label.data[i] | 32
		                                                                : label.data[i]);
	ret_id[label.size] = '\0';
	if (preview_port_parse(text, ret_port, err) < 0 || !id_is_valid(ret_id))
		return FAIL(err, ERROR_NOT_FOUND, "the host is not PORT-ID.%s",
		            config->preview_domain);
	return 0;
}
