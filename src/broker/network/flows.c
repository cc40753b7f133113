/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes entries of conntrack, by netlink. */
#include "broker/network/flows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/netlink.h"
#include "broker/network/network.h"

#define RECEIVE_MAX 32768
#define BATCH_MAX 32768
#define FORGOTTEN_AT_ONCE 64
#define TIMES_MAX 4
/* Of CTA_FILTER_ORIG_FLAGS; the kernel's headers do not name it. */
#define FILTER_SOURCE_ADDRESS 1u

struct forgetting {
	struct nfgenmsg family;
	uint32_t from;                /* 0 = any */
	const struct address6 *from6; /* NULL = any */
	flow_is_over *is_over;
	const void *context;
	int list_fd, forget_fd;
	struct buf *batch; /* what is to be forgotten */
	unsigned in_batch;
};

static uint16_t message_type(uint16_t what)
{
	return (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | what);
}

bool network_flow_is_led(const struct flow *flow)
{
	return flow->protocol != IPPROTO_TCP && flow->answers_of != flow->to;
}

/* Asks the kernel for this address only, because there may be many entries. A kernel before 5.8
 * returns all. */
static void add_filter(struct buf *out, uint32_t from)
{
	size_t tuple = netlink_open(out, CTA_TUPLE_ORIG | NLA_F_NESTED);
	size_t address = netlink_open(out, CTA_TUPLE_IP | NLA_F_NESTED), filter;

	netlink_add_u32(out, CTA_IP_V4_SRC, htonl(from));
	netlink_close(out, address);
	netlink_close(out, tuple);
	filter = netlink_open(out, CTA_FILTER | NLA_F_NESTED);
	netlink_add_u32(out, CTA_FILTER_ORIG_FLAGS, FILTER_SOURCE_ADDRESS);
	netlink_close(out, filter);
}

static int request_dump(const struct forgetting *f, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(256);
	size_t begin = netlink_begin(&text, message_type(IPCTNL_MSG_CT_GET), NLM_F_DUMP, &f->family,
	                             sizeof(f->family));

	/* For IPv6 the kernel (seen in 6.18) compares the wrong way round, and returns all others.
	 */
	if (f->from != 0)
		add_filter(&text, f->from);
	netlink_end(&text, begin);
	return send(f->list_fd, text.data, text.size, 0) < 0
	               ? FAIL_ERRNO(err, "ask for what is under way")
	               : 0;
}

static bool read_address(struct span tuple, uint16_t type, uint32_t *ret)
{
	struct span found = netlink_find(netlink_find(tuple, CTA_TUPLE_IP), type);

	if (found.size != sizeof(*ret))
		return false;
	memcpy(ret, found.data, sizeof(*ret));
	*ret = ntohl(*ret);
	return true;
}

static bool read_address6(struct span tuple, uint16_t type, struct address6 *ret)
{
	struct span found = netlink_find(netlink_find(tuple, CTA_TUPLE_IP), type);

	if (found.size != sizeof(*ret))
		return false;
	memcpy(ret, found.data, sizeof(*ret));
	return true;
}

static bool read_addresses(const struct forgetting *f, struct span attributes, struct flow *ret)
{
	struct span there = netlink_find(attributes, CTA_TUPLE_ORIG);
	struct span back = netlink_find(attributes, CTA_TUPLE_REPLY);

	if (f->family.nfgen_family == AF_INET6)
		return read_address6(there, CTA_IP_V6_SRC, &ret->from6) &&
		       read_address6(there, CTA_IP_V6_DST, &ret->to6);
	return read_address(there, CTA_IP_V4_SRC, &ret->from) &&
	       read_address(there, CTA_IP_V4_DST, &ret->to) &&
	       read_address(back, CTA_IP_V4_SRC, &ret->answers_of) &&
	       read_address(back, CTA_IP_V4_DST, &ret->leaves_by);
}

static bool read_flow(const struct forgetting *f, struct span attributes, struct flow *ret)
{
	struct span there = netlink_find(attributes, CTA_TUPLE_ORIG);
	struct span protocol = netlink_find(netlink_find(there, CTA_TUPLE_PROTO), CTA_PROTO_NUM);
	struct flow flow = {.from = 0};

	if (protocol.size != sizeof(flow.protocol) || !read_addresses(f, attributes, &flow))
		return false;
	flow.protocol = (uint8_t)protocol.data[0];
	*ret = flow;
	return true;
}

static bool is_of_other(const struct forgetting *f, const struct flow *flow)
{
	return (f->from != 0 && flow->from != f->from) ||
	       (f->from6 && !address6_is_same(&flow->from6, f->from6));
}

/* An entry that has ended meanwhile is fine. */
static int delete_batch(struct forgetting *f, struct error *err)
{
	if (f->in_batch > 0 &&
	    netlink_run(f->forget_fd, f->batch, "end what is under way", err) < 0) {
		if (err->sys_errno != ENOENT)
			return -1;
		error_clear(err);
	}
	buf_reset(f->batch);
	f->in_batch = 0;
	return 0;
}

