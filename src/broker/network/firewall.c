/* SPDX-License-Identifier: Apache-2.0 */
/* What the host does with packets of sandboxes: one nft table, the same for every server on this
 * host. It is loaded as a whole, so that loading it again changes nothing. */
#include "broker/network/firewall.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/network/forced.h"
#include "broker/network/network.h"
#include "broker/network/source.h"
#include "broker/network/uplink4.h"
#include "broker/network/uplink6.h"
#include "wire/task.h"

#define RULES_MAX (64 * 1024)
#define NFT_TIMEOUT_MS 10000
#define NFT_TRIES 3
#define FALLBACK_NAMESERVER 0x01010101u

static const char declarations[] =
        "add set inet atoll sandboxes { type ipv4_addr; flags interval; }\n"
        "add set inet atoll refused { type ipv4_addr; flags interval; }\n"
        "add set inet atoll nameservers { type ipv4_addr; }\n"
        "add map inet atoll chunks { type ipv4_addr : verdict; flags interval; }\n"
        "add chain inet atoll from_sandbox\n"
        "add chain inet atoll from_sandbox6\n"
        "add chain inet atoll forward { type filter hook forward priority -1; }\n"
        "add chain inet atoll after { type nat hook postrouting priority 100; }\n"
        "flush chain inet atoll from_sandbox\n"
        "flush chain inet atoll forward\n"
        "flush chain inet atoll after\n"
        "flush set inet atoll refused\n"
        "flush set inet atoll nameservers\n";

/* Contains all that it depends on, because it is also loaded with the host names of a sandbox's
 * rules, after an older Atoll on this host may have loaded its own table. */
static const char input_rules[] =
        "add set inet atoll nameservers { type ipv4_addr; }\n"
        "add chain inet atoll input { type filter hook input priority -1; }\n"
        "flush chain inet atoll input\n"
        /* No address of IPv6 of the host is for sandboxes, and nothing that a link could learn
           from neighbours and routers. */
        "add rule inet atoll input iifname \"atoll*\" ip6 daddr ff00::/8 drop\n"
        "add rule inet atoll input iifname \"atoll*\" icmpv6 type { nd-router-solicit, "
        "nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect } drop\n"
        "add rule inet atoll input iifname \"atoll*\" meta nfproto ipv6 meta l4proto tcp reject "
        "with tcp reset\n"
        "add rule inet atoll input iifname \"atoll*\" meta nfproto ipv6 reject with icmpv6 type "
        "admin-prohibited\n"
        /* the host itself is only a router, and its nameserver if it is one */
        "add rule inet atoll input iifname \"atoll*\" ct state established,related accept\n"
        "add rule inet atoll input iifname \"atoll*\" ip daddr @nameservers udp dport 53 accept\n"
        "add rule inet atoll input iifname \"atoll*\" ip daddr @nameservers tcp dport 53 accept\n"
        /* what rules of single sandboxes lead to the gateway for names, see egress.c */
        "add rule inet atoll input iifname \"atoll*\" ip daddr " NETWORK_GATEWAY
        " ct status dnat accept\n"
        "add rule inet atoll input iifname \"atoll*\" meta nfproto ipv4 reject with icmp type "
        "admin-prohibited\n"
        "add rule inet atoll input iifname \"atoll*\" drop\n"
        /* The host opens no connections to sandboxes, whichever of its processes is taken over. */
        "add chain inet atoll output { type filter hook output priority -1; }\n"
        "flush chain inet atoll output\n"
        "add rule inet atoll output oifname \"atoll*\" ct state new drop\n";

static const char rules[] =
        /* no traffic between sandboxes, and no connection to a sandbox from outside */
        "add rule inet atoll forward iifname \"atoll*\" oifname \"atoll*\" drop\n"
        "add rule inet atoll forward oifname \"atoll*\" ct state established,related accept\n"
        "add rule inet atoll forward oifname \"atoll*\" drop\n"
        "add rule inet atoll forward iifname \"atoll*\" jump from_sandbox\n"
        "add rule inet atoll from_sandbox meta nfproto ipv6 jump from_sandbox6\n"
        "add rule inet atoll from_sandbox meta nfproto != ipv4 drop\n"
        "add rule inet atoll from_sandbox ip saddr != @sandboxes drop\n"
        "add rule inet atoll from_sandbox ct state established,related accept\n"
        "add rule inet atoll from_sandbox ip daddr @nameservers udp dport 53 accept\n"
        "add rule inet atoll from_sandbox ip daddr @nameservers tcp dport 53 accept\n"
        "add rule inet atoll from_sandbox ip saddr vmap @chunks\n"
        "add rule inet atoll from_sandbox ip daddr @refused reject with icmp type "
        "admin-prohibited\n"
        "add rule inet atoll from_sandbox accept\n"
        "add rule inet atoll after ip saddr @sandboxes oifname != \"atoll*\" masquerade\n";

