/* SPDX-License-Identifier: Apache-2.0 */
#include "config/check.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/bytes.h"
#include "config/mask.h"
#include "sandbox/egress_ipv6.h"
#include "sandbox/preview.h"
#include "sandbox/sandbox.h"
#include "sandbox/upstream.h"

/* From 8 to 28: a network of 12 usable addresses is the smallest useful one. */
#define SUBNET_PREFIX_MIN 8
#define NAMESERVERS_MAX 3
#define IPV6_SUBNET_PREFIX_MIN 48
#define IPV6_SUBNET_PREFIX_MAX 96
#define SUBNET_PREFIX_MAX 28

struct config_network {
	int family;
	uint8_t address[16];
	int64_t prefix;
};

static bool copy_text(struct span text, char *out, size_t size)
{
	if (text.size >= size)
		return false;
	memcpy(out, text.data, text.size);
	out[text.size] = '\0';
	return true;
}

static bool parse_address(struct span text, struct config_network *ret)
{
	char copy[INET6_ADDRSTRLEN];

	ret->family = span_find(text, ':') < 0 ? AF_INET : AF_INET6;
	return copy_text(text, copy, sizeof(copy)) &&
	       inet_pton(ret->family, copy, ret->address) == 1;
}

/* Refuses bits after the prefix: a wrong prefix would open or close more than the operator
 * meant. */
static bool parse_network(struct span text, struct config_network *ret)
{
	struct span address;
	int64_t bits;

	if (!span_split(&text, '/', &address) || !parse_address(address, ret))
		return false;
	bits = ret->family == AF_INET ? 32 : 128;
	if (span_parse_whole(text, 0, bits, &ret->prefix, &(struct error){0}) < 0)
		return false;
	for (int64_t bit = ret->prefix; bit < bits; bit++) {
		if (ret->address[bit / 8] & 0x80 >> bit % 8)
			return false;
	}
	return true;
}

static bool parse_host_port(struct span text)
{
	struct config_network host;
	ptrdiff_t colon = -1;
	int64_t port;

	for (size_t i = 0; i < text.size; i++)
		colon = text.data[i] == ':' ? (ptrdiff_t)i : colon;
	if (colon < 1 ||
	    span_parse_whole((struct span){text.data + colon + 1, text.size - (size_t)colon - 1}, 0,
	                     65535, &port, &(struct error){0}) < 0)
		return false;
	text.size = (size_t)colon;
	if (text.data[0] != '[')
		return parse_address(text, &host) && host.family == AF_INET;
	return text.data[text.size - 1] == ']' &&
	       parse_address((struct span){text.data + 1, text.size - 2}, &host) &&
	       host.family == AF_INET6;
}

int check_listen(const char *value, struct error *err)
{
	struct sockaddr_un un;

	if (strncmp(value, "unix:", 5) == 0) {
		if (value[5] == '/' && strlen(value + 5) < sizeof(un.sun_path))
			return 0;
		return FAIL(err, ERROR_INVALID,
		            "expected 'unix:' and an absolute path of at most %zu bytes",
		            sizeof(un.sun_path) - 1);
	}
	if (!parse_host_port(span_of(value)))
		return FAIL(err, ERROR_INVALID,
		            "expected an address and a port such as 127.0.0.1:7777 or [::1]:7777, "
		            "or unix:/path");
	return 0;
}

int check_tls_listen(const char *value, struct error *err)
{
	if (!value[0] || parse_host_port(span_of(value)))
		return 0;
	return FAIL(err, ERROR_INVALID,
	            "expected an address and a port such as 0.0.0.0:443 or [::]:443");
}

int check_subnet(const char *value, struct error *err)
{
	struct config_network network;

	if (!parse_network(span_of(value), &network) || network.family != AF_INET ||
	    network.prefix < SUBNET_PREFIX_MIN || network.prefix > SUBNET_PREFIX_MAX)
		return FAIL(err, ERROR_INVALID,
		            "expected an IPv4 network from /%d to /%d such as 10.213.0.0/16",
		            SUBNET_PREFIX_MIN, SUBNET_PREFIX_MAX);
	return 0;
}

