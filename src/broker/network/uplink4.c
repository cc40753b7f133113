/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/network/uplink4.h"

#include "base/log.h"
#include "broker/network/forced.h"
#include "broker/network/network.h"

#define ROUTES_MAX ((size_t)4 << 20)

bool network_next_uplink4(struct span *rest, struct span *ret_name)
{
	struct span line, destination;

	while (rest->size > 0) {
		(void)span_split(rest, '\n', &line);
		(void)span_split(&line, '\t', ret_name);
		(void)span_split(&line, '\t', &destination);
		/* A route to nowhere has the name "*". */
		if (span_equals_text(destination, "00000000") && ret_name->size > 0 &&
		    ret_name->size < NETWORK_LINK_SIZE && !span_equals_text(*ret_name, "*"))
			return true;
	}
	return false;
}

/* The interfaces of a router are left as its administrator has set them. */
static int forward_uplinks(struct host_network *n, struct span routes, struct error *err)
{
	if (!network_is_router(NETWORK_IPV4))
		return network_forced_set(n, NETWORK_IPV4, routes, err);
	if (n->forced[NETWORK_IPV4].count > 0)
		network_forced_release(n, NETWORK_IPV4);
	if (!network_uplinks_forward(NETWORK_IPV4, routes))
		log_warning("answers may not reach sandboxes: the host is a router, but an "
		            "interface with a default route does not forward IPv4");
	return 0;
}

void network_prepare_ipv4(struct host_network *n)
{
	AUTO(buf_done) struct buf text = BUF(ROUTES_MAX);
	struct span rest, name;

	n->usable = false;
	/* Also without a default route the server guards what another one has forced. */
	network_forced_find(n, NETWORK_IPV4);
	if (network_read_routes(NETWORK_IPV4, &text, &n->problem) < 0 ||
	    forward_uplinks(n, buf_span(&text), &n->problem) < 0)
		return;
	rest = buf_span(&text);
	n->has_uplink = network_next_uplink4(&rest, &name);
	n->usable = true;
}

bool network_gained_uplink(const struct host_network *n)
{
	AUTO(buf_done) struct buf text = BUF(ROUTES_MAX);
	struct error ignored = {0};
	struct span rest, name;

	if (n->has_uplink || network_read_routes(NETWORK_IPV4, &text, &ignored) < 0)
		return false;
	rest = buf_span(&text);
	return network_next_uplink4(&rest, &name);
}