/* For servers whose sandboxes have IPv6. Other servers on this host leave these chains and sets as
 * they are, and the chain from_sandbox6 is empty where no server has loaded this: nothing passes
 * then. */
static const char declarations6[] =
        "add set inet atoll sandboxes6 { type ipv6_addr; flags interval; }\n"
        "add set inet atoll refused6 { type ipv6_addr; flags interval; }\n"
        "add map inet atoll chunks6 { type ipv6_addr : verdict; flags interval; }\n"
        "add chain inet atoll after6 { type nat hook postrouting priority 100; }\n"
        "flush chain inet atoll from_sandbox6\n"
        "flush chain inet atoll after6\n"
        "flush set inet atoll refused6\n";

static const char rules6[] =
        /* The source address is routed to the link that the packet comes from. */
        "add rule inet atoll from_sandbox6 fib saddr . iif oif missing drop\n"
        "add rule inet atoll from_sandbox6 ip6 saddr != @sandboxes6 drop\n"
        /* A list of further destinations, which programs may set. */
        "add rule inet atoll from_sandbox6 exthdr rt exists drop\n"
        "add rule inet atoll from_sandbox6 ip6 saddr vmap @chunks6\n"
        "add rule inet atoll from_sandbox6 ct state established,related accept\n"
        /* Clients try IPv4 at once then, and wait for nothing. */
        "add rule inet atoll from_sandbox6 ip6 daddr @refused6 meta l4proto tcp reject with tcp "
        "reset\n"
        "add rule inet atoll from_sandbox6 ip6 daddr @refused6 reject with icmpv6 type "
        "admin-prohibited\n"
        "add rule inet atoll from_sandbox6 accept\n"
        "add rule inet atoll after6 ip6 saddr @sandboxes6 oifname != \"atoll*\" masquerade\n";

void network_add_address(struct buf *out, uint32_t address)
{
	buf_addf(out, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
	         address & 255);
}

void network_add_range(struct buf *out, const struct egress_range *range)
{
	network_add_address(out, range->first);
	buf_add_byte(out, '-');
	network_add_address(out, range->last);
}

void network_add_range6(struct buf *out, const struct egress_range6 *range)
{
	char first[ADDRESS6_TEXT_SIZE], last[ADDRESS6_TEXT_SIZE];

	address6_format(&range->first, first);
	address6_format(&range->last, last);
	buf_addf(out, "%s-%s", first, last);
}

static void add_refused6(struct buf *out)
{
	struct egress_range6 range;

	buf_add_text(out, "add element inet atoll refused6 { ");
	for (size_t i = 0; egress_refused_range6(i, &range); i++) {
		if (i > 0)
			buf_add_text(out, ", ");
		network_add_range6(out, &range);
	}
	buf_add_text(out, " }\n");
}

static void add_refused(struct buf *out)
{
	struct egress_range range;

	buf_add_text(out, "add element inet atoll refused { ");
	for (size_t i = 0; egress_refused_range(i, &range); i++) {
		if (i > 0)
			buf_add_text(out, ", ");
		network_add_range(out, &range);
	}
	buf_add_text(out, " }\n");
}

/* Adds the chunk's addresses, and what its server allows them beyond the common rules. */
static void add_chunk(struct buf *out, const struct host_network *n, uint32_t first_slot,
                      uint32_t count)
{
	AUTO(buf_done) struct buf range = BUF(64);
	struct error ignored = {0};
	uint32_t first, last, end = count;

	if (network_address(n, first_slot, &first, &ignored) < 0)
		return;
	/* A small subnet may end before the chunk does. */
	while (network_address(n, first_slot + end - 1, &last, &ignored) < 0)
		end--;
	network_add_address(&range, first);
	buf_add_text(&range, "-");
	network_add_address(&range, last);
	buf_addf(out, "flush chain inet atoll chunk%u\n", first_slot);
	/* What has passed the rules of its sandbox, because they are not set yet. */
	if (n->is_proxied)
		buf_addf(out,
		         "add rule inet atoll chunk%u reject with icmp type admin-prohibited\n",
		         first_slot);
	for (unsigned i = 0; i < n->allow_count; i++) {
		buf_addf(out, "add rule inet atoll chunk%u ip daddr ", first_slot);
		network_add_address(out, n->allow[i].address);
		buf_addf(out, "/%u accept\n", n->allow[i].prefix);
	}
	buf_addf(out, "add element inet atoll sandboxes { %s }\n", buf_text(&range));
	buf_addf(out, "add element inet atoll chunks { %s : jump chunk%u }\n", buf_text(&range),
	         first_slot);
}

