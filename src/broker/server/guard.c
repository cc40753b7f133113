/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/guard.h"

#include <endian.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/network/egress.h"
#include "broker/network/firewall.h"
#include "broker/network/forced.h"
#include "broker/network/link.h"
#include "broker/network/uplink4.h"
#include "broker/network/uplink6.h"
#include "broker/sandbox/sandbox.h"
#include "netlink/netlink.h"
#include "broker/server/state.h"

#define FAMILY_INET 1
/* Messages that are read at once; one check serves all of them. */
#define DRAIN_MAX 1024

static uint64_t table_handle(const struct nlmsghdr *head)
{
	const size_t fixed = NLMSG_LENGTH(sizeof(struct nfgenmsg));
	uint64_t number = htobe64(1);
	struct span found;

	if (head->nlmsg_len < fixed)
		return 1;
	found = netlink_find((struct span){(const char *)head + fixed, head->nlmsg_len - fixed},
	                     NFTA_TABLE_HANDLE);
	if (found.size == sizeof(number))
		memcpy(&number, found.data, sizeof(number));
	return be64toh(number);
}

/* Reads the table and the final message, or that there is no table. */
static int read_table(int fd, uint64_t *ret, struct error *err)
{
	for (;;) {
		char data[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
		ssize_t got = recv(fd, data, sizeof(data), 0);
		struct nlmsghdr *head = (void *)data;
		unsigned left = got > 0 ? (unsigned)got : 0;

		if (got < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "ask for the table of rules");
		for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
			const struct nlmsgerr *end = NLMSG_DATA(head);

			if (head->nlmsg_type != NLMSG_ERROR) {
				*ret = table_handle(head);
				continue;
			}
			errno = -end->error;
			if (errno != 0 && errno != ENOENT)
				return FAIL_ERRNO(err, "ask for the table of rules");
			return 0;
		}
	}
}

/* 0: there is no table. */
static int find_table(uint64_t *ret, struct error *err)
{
	const struct nfgenmsg fixed = {.nfgen_family = FAMILY_INET, .version = NFNETLINK_V0};
	AUTO(buf_done) struct buf message = BUF(256);
	AUTO_CLOSE int fd = -1;
	uint64_t found = 0;
	size_t begin;

	begin = netlink_begin(&message, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE, 0, &fixed,
	                      sizeof(fixed));
	netlink_add_text(&message, NFTA_TABLE_NAME, "atoll");
	netlink_end(&message, begin);
	if (netlink_open_socket(NETLINK_NETFILTER, 0, &fd, err) < 0)
		return -1;
	if (send(fd, message.data, message.size, 0) < 0)
		return FAIL_ERRNO(err, "ask for the table of rules");
	if (read_table(fd, &found, err) < 0)
		return -1;
	*ret = found;
	return 0;
}

/* The rules of an adopted sandbox are not known until atolld sends them again. Until then it
 * reaches nothing. */
static void add_rules(struct buf *script, const struct host_network *n,
                      const struct sandbox *sandbox)
{
	struct error err = {0};
	size_t before = script->size;

	if (sandbox->egress &&
	    network_egress_rules(
	            script, n, &(struct network_ruled){sandbox->slot, sandbox->id, sandbox->egress},
	            &err) == 0)
		return;
	script->size = before;
	log_warning("rules of a network are lost: it reaches nobody until they are set again",
	            TEXT("sandbox", sandbox->id));
	error_clear(&err);
	(void)!network_egress_rules(
	        script, n,
	        &(struct network_ruled){sandbox->slot, sandbox->id, "-" SANDBOX_EGRESS_ALL}, &err);
}