int check_ipv6_subnet(const char *value, struct error *err)
{
	struct config_network network;

	if (!parse_network(span_of(value), &network) || network.family != AF_INET6 ||
	    network.prefix < IPV6_SUBNET_PREFIX_MIN || network.prefix > IPV6_SUBNET_PREFIX_MAX ||
	    (network.address[0] & 0xfe) != 0xfc)
		return FAIL(err, ERROR_INVALID,
		            "expected an IPv6 network in fc00::/7 from /%d to /%d such as "
		            "fd61:746f:6c6c::/64",
		            IPV6_SUBNET_PREFIX_MIN, IPV6_SUBNET_PREFIX_MAX);
	return 0;
}

static bool may_open(struct span text)
{
	struct egress_range6 range;

	return !egress_range6_parse(text, &range) || egress_range6_may_open(&range);
}

int check_network_proxy(const char *value, struct error *err)
{
	struct upstream_proxy ignored;

	return upstream_proxy_parse(value, &ignored, err);
}

int check_networks(const char *value, struct error *err)
{
	struct span rest = span_of(value), part;
	struct config_network network;

	while (rest.size > 0) {
		(void)span_split(&rest, ',', &part);
		part = span_trim(part);
		if (!parse_network(part, &network))
			return FAIL(err, ERROR_INVALID,
			            "'%.*s': expected networks such as 10.1.0.0/16,fd00::/8, "
			            "without bits after the prefix",
			            (int)part.size, part.data);
		if (!may_open(part))
			return FAIL(err, ERROR_INVALID,
			            "'%.*s': IPv6 networks are opened in fc00::/7, and in 2000::/3 "
			            "without 6to4 and Teredo",
			            (int)part.size, part.data);
	}
	return 0;
}

int check_nameservers(const char *value, struct error *err)
{
	struct span rest = span_of(value), part;
	struct config_network network;

	for (unsigned i = 0; rest.size > 0; i++) {
		(void)span_split(&rest, ',', &part);
		if (i == NAMESERVERS_MAX || !parse_address(span_trim(part), &network) ||
		    network.family != AF_INET)
			return FAIL(err, ERROR_INVALID,
			            "expected at most %d IPv4 addresses such as 1.1.1.1,9.9.9.9",
			            NAMESERVERS_MAX);
	}
	return 0;
}

int check_store(const char *value, struct error *err)
{
	static const char *const schemes[] = {"sqlite:", "postgres:", "postgresql:"};

	if (!*value)
		return 0;
	if (strstr(value, MASK)) {
		(void)FAIL(err, ERROR_INVALID, "holds asterisks where a secret was hidden");
		return FAIL_HINT(err, "write the password itself");
	}
	for (size_t i = 0; i < COUNT_OF(schemes); i++)
		if (span_starts_with(span_of(value), schemes[i]) && value[strlen(schemes[i])])
			return 0;
	/* The error does not repeat the value, because it may hold a password. */
	(void)FAIL(err, ERROR_INVALID, "not a known kind of database");
	return FAIL_HINT(err, "postgresql://user@host/name, or sqlite:/path/to/atoll.db");
}

#define SECRET_MIN 16
#define HOST_MAX 253

static bool is_host(struct span name)
{
	for (size_t i = 0; i < name.size; i++) {
		char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '.' || c == '_'))
			return false;
	}
	return name.size > 0 && name.size <= HOST_MAX && name.data[0] != '.' &&
	       name.data[name.size - 1] != '.';
}

static bool is_host_and_port(struct span text)
{
	struct span host;
	int64_t port;

	if (!span_split(&text, ':', &host))
		return is_host(host);
	return is_host(host) &&
	       span_parse_whole(text, 1, UINT16_MAX, &port, &(struct error){0}) == 0;
}

