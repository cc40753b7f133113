/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/uplink6.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"

#define ROUTES_MAX ((size_t)4 << 20)
#define LISTING_MAX 4096
#define OPTIONS "/proc/sys/net/ipv6/conf/"
#define NAME_MAX_SIZE 15
#define PATH_SIZE 96
#define FIELDS 10 /* destination, its bits, source, its bits, next hop, metric, …, flags, name */
#define FIELD_FLAGS 8

/* Splits at any number of blanks; returns how many fields the line has, at most FIELDS. */
static unsigned split_fields(struct span line, struct span fields[FIELDS])
{
	unsigned count = 0;

	while (line.size > 0 && count < FIELDS) {
		(void)span_split(&line, ' ', &fields[count]);
		count += fields[count].size > 0;
	}
	return count;
}

static bool is_zero(struct span digits)
{
	for (size_t i = 0; i < digits.size; i++)
		if (digits.data[i] != '0')
			return false;
	return digits.size > 0;
}

static unsigned long parse_hex(struct span digits)
{
	unsigned long number = 0;

	for (size_t i = 0; i < digits.size && i < 8; i++) {
		int digit = hex_digit_value(digits.data[i]);

		if (digit < 0)
			return 0;
		number = number << 4 | (unsigned)digit;
	}
	return number;
}

bool network_next_uplink6(struct span *rest, struct span *ret_name)
{
	struct span line, fields[FIELDS];

	while (rest->size > 0) {
		(void)span_split(rest, '\n', &line);
		if (split_fields(line, fields) < FIELDS || !is_zero(fields[0]) ||
		    !is_zero(fields[1]) || !is_zero(fields[3]))
			continue;
		/* The kernel lists a route to nowhere, on loopback, where there is no other. */
		if ((parse_hex(fields[FIELD_FLAGS]) & (RTF_UP | RTF_REJECT)) != RTF_UP ||
		    span_equals_text(fields[FIELDS - 1], "lo") ||
		    fields[FIELDS - 1].size > NAME_MAX_SIZE)
			continue;
		*ret_name = fields[FIELDS - 1];
		return true;
	}
	return false;
}

static void force_path(struct span link, char out[PATH_SIZE])
{
	(void)snprintf(out, PATH_SIZE, OPTIONS "%.*s/force_forwarding", (int)link.size, link.data);
}

static bool option_is(const char *path, char value)
{
	AUTO(buf_done) struct buf text = BUF(16);
	struct error ignored = {0};

	return file_read(AT_FDCWD, path, &text, &ignored) == 0 && text.size > 0 &&
	       text.data[0] == value;
}

bool network_links_get_ipv6(void)
{
	return option_is(OPTIONS "default/disable_ipv6", '0');
}

/* Whether a server on this host has let the interface forward: the nft table remembers it. What
 * forwarded before forwards for others, too, and stays as it is. */
static bool was_forced(struct span name)
{
	AUTO(buf_done) struct buf script = BUF(256), listing = BUF(LISTING_MAX), quoted = BUF(64);
	struct error ignored = {0};

	buf_addf(&quoted, "\"%.*s\"", (int)name.size, name.data);
	buf_add_text(&script, "add table inet atoll\nadd set inet atoll forced6 { type ifname; }\n"
	                      "list set inet atoll forced6\n");
	return network_nft(buf_span(&script), &listing, &ignored) == 0 &&
	       strstr(buf_text(&listing), buf_text(&quoted));
}

static bool note_forced(struct host_network *n, struct span name)
{
	for (unsigned i = 0; i < n->forced6_count; i++)
		if (span_equals_text(name, n->forced6[i]))
			return true;
	if (n->forced6_count == NETWORK_FORCED_MAX)
		return false;
	(void)snprintf(n->forced6[n->forced6_count++], NETWORK_LINK_SIZE, "%.*s", (int)name.size,
	               name.data);
	return true;
}

static bool force_uplinks(struct host_network *n, struct span routes)
{
	struct error ignored = {0};
	struct span name;

	while (network_next_uplink6(&routes, &name)) {
		char path[PATH_SIZE];

		force_path(name, path);
		if (option_is(path, '1') && !was_forced(name))
			continue;
		if (!note_forced(n, name) || file_poke(AT_FDCWD, path, "1", &ignored) < 0)
			return false;
	}
	return true;
}

void network_release_uplinks6(void)
{
	AUTO(buf_done) struct buf listing = BUF(LISTING_MAX);
	struct error ignored = {0};
	struct span rest, name;
	bool is_name = false;

	if (network_nft(SPAN("list set inet atoll forced6\n"), &listing, &ignored) < 0)
		return;
	/* Nothing else in it has quotes: elements = { "eth0", "eth1" }. */
	for (rest = buf_span(&listing); rest.size > 0; is_name = !is_name) {
		char path[PATH_SIZE];

		(void)span_split(&rest, '"', &name);
		if (!is_name || name.size > NAME_MAX_SIZE)
			continue;
		force_path(name, path);
		if (file_poke(AT_FDCWD, path, "0", &ignored) < 0 && ignored.sys_errno != ENOENT)
			log_warning("an interface goes on to forward IPv6", FAILURE(&ignored));
		error_clear(&ignored);
	}
}

/* Why sandboxes have no IPv6, or NULL. */
static const char *find_obstacle(struct host_network *n)
{
	AUTO(buf_done) struct buf text = BUF(ROUTES_MAX);
	struct error ignored = {0};
	struct span rest, name;

	if (!n->wants_ipv6)
		return "the option network_ipv6 is off";
	if (n->is_proxied)
		return "all connections leave through network_proxy";
	if (file_read(AT_FDCWD, "/proc/net/ipv6_route", &text, &ignored) < 0)
		return "the host's kernel has no IPv6";
	rest = buf_span(&text);
	if (!network_next_uplink6(&rest, &name))
		return "the host has no default route of IPv6";
	if (!network_links_get_ipv6())
		return "interfaces get none: net.ipv6.conf.default.disable_ipv6";
	n->forces_ipv6 = !option_is(OPTIONS "all/forwarding", '1');
	if (n->forces_ipv6 && !force_uplinks(n, buf_span(&text)))
		return "the host does not forward IPv6, and its kernel cannot for single "
		       "interfaces: docs/operate/network.md";
	return NULL;
}

void network_prepare_ipv6(struct host_network *n)
{
	const char *obstacle;

	n->ipv6 = n->forces_ipv6 = false;
	if (!n->usable)
		return;
	obstacle = find_obstacle(n);
	n->ipv6 = !obstacle;
	if (obstacle)
		log_info("sandboxes have no IPv6", TEXT("because", obstacle));
	else
		log_info("sandboxes have IPv6",
		         TEXT("forwarding", n->forces_ipv6 ? "for their links" : "by the host"));
}
