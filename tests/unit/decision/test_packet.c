/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <string.h>

#include "decision/packet.h"
#include "netlink/netlink.h"
#include "sandbox/decision.h"
#include "unit.h"

#define BOX "abcdefghij234567abcd"

/* To 203.0.113.9, port 443; the protocol is at 9. */
static const unsigned char segment[] = {0x45, 0,  0,   60, 0,   0, 0x40, 0, 64, 6,    0, 0, 10, 213,
                                        0,    19, 203, 0,  113, 9, 0xc0, 0, 1,  0xbb, 0, 0, 0,  0};

static bool read_message(const char *prefix, const void *packet, size_t size,
                         struct network_decision *ret)
{
	const struct nfgenmsg fixed = {.version = NFNETLINK_V0};
	AUTO(buf_done) struct buf message = BUF(1024);
	size_t begin = netlink_begin(&message, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET, 0, &fixed,
	                             sizeof(fixed));

	if (prefix)
		netlink_add_text(&message, NFULA_PREFIX, prefix);
	if (packet)
		netlink_add(&message, NFULA_PAYLOAD, packet, size);
	netlink_end(&message, begin);
	/* Every cut message is refused or has the same meaning: nothing is read behind its end. */
	for (size_t cut = 0; cut < message.size; cut++)
		(void)packet_decision((struct span){message.data, cut}, ret);
	return packet_decision(buf_span(&message), ret);
}

TEST(a_logged_packet_is_a_decision)
{
	struct network_decision d;

	assert_true(read_message("-" BOX, segment, sizeof(segment), &d));
	assert_string_equal(d.sandbox, BOX);
	assert_int_equal(d.verdict, DECISION_DENIED);
	assert_int_equal(d.code, DECISION_ADDRESS_DENIED);
	assert_int_equal(d.address, 0xcb007109);
	assert_int_equal(d.port, 443);
	assert_int_equal(d.protocol, DECISION_TCP);
	assert_int_equal(d.count, 1);
	assert_true(decision_is_sound(&d));
	assert_true(read_message("+" BOX, segment, sizeof(segment), &d));
	assert_int_equal(d.verdict, DECISION_ALLOWED);
	assert_int_equal(d.code, DECISION_OK);
	assert_true(read_message("?" BOX, segment, sizeof(segment), &d));
	assert_int_equal(d.verdict, DECISION_WATCHED);
	assert_true(read_message("!" BOX, segment, sizeof(segment), &d));
	assert_int_equal(d.verdict, DECISION_DENIED);
	assert_int_equal(d.code, DECISION_DIRECT_REFUSED);
}

TEST(a_packet_without_ports_has_none)
{
	unsigned char packet[sizeof(segment)];
	struct network_decision d;

	memcpy(packet, segment, sizeof(packet));
	packet[9] = 1; /* ICMP */
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.protocol, DECISION_OTHER);
	assert_int_equal(d.port, 0);
	packet[9] = 17;
	packet[0] = 0x4f; /* a head longer than the packet */
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.port, 0);
	packet[0] = 0x40; /* and one shorter than any */
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.port, 0);
}

/* To 2600::9, port 443; the next header is at 6. */
static const unsigned char segment6[64] = {
        0x60, 0, 0,    0, 0, 20, 6, 64, 0xfd, 0x61, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0,
        0,    2, 0x26, 0, 0, 0,  0, 0,  0,    0,    0, 0, 0, 0, 0, 0, 0, 9, 0xc0, 0, 1, 0xbb};

TEST(a_packet_of_ipv6_is_a_decision)
{
	struct network_decision d;
	char address[ADDRESS6_TEXT_SIZE];

	assert_true(read_message("-" BOX, segment6, sizeof(segment6), &d));
	decision_address(&d, address);
	assert_string_equal(address, "2600::9");
	assert_int_equal(d.address, 0);
	assert_int_equal(d.port, 443);
	assert_int_equal(d.protocol, DECISION_TCP);
	assert_true(decision_is_sound(&d));
	assert_false(read_message("-" BOX, segment6, 39, &d));
	assert_true(read_message("-" BOX, segment6, 40, &d));
	assert_int_equal(d.port, 0);
}

TEST(extension_headers_are_passed_and_later_fragments_have_no_port)
{
	unsigned char packet[sizeof(segment6) + 8] = {0};
	struct network_decision d;

	memcpy(packet, segment6, 40);
	memcpy(packet + 48, segment6 + 40, 16);
	packet[6] = 60; /* destination options of eight bytes, then UDP */
	packet[40] = 17;
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.port, 443);
	assert_int_equal(d.protocol, DECISION_UDP);
	packet[41] = 255; /* longer than what is there */
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.port, 0);
	packet[6] = 44; /* the first fragment */
	packet[41] = 0;
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.port, 443);
	packet[43] = 8; /* the second one */
	assert_true(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_int_equal(d.port, 0);
	assert_int_equal(d.protocol, DECISION_OTHER);
}

TEST(other_messages_are_none)
{
	unsigned char packet[sizeof(segment)];
	struct network_decision d;

	assert_false(read_message(NULL, segment, sizeof(segment), &d));
	assert_false(read_message("", segment, sizeof(segment), &d));
	assert_false(read_message("-short", segment, sizeof(segment), &d));
	assert_false(read_message("-ABCDEFGHIJ234567ABCD", segment, sizeof(segment), &d));
	assert_false(read_message("-" BOX, NULL, 0, &d));
	assert_false(read_message("-" BOX, segment, 19, &d));
	memcpy(packet, segment, sizeof(packet));
	packet[0] = 0x65; /* IPv6 */
	assert_false(read_message("-" BOX, packet, sizeof(packet), &d));
	assert_false(packet_decision(SPAN(""), &d));
}

#define CUT "egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z"

TEST(the_kernel_says_which_quota_cuts_the_network)
{
	struct network_decision d;

	assert_true(read_message("^" BOX " " CUT, segment, sizeof(segment), &d));
	assert_int_equal(d.verdict, DECISION_DENIED);
	assert_int_equal(d.code, DECISION_QUOTA);
	assert_string_equal(d.sandbox, BOX);
	assert_string_equal(d.rule, CUT);
	assert_int_equal(d.port, 443);
	assert_true(decision_is_sound(&d));
	assert_false(read_message("^" BOX, segment, sizeof(segment), &d) &&
	             d.code == DECISION_QUOTA);
	assert_false(read_message("^" BOX " nonsense", segment, sizeof(segment), &d));
	assert_false(read_message("-" BOX " " CUT, segment, sizeof(segment), &d));
}

int main(void)
{
	return RUN(CASE(a_logged_packet_is_a_decision), CASE(a_packet_of_ipv6_is_a_decision),
	           CASE(extension_headers_are_passed_and_later_fragments_have_no_port),
	           CASE(a_packet_without_ports_has_none), CASE(other_messages_are_none),
	           CASE(the_kernel_says_which_quota_cuts_the_network));
}