static int restore_rules(struct broker *b, struct error *err)
{
	AUTO(buf_done) struct buf script = BUF((size_t)64 << 20);
	const struct host_network *n = b->host.network;
	const struct sandbox *sandbox;
	const char *id;
	size_t at = 0;

	if (fault_failure("broker", "rules-restore", err) < 0)
		return -1;
	/* Another server, which is gone, may have added some. */
	for (unsigned i = 0; i < NETWORK_FAMILIES; i++)
		network_forced_find(b->host.network, i);
	for (uint32_t slot = 0; slot < SLOTS_MAX; slot += SLOT_CHUNK)
		if (slots_is_ours(&b->slots, slot))
			network_rules(&script, n, slot, SLOT_CHUNK);
	while ((sandbox = map_next(&b->sandboxes.by_id, &at, &id)))
		if (sandbox->slot != SLOT_NONE && network_egress_is_set(n, sandbox->slot))
			add_rules(&script, n, sandbox);
	if (script.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the rules of all networks are too many");
	return network_nft(buf_span(&script), NULL, err);
}

/* Also removes the links of prewarmed sandboxes, whose makers relied on the rules. */
static void remove_links(struct broker *b)
{
	for (uint32_t slot = 0; slot < SLOTS_MAX; slot++)
		if (slots_is_ours(&b->slots, slot) && slots_is_used(&b->slots, slot))
			network_link_remove(slot);
}

/* Prewarmed sandboxes have no link then, so only another broker can start again. */
static void replace_table(struct broker *b)
{
	struct host_network *n = b->host.network;
	struct error err = {0};

	log_warning("the rules for networks are gone from the host's nftables, and are set again");
	b->guard.table = 0;
	if (restore_rules(b, &err) == 0) {
		if (find_table(&b->guard.table, &err) < 0)
			log_warning("cannot look after the rules for networks", FAILURE(&err));
		return;
	}
	error_context(&err, "the rules for networks are lost, restart Atoll");
	n->usable = false;
	n->problem = err;
	network_forced_secure(n);
	remove_links(b);
	guard_close(b);
	log_error("sandboxes are cut off", FAILURE(&err));
}

static void check_table(struct broker *b)
{
	struct error err = {0};
	uint64_t table;

	if (find_table(&table, &err) < 0)
		log_warning("cannot look after the rules for networks", FAILURE(&err));
	else if (table != 0 && table == b->guard.table)
		return;
	replace_table(b);
}

static void on_nftables_change(struct fd_watch *watch)
{
	struct broker *b = CONTAINER_OF(watch, struct broker, guard.watch);
	char ignored[64];

	/* The content does not matter, and some messages may have been lost. */
	for (unsigned i = 0; i < DRAIN_MAX; i++)
		if (recv(watch->fd, ignored, sizeof(ignored), MSG_DONTWAIT | MSG_TRUNC) < 0 &&
		    errno != ENOBUFS && errno != EINTR)
			break;
	check_table(b);
}

static int watch_nftables(struct broker *b, struct error *err)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
	                                    .nl_groups = 1u << (NFNLGRP_NFTABLES - 1)};
	AUTO_CLOSE int fd = -1;

	if (netlink_open_socket(NETLINK_NETFILTER, SOCK_NONBLOCK, &fd, err) < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return FAIL_ERRNO(err, "listen to changes of nftables");
	/* After the bind, so that no change is missed. */
	if (find_table(&b->guard.table, err) < 0)
		return -1;
	b->guard.watch.on_ready = on_nftables_change;
	if (watch_start(&b->events, &b->guard.watch, fd, err) < 0)
		return -1;
	b->guard.fd = TAKE_FD(fd);
	return 0;
}

void guard_open(struct broker *b)
{
	struct error err = {0};

	b->guard.fd = -1;
	if (b->host.network->usable && watch_nftables(b, &err) < 0)
		log_warning("nobody looks after the rules for networks", FAILURE(&err));
}

void guard_begin(struct broker *b)
{
	if (b->guard.fd >= 0)
		check_table(b);
}

/* The host may have got IPv6 since, and its kernel may not know all that its rules need. */
static bool restore_without_ipv6(struct broker *b, struct error *err)
{
	struct host_network *n = b->host.network;

	if (!n->ipv6)
		return false;
	log_warning("sandboxes have no IPv6: the host's nftables refuse its rules", FAILURE(err));
	n->ipv6 = n->wants_ipv6 = false;
	error_clear(err);
	return restore_rules(b, err) == 0;
}

static int restore_what_works(struct broker *b)
{
	struct host_network *n = b->host.network;
	struct error err = {0};

	if (restore_rules(b, &err) == 0 || restore_without_ipv6(b, &err))
		return 0;
	n->usable = false;
	n->problem = err;
	return -1;
}

/* The rules of every chunk are loaded before a link can be made. */
void guard_try_again(struct broker *b)
{
	struct host_network *n = b->host.network;
	struct error err = {0};

	if (n->usable && !network_gained_uplink(n))
		return;
	error_clear(&n->problem);
	n->nameserver_count = 0;
	network_prepare_host(n);
	if (!n->usable || restore_what_works(b) < 0)
		return;
	log_info("sandboxes can have internet again",
	         TEXT("default_route", n->has_uplink ? "yes" : "no"));
	if (b->guard.fd < 0)
		guard_open(b);
	else if (find_table(&b->guard.table, &err) < 0)
		log_warning("cannot look after the rules for networks", FAILURE(&err));
}

void guard_gain_ipv6(struct broker *b)
{
	struct host_network *n = b->host.network;

	if (!network_gained_uplink6(n))
		return;
	network_prepare_ipv6(n);
	if (n->ipv6 && restore_what_works(b) < 0)
		log_error("sandboxes can have no internet", FAILURE(&n->problem));
}

void guard_close(struct broker *b)
{
	if (b->guard.fd < 0)
		return;
	watch_stop(&b->events, &b->guard.watch);
	fd_forget(&b->guard.fd);
}