/* The chunk's sandboxes may have IPv6 from before the option said otherwise: all of it is refused,
 * what goes on, too. */
static void stop_chunk6(struct buf *out, uint32_t first_slot)
{
	buf_addf(out,
	         "add chain inet atoll chunk6_%u\nflush chain inet atoll chunk6_%u\n"
	         "add rule inet atoll chunk6_%u meta l4proto tcp reject with tcp reset\n"
	         "add rule inet atoll chunk6_%u reject with icmpx type admin-prohibited\n",
	         first_slot, first_slot, first_slot, first_slot);
}

static void add_chunk6(struct buf *out, const struct host_network *n, uint32_t first_slot,
                       uint32_t count)
{
	AUTO(buf_done) struct buf range = BUF(2 * ADDRESS6_TEXT_SIZE);
	struct egress_range6 own;

	network_address6(n, first_slot, &own.first);
	network_address6(n, first_slot + count - 1, &own.last);
	network_add_range6(&range, &own);
	buf_addf(out, "flush chain inet atoll chunk6_%u\n", first_slot);
	for (unsigned i = 0; i < n->allow6_count; i++) {
		buf_addf(out, "add rule inet atoll chunk6_%u ip6 daddr ", first_slot);
		network_add_range6(out, &n->allow6[i]);
		buf_add_text(out, " accept\n");
	}
	buf_addf(out, "add element inet atoll sandboxes6 { %s }\n", buf_text(&range));
	buf_addf(out, "add element inet atoll chunks6 { %s : jump chunk6_%u }\n", buf_text(&range),
	         first_slot);
}

static void add_ipv6(struct buf *out, const struct host_network *n, uint32_t first_slot,
                     uint32_t count)
{
	if (!n->ipv6) {
		stop_chunk6(out, first_slot);
		return;
	}
	buf_addf(out, "add chain inet atoll chunk6_%u\n", first_slot);
	buf_add_text(out, declarations6);
	add_refused6(out);
	buf_add_text(out, rules6);
	add_chunk6(out, n, first_slot, count);
}

void network_input_rules(struct buf *out)
{
	buf_add_text(out, input_rules);
}

void network_rules(struct buf *out, const struct host_network *n, uint32_t first_slot,
                   uint32_t count)
{
	/* A map of verdicts may only be declared when the chains it leads to are there. */
	buf_addf(out, "add table inet atoll\nadd chain inet atoll chunk%u\n", first_slot);
	buf_add_text(out, declarations);
	add_refused(out);
	for (unsigned i = 0; i < n->nameserver_count; i++) {
		buf_add_text(out, "add element inet atoll nameservers { ");
		network_add_address(out, n->nameservers[i]);
		buf_add_text(out, " }\n");
	}
	buf_add_text(out, input_rules);
	buf_add_text(out, rules);
	network_source_sets(out);
	add_chunk(out, n, first_slot, count);
	network_forced_rules(out, n);
	add_ipv6(out, n, first_slot, count);
}

static struct network_nft_runner nft;

void network_run_nft_by(const struct network_nft_runner *runner)
{
	nft = *runner;
}

static int wait_nft(int pidfd, int out, struct buf *text, struct error *err)
{
	struct error ignored = {0};
	int64_t deadline = deadline_after(NFT_TIMEOUT_MS);
	siginfo_t end;
	int ready;

	while ((ready = fd_wait(out, POLLIN, deadline, &ignored)) > 0) {
		char piece[512];
		ssize_t got = read(out, piece, sizeof(piece));

		if (got <= 0)
			break;
		buf_add(text, piece, (size_t)got);
	}
	if (ready <= 0)
		(void)!pidfd_signal(pidfd, SIGKILL, &ignored);
	nft.reap(nft.context, pidfd, &end);
	if (end.si_code == CLD_EXITED && end.si_status == LAUNCH_NO_PROGRAM) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "internet for sandboxes needs the program nft (package nftables)");
		return FAIL_HINT(err, "install the package nftables");
	}
	if (end.si_code != CLD_EXITED || end.si_status != 0) {
		struct span said = buf_span(text);

		while (said.size > 0 && said.data[said.size - 1] == '\n')
			said.size--;
		(void)FAIL(err, ERROR_UNSUPPORTED, "internet for sandboxes: nft said: %.*s",
		           said.size > 160 ? 160 : (int)said.size, said.data);
		return FAIL_HINT(err,
		                 "run 'nft list ruleset' as root on the host: nft and the module "
		                 "nf_tables have to work");
	}
	return 0;
}

