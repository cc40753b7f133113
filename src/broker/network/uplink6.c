/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/uplink6.h"

#include <fcntl.h>
#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/network/forced.h"
#include "broker/network/network.h"

#define ROUTES_MAX ((size_t)4 << 20)
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

bool network_option6_is(const char *name, char value)
{
	AUTO(buf_done) struct buf path = BUF(PATH_SIZE), text = BUF(16);
	struct error ignored = {0};

	buf_addf(&path, NETWORK_OPTIONS6 "%s", name);
	return file_read(AT_FDCWD, buf_text(&path), &text, &ignored) == 0 && text.size > 0 &&
	       text.data[0] == value;
}

bool network_links_get_ipv6(void)
{
	return network_option6_is("default/disable_ipv6", '0');
}

/* Why sandboxes have no IPv6, or NULL. */
static const char *find_obstacle(struct host_network *n, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(ROUTES_MAX);
	struct error ignored = {0};
	struct span rest, name;

	if (!n->wants_ipv6)
		return "the option network_ipv6 is off";
	if (n->is_proxied)
		return "all connections leave through network_proxy";
	if (network_read_routes(NETWORK_IPV6, &text, &ignored) < 0)
		return "the host's kernel has no IPv6";
	rest = buf_span(&text);
	if (!network_next_uplink6(&rest, &name))
		return "the host has no default route of IPv6";
	if (!network_links_get_ipv6())
		return "interfaces get none: net.ipv6.conf.default.disable_ipv6";
	if (network_is_router(NETWORK_IPV6))
		return NULL;
	if (access(NETWORK_OPTIONS6 "all/force_forwarding", F_OK) < 0)
		return "the host does not forward IPv6, and its kernel cannot for single "
		       "interfaces: docs/operate/network.md";
	return network_forced_set(n, NETWORK_IPV6, buf_span(&text), err) == 0
	               ? NULL
	               : "the host cannot forward for sandboxes alone";
}

void network_prepare_ipv6(struct host_network *n)
{
	struct error err = {0};
	const char *obstacle;

	n->ipv6 = false;
	/* Also without IPv6 of its own the server guards what another one has forced. */
	network_forced_find(n, NETWORK_IPV6);
	if (!n->usable)
		return;
	obstacle = find_obstacle(n, &err);
	n->ipv6 = !obstacle;
	/* A router forwards by itself, and not for sandboxes alone. */
	if (n->forced[NETWORK_IPV6].count > 0 && network_is_router(NETWORK_IPV6))
		network_forced_release(n, NETWORK_IPV6);
	if (obstacle && err.code != ERROR_NONE)
		log_warning("sandboxes have no IPv6", TEXT("because", obstacle), FAILURE(&err));
	else if (obstacle && obstacle != n->obstacle6)
		log_info("sandboxes have no IPv6", TEXT("because", obstacle));
	else if (!obstacle)
		log_info("sandboxes have IPv6",
		         TEXT("forwarding",
		              network_is_router(NETWORK_IPV6) ? "by the host" : "for their links"));
	n->obstacle6 = obstacle;
}

bool network_gained_uplink6(const struct host_network *n)
{
	AUTO(buf_done) struct buf text = BUF(ROUTES_MAX);
	struct error ignored = {0};
	struct span rest, name;

	if (!n->usable || n->ipv6 || !n->wants_ipv6 || n->is_proxied ||
	    network_read_routes(NETWORK_IPV6, &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	return network_next_uplink6(&rest, &name);
}