/* Identifies the entry by the attributes that the kernel uses. */
static int consider_flow(struct forgetting *f, struct span attributes, struct error *err)
{
	static const uint16_t names[] = {CTA_TUPLE_ORIG | NLA_F_NESTED, CTA_ZONE, CTA_ID};
	struct flow flow;
	size_t begin;

	if (!read_flow(f, attributes, &flow) || is_of_other(f, &flow) ||
	    !f->is_over(f->context, &flow))
		return 0;
	begin = netlink_begin(f->batch, message_type(IPCTNL_MSG_CT_DELETE), 0, &f->family,
	                      sizeof(f->family));
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct span one = netlink_find(attributes, names[i] & NLA_TYPE_MASK);

		if (one.data)
			netlink_add(f->batch, names[i], one.data, one.size);
	}
	netlink_end(f->batch, begin);
	return ++f->in_batch == FORGOTTEN_AT_ONCE ? delete_batch(f, err) : 0;
}

/* 1: there is more; 0: that was all; -1: failed. */
static int take_datagram(struct forgetting *f, struct nlmsghdr *head, size_t size,
                         bool *ret_is_whole, struct error *err)
{
	const size_t fixed = NLMSG_LENGTH(sizeof(f->family));

	for (unsigned left = (unsigned)size; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		if (head->nlmsg_flags & NLM_F_DUMP_INTR)
			*ret_is_whole = false;
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type == NLMSG_ERROR) {
			errno = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
			return FAIL_ERRNO(err, "list what is under way");
		}
		if (head->nlmsg_len >= fixed &&
		    consider_flow(
		            f, (struct span){(const char *)head + fixed, head->nlmsg_len - fixed},
		            err) < 0)
			return -1;
	}
	return 1;
}

/* The list is incomplete when the kernel has resized its table meanwhile. */
static int delete_listed(struct forgetting *f, bool *ret_is_whole, struct error *err)
{
	int more = 1;

	*ret_is_whole = true;
	if (request_dump(f, err) < 0)
		return -1;
	while (more > 0) {
		char data[RECEIVE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
		ssize_t got = recv(f->list_fd, data, sizeof(data), 0);

		if (got < 0 && errno != EINTR)
			return FAIL_ERRNO(err, "list what is under way");
		if (got >= 0)
			more = take_datagram(f, (void *)data, (size_t)got, ret_is_whole, err);
	}
	return more < 0 ? -1 : delete_batch(f, err);
}

static int forget_flows(struct forgetting *f, struct error *err)
{
	AUTO(buf_done) struct buf batch = BUF(BATCH_MAX);
	AUTO_CLOSE int list_fd = -1, forget_fd = -1;
	bool is_whole = false;
	int result = 0;

	if (netlink_open_socket(NETLINK_NETFILTER, 0, &list_fd, err) < 0 ||
	    netlink_open_socket(NETLINK_NETFILTER, 0, &forget_fd, err) < 0)
		return -1;
	f->batch = &batch;
	f->list_fd = list_fd;
	f->forget_fd = forget_fd;
	for (unsigned i = 0; i < TIMES_MAX && result == 0 && !is_whole; i++)
		result = delete_listed(f, &is_whole, err);
	return result;
}

int network_flows_forget(uint32_t from, flow_is_over *is_over, const void *context,
                         struct error *err)
{
	struct forgetting f = {.family = {.nfgen_family = AF_INET, .version = NFNETLINK_V0},
	                       .from = from,
	                       .is_over = is_over,
	                       .context = context};

	return forget_flows(&f, err);
}

int network_flows_forget6(const struct address6 *from, flow_is_over *is_over, const void *context,
                          struct error *err)
{
	struct forgetting f = {.family = {.nfgen_family = AF_INET6, .version = NFNETLINK_V0},
	                       .from6 = from,
	                       .is_over = is_over,
	                       .context = context};

	return forget_flows(&f, err);
}

struct ended_slots {
	const struct host_network *network;
	unsigned char slots[SLOTS_MAX / 8 + 1];
};

static bool is_of_ended(const void *context, const struct flow *flow)
{
	const struct ended_slots *e = context;
	uint32_t slot;

	return network_slot_of(e->network, flow->from, &slot) &&
	       (e->slots[slot / 8] >> slot % 8 & 1);
}

static bool is_of_ended6(const void *context, const struct flow *flow)
{
	const struct ended_slots *e = context;
	uint32_t slot;

	return network_slot_of6(e->network, &flow->from6, &slot) &&
	       (e->slots[slot / 8] >> slot % 8 & 1);
}

int network_flows_end(const struct host_network *n, const uint32_t *slots, size_t count,
                      struct error *err)
{
	struct ended_slots e = {.network = n};
	struct address6 one6;
	uint32_t one = 0;

	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		e.slots[slots[i] / 8] |= (unsigned char)(1u << slots[i] % 8);
	/* For several slots, one walk over all entries is quicker than one for each. */
	if (count == 1 && network_address(n, slots[0], &one, err) < 0)
		return -1;
	if (network_flows_forget(one, is_of_ended, &e, err) < 0)
		return -1;
	if (!n->ipv6)
		return 0;
	network_address6(n, slots[0], &one6);
	return network_flows_forget6(count == 1 ? &one6 : NULL, is_of_ended6, &e, err);
}
