/* SPDX-License-Identifier: Apache-2.0 */
/* Host names in the egress rules of a sandbox. nftables knows addresses only. So what a sandbox
 * sends to denied addresses, on the ports of HTTP, TLS and DNS, is redirected to a gateway that
 * knows names (egress/egress.h). The gateway listens at an address that only links of sandboxes
 * have, and reads the rules from files. Only the slot's own nft chain redirects: from its link,
 * with its own address, by which the gateway identifies the sandbox. Without a gateway nothing
 * answers, and the rest is denied as without names. */
#include "broker/network/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/id.h"
#include "broker/host/options.h"
#include "broker/network/egress.h"
#include "broker/network/firewall.h"
#include "broker/network/link.h"
#include "broker/network/network.h"

#define NAME_SIZE 32
#define ENTRY "add rule inet atoll egress%u ip daddr " NETWORK_GATEWAY " ct status dnat "
#define TOO_FAST "limit rate over 200/second burst 400 packets drop\n"

static const struct network_own ways = {"egress_names", "names"};

static void add_redirect(struct buf *out, uint32_t slot, const char *from, const char *to)
{
	buf_addf(out, "add rule inet atoll names%u %s %s\n", slot, from, to);
}

/* Runs before other rules change addresses, such as those that publish ports of containers. */
static const char frame[] =
        "add chain inet atoll egress_nat { type nat hook prerouting priority -101; }\n"
        "flush chain inet atoll egress_nat\n"
        "add rule inet atoll egress_nat meta nfproto ipv4 iifname vmap @egress_names\n";

/* The gateway's address is a denied one, like all others. Packets over the rate are dropped here,
 * because a nat chain would count the packets of one socket once. */
static void add_gateway_rules(struct buf *out, const struct network_gateway *g, uint32_t slot)
{
	buf_addf(out, ENTRY "tcp dport { %u, %u } ct state new " TOO_FAST, slot, g->http, g->tls);
	buf_addf(out, ENTRY "udp dport %u " TOO_FAST, slot, g->dns);
	buf_addf(out, ENTRY "tcp dport { %u, %u } accept\n", slot, g->http, g->tls);
	buf_addf(out, ENTRY "udp dport %u accept\n", slot, g->dns);
}

int network_names_rules(struct buf *out, const struct host_network *n, uint32_t slot,
                        struct span denied, struct error *err)
{
	static const struct network_gateway none;
	const struct network_gateway *g = n->gateway ? n->gateway : &none;
	const struct {
		const char *port;
		uint16_t to;
	} ports[] = {
	        {"tcp dport 80", g->http}, {"tcp dport 443", g->tls}, {"udp dport 53", g->dns}};
	AUTO(buf_done) struct buf from = BUF(64 * 1024), to = BUF(64);
	uint32_t address;

	if (g->http == 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "names of hosts in rules need the gateway, which this server has not");
	if (network_address(n, slot, &address, err) < 0)
		return -1;
	network_own_add(out, &ways, slot);
	buf_add_text(out, frame);
	network_input_rules(out);
	buf_addf(out, "flush chain inet atoll names%u\n", slot);
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		buf_reset(&from);
		buf_reset(&to);
		buf_add_text(&from, "ip saddr ");
		network_add_address(&from, address);
		buf_addf(&from, " ip daddr %.*s %s", (int)denied.size, denied.data, ports[i].port);
		buf_addf(&to, "redirect to :%u", ports[i].to);
		add_redirect(out, slot, buf_text(&from), buf_text(&to));
	}
	add_gateway_rules(out, g, slot);
	return 0;
}

void network_names_removal(struct buf *out, uint32_t slot)
{
	network_own_remove(out, &ways, slot);
}

/* The sandbox's address, as the gateway sees it. */
static int file_name(const struct host_network *n, uint32_t slot, char out[NAME_SIZE],
                     struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(NAME_SIZE - 1);
	uint32_t address;

	if (network_address(n, slot, &address, err) < 0)
		return -1;
	network_add_address(&text, address);
	(void)snprintf(out, NAME_SIZE, "%s", buf_text(&text));
	return 0;
}

/* Not synced: the file need not survive a crash of the host, and neither do the rules. */
static int write_file(int folder, const char *name, struct span text, struct error *err)
{
	char next[NAME_SIZE + 8];
	AUTO_CLOSE int fd = -1;

	(void)snprintf(next, sizeof(next), "%s.new", name);
	fd = openat(folder, next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return FAIL_ERRNO(err, "write '%s'", next);
	if (fd_write_all(fd, text.data, text.size, err) < 0)
		return -1;
	return renameat(folder, next, folder, name) < 0 ? FAIL_ERRNO(err, "rename '%s'", next) : 0;
}

int network_names_tell(const struct host_network *n, const struct network_ruled *ruled,
                       struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TOLD_MAX + ID_SIZE + 2);
	char name[NAME_SIZE];

	buf_addf(&text, "=%s %s", ruled->sandbox, ruled->egress);
	if (file_name(n, ruled->slot, name, err) < 0 ||
	    write_file(n->names_fd, name, buf_span(&text), err) < 0)
		return FAIL_CONTEXT(err, "tell the gateway names of hosts");
	return network_link_answer(ruled->slot, err);
}

bool network_names_slot(const struct host_network *n, const char *file, uint32_t *ret)
{
	struct network_range range;
	struct error ignored = {0};

	return !strchr(file, '/') && network_range_parse(file, &range, &ignored) == 0 &&
	       network_slot_of(n, range.address, ret);
}

bool network_names_are_told(const struct host_network *n, uint32_t slot)
{
	struct error ignored = {0};
	char name[NAME_SIZE];

	return n->names_fd > 0 && file_name(n, slot, name, &ignored) == 0 &&
	       faccessat(n->names_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void network_names_forget(const struct host_network *n, uint32_t slot)
{
	struct error ignored = {0};
	char name[NAME_SIZE];

	if (n->names_fd > 0 && file_name(n, slot, name, &ignored) == 0)
		(void)unlinkat(n->names_fd, name, 0);
}
