/* SPDX-License-Identifier: Apache-2.0 */
/* A map leads from the address of a sandbox to a chain of its slot, which translates to the source
 * address. A base chain behind all translation drops what these sandboxes would send with an
 * address that the host does not have: it may be taken from the host at any time. */
#include "broker/network/source.h"

#include "broker/network/egress.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"
#include "sandbox/egress.h"

#define SET "add set inet atoll sourced { type ipv4_addr; "
#define MAP "add map inet atoll sources { type ipv4_addr : verdict; "

void network_source_sets(struct buf *out)
{
	buf_add_text(out, SET "}\n" MAP "}\n");
}

/* What all slots share. A sandbox without a source address has none of this, because a kernel may
 * lack the expression fib. It comes before the masquerade of others. */
static void add_frame(struct buf *out)
{
	network_source_sets(out);
	buf_add_text(out,
	             "add chain inet atoll source { type nat hook postrouting priority 99; }\n"
	             "flush chain inet atoll source\n"
	             "add rule inet atoll source oifname != \"atoll*\" ip saddr vmap @sources\n"
	             "add chain inet atoll leaving { type filter hook postrouting priority 101; }\n"
	             "flush chain inet atoll leaving\n"
	             "add rule inet atoll leaving oifname != \"atoll*\" ct direction original ct "
	             "original ip saddr @sourced fib saddr type != local drop\n");
}

static int add_own(struct buf *out, const struct host_network *n, uint32_t slot, struct error *err)
{
	uint32_t address;

	if (network_address(n, slot, &address, err) < 0)
		return -1;
	buf_addf(out,
	         "add chain inet atoll source%u\nflush chain inet atoll source%u\n" SET
	         "elements = { ",
	         slot, slot);
	network_add_address(out, address);
	buf_add_text(out, " }; }\n" MAP "elements = { ");
	network_add_address(out, address);
	buf_addf(out, " : jump source%u }; }\n", slot);
	return 0;
}

void network_source_removal(struct buf *out, const struct host_network *n, uint32_t slot)
{
	struct error ignored = {0};
	uint32_t address;

	if (network_address(n, slot, &address, &ignored) < 0 || add_own(out, n, slot, &ignored) < 0)
		return;
	buf_add_text(out, "delete element inet atoll sources { ");
	network_add_address(out, address);
	buf_add_text(out, " }\ndelete element inet atoll sourced { ");
	network_add_address(out, address);
	buf_addf(out, " }\ndelete chain inet atoll source%u\n", slot);
}

int network_source_rules(struct buf *out, const struct host_network *n,
                         const struct network_ruled *ruled, struct error *err)
{
	uint32_t source = sandbox_egress_source(ruled->egress);

	if (source == 0)
		return 0;
	add_frame(out);
	if (add_own(out, n, ruled->slot, err) < 0)
		return -1;
	buf_addf(out, "add rule inet atoll source%u snat ip to ", ruled->slot);
	network_add_address(out, source);
	buf_add_byte(out, '\n');
	/* By IPv6 it would leave with another address. */
	buf_addf(out, "add rule inet atoll egress%u meta nfproto ipv6 goto egress_denied6\n",
	         ruled->slot);
	return 0;
}