static int run_nft(struct span script, struct buf *text, struct error *err)
{
	AUTO_CLOSE int pidfd = -1;
	int in[2], out[2], status;

	if (pipe2(in, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		status = FAIL_ERRNO(err, "make a pipe");
		(void)close(in[0]);
		(void)close(in[1]);
		return status;
	}
	status = nft.start(nft.context, in[0], out[1], &pidfd, err);
	(void)close(in[0]);
	(void)close(out[1]);
	if (status == 0) {
		struct error ignored = {0};

		/* If the child exits early, its output says why. */
		(void)!fd_write_all(in[1], script.data, script.size, &ignored);
	}
	(void)close(in[1]);
	if (status == 0)
		status = wait_nft(pidfd, out[0], text, err);
	(void)close(out[0]);
	return status;
}

/* If another program changes the host's rules meanwhile, nft fails, and the next try sees the new
 * rules. */
int network_nft(struct span script, struct buf *ret_text, struct error *err)
{
	AUTO(buf_done) struct buf own = BUF(4096);
	struct buf *text = ret_text ? ret_text : &own;
	int64_t until = deadline_after(NFT_TIMEOUT_MS);
	int status;

	for (unsigned i = 1; (status = run_nft(script, text, err)) < 0; i++) {
		if (i == NFT_TRIES || deadline_poll_ms(until) == 0)
			break;
		error_clear(err);
		buf_reset(text);
	}
	return status;
}

void network_claim(struct host_network *n, uint32_t first_slot, uint32_t count)
{
	AUTO(buf_done) struct buf script = BUF(RULES_MAX);

	if (!n->usable)
		return;
	network_rules(&script, n, first_slot, count);
	if (network_nft(buf_span(&script), NULL, &n->problem) == 0)
		return;
	if (n->ipv6) {
		/* A kernel without NAT for IPv6, or without the expression fib. */
		log_warning("sandboxes have no IPv6: the host's nftables refuse its rules",
		            FAILURE(&n->problem));
		error_clear(&n->problem);
		n->ipv6 = n->wants_ipv6 = false;
		network_claim(n, first_slot, count);
		return;
	}
	n->usable = false;
}

void network_forget(void)
{
	struct error ignored = {0};

	(void)!network_nft(SPAN("delete table inet atoll\n"), NULL, &ignored);
}

void network_nameservers_parse(struct host_network *n, struct span text)
{
	struct span line, word;

	while (text.size > 0 && n->nameserver_count < NETWORK_NAMESERVERS_MAX) {
		struct network_range range;
		struct error ignored = {0};
		char address[INET_ADDRSTRLEN] = "";

		(void)span_split(&text, '\n', &line);
		for (size_t i = 0; i < line.size; i++)
			if (line.data[i] == '\t')
				line = (struct span){line.data, i};
		(void)span_split(&line, ' ', &word);
		line = span_trim(line);
		if (!span_equals_text(word, "nameserver") || line.size == 0 ||
		    line.size >= sizeof(address))
			continue;
		memcpy(address, line.data, line.size);
		if (strchr(address, '/') || network_range_parse(address, &range, &ignored) < 0)
			continue;
		if (range.address >> 24 != 127 && range.address != 0)
			n->nameservers[n->nameserver_count++] = range.address;
	}
}

/* A sandbox cannot reach a resolver on loopback (systemd-resolved); the resolver's own list names
 * its upstream servers. */
static void find_nameservers(struct host_network *n)
{
	static const char *const files[] = {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"};
	struct buf conf = BUF(sizeof(n->resolv_conf) - 1);

	for (unsigned i = 0; i < COUNT_OF(files) && n->nameserver_count == 0; i++) {
		AUTO(buf_done) struct buf text = BUF(64 * 1024);
		struct error ignored = {0};

		if (file_read(AT_FDCWD, files[i], &text, &ignored) == 0)
			network_nameservers_parse(n, buf_span(&text));
	}
	if (n->nameserver_count == 0)
		n->nameservers[n->nameserver_count++] = FALLBACK_NAMESERVER;
	for (unsigned i = 0; i < n->nameserver_count; i++) {
		buf_add_text(&conf, "nameserver ");
		network_add_address(&conf, n->nameservers[i]);
		buf_add_text(&conf, "\n");
	}
	(void)snprintf(n->resolv_conf, sizeof(n->resolv_conf), "%s", buf_text(&conf));
	buf_done(&conf);
}

void network_prepare_host(struct host_network *n)
{
	find_nameservers(n);
	n->has_ipv6 = access("/proc/sys/net/ipv6", F_OK) == 0;
	network_prepare_ipv4(n);
	network_prepare_ipv6(n);
}
