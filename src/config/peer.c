/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <string.h>

#include "base/bytes.h"
#include "config/check.h"
#include "config/url.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443

static int refuse_peer(const char *url, struct error *err)
{
	(void)FAIL(err, ERROR_INVALID, "'%.100s' is no address of a server", url);
	return FAIL_HINT(err, "such as http://10.0.0.2:7777 or https://atoll-2.example.com: "
	                      "without a user, a path or a query");
}

static bool is_name(struct span text)
{
	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '.'))
			return false;
	}
	return text.size > 0 && text.data[0] != '.' && text.data[0] != '-';
}

/* False for an address that means all addresses of a machine: peers cannot connect to it. */
static bool is_somewhere(const char *host)
{
	unsigned char address[16], none[16] = {0};

	if (inet_pton(AF_INET, host, address) == 1)
		return memcmp(address, none, 4) != 0;
	return inet_pton(AF_INET6, host, address) != 1 || memcmp(address, none, 16) != 0;
}

static bool take_host(struct span text, bool is_v6, struct config_peer *ret)
{
	unsigned char address[16];

	if (text.size >= sizeof(ret->host) || (!is_v6 && !is_name(text)))
		return false;
	memcpy(ret->host, text.data, text.size);
	ret->host[text.size] = '\0';
	return (!is_v6 || inet_pton(AF_INET6, ret->host, address) == 1) && is_somewhere(ret->host);
}

int config_peer_parse(const char *url, struct config_peer *ret, struct error *err)
{
	struct config_peer peer = {.is_https = strncmp(url, "https://", 8) == 0};
	struct span rest = span_of(url), host;
	int64_t port = peer.is_https ? PORT_HTTPS : PORT_HTTP;
	size_t scheme = peer.is_https ? 8 : 7;
	ptrdiff_t end;
	bool is_v6;

	if (!peer.is_https && strncmp(url, "http://", 7) != 0)
		return refuse_peer(url, err);
	span_skip(&rest, scheme);
	is_v6 = rest.size > 0 && rest.data[0] == '[';
	if (is_v6) {
		end = span_find(rest, ']');
		if (end < 0)
			return refuse_peer(url, err);
		host = (struct span){rest.data + 1, (size_t)end - 1};
		end++;
	} else {
		end = span_find(rest, ':');
		end = end < 0 ? (ptrdiff_t)rest.size : end;
		host = (struct span){rest.data, (size_t)end};
	}
	span_skip(&rest, (size_t)end);
	if (rest.size > 0 &&
	    (rest.data[0] != ':' || span_parse_whole((struct span){rest.data + 1, rest.size - 1}, 1,
	                                             UINT16_MAX, &port, &(struct error){0}) < 0))
		return refuse_peer(url, err);
	if (!take_host(host, is_v6, &peer))
		return refuse_peer(url, err);
	peer.port = (uint16_t)port;
	*ret = peer;
	return 0;
}

int check_peer(const char *value, struct error *err)
{
	struct config_peer peer;

	return *value ? config_peer_parse(value, &peer, err) : 0;
}