int check_hosts(const char *value, struct error *err)
{
	struct span rest = span_of(value), name;
	bool more = rest.size > 0 && !span_equals_text(rest, "*");

	while (more) {
		more = span_split(&rest, ',', &name);
		if (!is_host(span_trim(name)))
			return FAIL(err, ERROR_INVALID,
			            "'%s' is not a list of host names, separated by commas and "
			            "without ports",
			            value);
	}
	return 0;
}

int check_ready_networks(const char *value, struct error *err)
{
	struct span rest = span_of(value), name;
	bool more = true;

	while (more) {
		more = span_split(&rest, ',', &name);
		name = span_trim(name);
		if (!span_equals_text(name, "off") && !span_equals_text(name, "on") &&
		    !span_equals_text(name, "rules"))
			return FAIL(err, ERROR_INVALID,
			            "'%s' is not a list of 'off', 'on' and 'rules', separated by "
			            "commas",
			            value);
	}
	return 0;
}

int check_domain(const char *value, struct error *err)
{
	if (!value[0] || is_host_and_port(span_of(value)))
		return 0;
	return FAIL(err, ERROR_INVALID, "'%s' is not a domain, such as preview.example.com", value);
}

static bool is_origin(struct span text)
{
	size_t scheme = span_starts_with(text, "https://") ? 8 : 7;

	return (scheme == 8 || span_starts_with(text, "http://")) &&
	       is_host_and_port((struct span){text.data + scheme, text.size - scheme});
}

int check_origins(const char *value, struct error *err)
{
	struct span rest = span_of(value), origin;
	bool more = rest.size > 0 && !span_equals_text(rest, "*");

	while (more) {
		more = span_split(&rest, ',', &origin);
		if (!is_origin(span_trim(origin)))
			return FAIL(err, ERROR_INVALID,
			            "'%s' is not origins with commas, such as "
			            "https://app.example.com,http://localhost:3000, and not *",
			            value);
	}
	return 0;
}

int check_origin(const char *value, struct error *err)
{
	if (!value[0] || is_origin(span_of(value)))
		return 0;
	return FAIL(err, ERROR_INVALID,
	            "'%s' is not an origin, such as https://preview.example.com", value);
}

int check_issuer(const char *value, struct error *err)
{
	const char *host = strncmp(value, "https://", 8) == 0  ? value + 8
	                   : strncmp(value, "http://", 7) == 0 ? value + 7
	                                                       : NULL;

	if (!value[0] || (host && host[0] && host[0] != '/' && !strpbrk(value, "?# \t@")))
		return 0;
	return FAIL(err, ERROR_INVALID, "'%s' is not an issuer, such as https://login.example.com",
	            value);
}

static bool is_group_role(struct span row)
{
	static const char *const roles[] = {"viewer", "member", "admin"};
	struct span rest = row, group, role, project;

	if (!span_split(&rest, '=', &group) || !span_split(&rest, '@', &role))
		return false;
	project = span_trim(rest);
	if (!span_trim(group).size || !project.size)
		return false;
	if (span_equals_text(project, "*"))
		return span_equals_text(span_trim(role), "admin");
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (span_equals_text(span_trim(role), roles[i]))
			return true;
	return false;
}

int check_group_roles(const char *value, struct error *err)
{
	struct span rest = span_of(value), row;

	while (rest.size) {
		(void)span_split(&rest, ',', &row);
		if (!is_group_role(row))
			return FAIL(err, ERROR_INVALID,
			            "'%.*s' is not GROUP=ROLE@PROJECT with the role viewer, member "
			            "or admin; the project * takes admin",
			            (int)row.size, row.data);
	}
	return 0;
}

int check_ports(const char *value, struct error *err)
{
	struct preview_ports ports;

	return preview_ports_parse(value, &ports, err);
}

int check_secret(const char *value, struct error *err)
{
	if (!value[0] || strlen(value) >= SECRET_MIN)
		return 0;
	return FAIL(err, ERROR_INVALID, "a secret of %zu characters is shorter than %d",
	            strlen(value), SECRET_MIN);
}
