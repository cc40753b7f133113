/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../nft.h"
#include "base/bytes.h"
#include "broker/host/options.h"
#include "broker/network/egress.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"
#include "unit.h"

#define SANDBOX "abcdefghij234567abcd"

static const char *rules_of(struct buf *out, const char *egress)
{
	const struct host_network n = {.subnet = {0x0ad50000, 16},
	                               .gateway = &(struct network_gateway){4080, 4443, 4053}};
	struct error err = {0};

	assert_int_equal(
	        network_egress_rules(out, &n, &(struct network_ruled){17, SANDBOX, egress}, &err),
	        0);
	assert_false(out->overflowed);
	return buf_text(out);
}

TEST(a_slot_with_rules_has_a_chain_and_an_entry_of_its_own)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const char *text = rules_of(&out, "+1.1.1.1 -0.0.0.0/0");

	assert_non_null(strstr(text, "add rule inet atoll egress17 ip daddr { 0.0.0.0-1.1.1.0, "
	                             "1.1.1.2-255.255.255.255 } goto refused17\n"));
	assert_non_null(strstr(text, "elements = { \"atoll17\" : jump egress17 }; }\n"));
	assert_non_null(strstr(text, "iifname vmap @egress"));
}

#define CUT "egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z"

TEST(a_slot_that_a_quota_cuts_off_reaches_the_gateway_alone)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const struct host_network n = {.subnet = {0x0ad50000, 16},
	                               .gateway = &(struct network_gateway){4080, 4443, 4053},
	                               .log_group = 7};
	const struct network_ruled ruled = {17, SANDBOX, "^" CUT " +1.1.1.1 -0.0.0.0/0 ~watch"};
	struct error err = {0};

	assert_int_equal(network_egress_rules(&out, &n, &ruled, &err), 0);
	assert_non_null(strstr(buf_text(&out),
	                       "egress17 ip daddr { 0.0.0.0-255.255.255.255 } goto refused17\n"));
	assert_non_null(strstr(buf_text(&out), "log prefix \"^" SANDBOX " " CUT "\" group 7"));
	assert_non_null(strstr(buf_text(&out), "refused17 goto egress_denied\n"));
	assert_non_null(strstr(buf_text(&out), "tcp dport 80 redirect to :4080\n"));
}

TEST(a_slot_with_names_leads_what_is_denied_to_the_gateway)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const char *text = rules_of(&out, "+example.com +1.1.1.1 -0.0.0.0/0");
	const struct host_network none = {.subnet = {0x0ad50000, 16}};
	struct error err = {0};
	const char *accepted;
	char way[256];

	(void)snprintf(way, sizeof(way),
	               "add rule inet atoll names17 ip saddr 10.213.0.19 ip daddr "
	               "{ 0.0.0.0-1.1.1.0, 1.1.1.2-255.255.255.255 } ");
	assert_non_null(strstr(text, way));
	assert_non_null(strstr(text, "tcp dport 80 redirect to :4080\n"));
	assert_non_null(strstr(text, "tcp dport 443 redirect to :4443\n"));
	assert_non_null(strstr(text, "udp dport 53 redirect to :4053\n"));
	assert_non_null(strstr(text, "elements = { \"atoll17\" : jump names17 }; }\n"));
	/* What is led there is let through before the rest is denied. */
	accepted =
	        strstr(text, "egress17 ip daddr 169.254.1.1 ct status dnat udp dport 4053 accept");
	assert_non_null(accepted);
	assert_true(accepted < strstr(text, "goto refused17"));
	assert_non_null(strstr(text, "ct status dnat tcp dport { 4080, 4443 } accept\n"));
	/* What comes too fast is not. */
	assert_true(strstr(text, "ct status dnat udp dport 4053 limit rate over") < accepted);
	assert_non_null(strstr(text, "tcp dport { 4080, 4443 } ct state new limit rate over"));
	buf_reset(&out);
	assert_int_equal(network_egress_rules(
	                         &out, &none,
	                         &(struct network_ruled){17, SANDBOX, "+example.com -0.0.0.0/0"},
	                         &err),
	                 -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
}

TEST(a_slot_with_a_source_address_translates_to_it_and_may_have_rules)
{
	static const char *const rules[] = {"@203.0.113.9", "@203.0.113.9 -9.9.9.9",
	                                    "@203.0.113.9 +example.com -0.0.0.0/0"};

	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		AUTO(buf_done) struct buf out = BUF(64 * 1024);
		const char *text = rules_of(&out, rules[i]);

		assert_non_null(strstr(text, "flush chain inet atoll source17\n"));
		assert_non_null(strstr(text, "elements = { 10.213.0.19 : jump source17 }; }\n"));
		assert_non_null(
		        strstr(text, "add rule inet atoll source17 snat ip to 203.0.113.9\n"));
		assert_true((strstr(text, "goto refused17") != NULL) == (i > 0));
		assert_non_null(strstr(text, "add rule inet atoll egress17 meta nfproto ipv6 goto "
		                             "egress_denied6\n"));
	}
}

static void list_table(struct buf *out)
{
	struct error err = {0};

	buf_reset(out);
	assert_int_equal(network_nft(SPAN("list table inet atoll\n"), out, &err), 0);
}

TEST(a_slot_loses_its_source_address_with_the_next_rules)
{
	struct host_network n = {.subnet = {0x0ad50000, 16}};
	const struct network_ruled none = {17, SANDBOX, "-9.9.9.9"};
	AUTO(buf_done) struct buf text = BUF(64 * 1024);
	struct error err = {0};

	if (geteuid() != 0 || access("/usr/sbin/nft", X_OK) < 0)
		skip();
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	/* One that never had any has nothing of it, and its rules can be restored as they were. */
	assert_int_equal(network_egress_set(&n, &none, &err), 0);
	network_egress_note(&n, 17, true);
	assert_int_equal(network_egress_rules(&text, &n, &none, &err), 0);
	assert_null(strstr(buf_text(&text), "source"));
	assert_int_equal(
	        network_egress_set(&n, &(struct network_ruled){17, SANDBOX, "@203.0.113.9"}, &err),
	        0);
	list_table(&text);
	assert_non_null(strstr(buf_text(&text), "10.213.0.19 : jump source17"));
	assert_int_equal(network_egress_set(&n, &none, &err), 0);
	list_table(&text);
	assert_null(strstr(buf_text(&text), "source17"));
	assert_null(strstr(buf_text(&text), "10.213.0.19"));
	assert_null(strstr(buf_text(&text), "snat"));
}

TEST(what_is_decided_is_told_to_the_log_of_the_kernel)
{
	const struct host_network n = {.subnet = {0x0ad50000, 16}, .log_group = 21007};
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const char *denied, *refused, *allowed;
	struct error err = {0};

	assert_int_equal(network_egress_rules(
	                         &out, &n, &(struct network_ruled){17, SANDBOX, "-9.9.9.9"}, &err),
	                 0);
	denied = strstr(buf_text(&out), "add rule inet atoll refused17 limit rate 20/second");
	refused = strstr(buf_text(&out), "add rule inet atoll refused17 goto egress_denied\n");
	allowed = strstr(buf_text(&out), "egress17 oifname != \"lo\" ct state new limit rate");
	assert_true(denied && refused && allowed && denied < refused && refused < allowed);
	assert_non_null(strstr(denied, "log prefix \"-" SANDBOX "\" group 21007 "));
	assert_non_null(strstr(allowed, "log prefix \"+" SANDBOX "\" group 21007 "));
	buf_reset(&out);
	assert_null(strstr(rules_of(&out, "-9.9.9.9"), "log"));
}

TEST(the_mode_watch_logs_and_refuses_nothing)
{
	const struct host_network n = {.subnet = {0x0ad50000, 16}, .log_group = 21007};
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	struct error err = {0};

	assert_int_equal(
	        network_egress_rules(&out, &n,
	                             &(struct network_ruled){17, SANDBOX, "-9.9.9.9 ~watch"}, &err),
	        0);
	assert_non_null(strstr(buf_text(&out), "log prefix \"?" SANDBOX "\" group 21007 "));
	assert_null(strstr(buf_text(&out), "refused17 goto egress_denied"));
}

TEST(what_is_denied_of_ipv6_is_refused_in_the_same_chain)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const char *text = rules_of(&out, "+1.1.1.1 +2600::1 -0.0.0.0/0");

	assert_non_null(strstr(text, "egress17 ip6 daddr { ::-2600::, 2600::2-ffff:ffff:ffff:ffff:"
	                             "ffff:ffff:ffff:ffff } goto refused17\n"));
	buf_reset(&out);
	text = rules_of(&out, "-2600::/16");
	assert_non_null(strstr(text, "egress17 ip6 daddr { 2600::-2600:ffff:"));
	assert_null(strstr(text, "egress17 ip daddr"));
	assert_non_null(strstr(text, "egress_forward6 meta nfproto ipv6 iifname vmap @egress\n"));
	assert_non_null(strstr(text, "egress_input6 meta nfproto ipv6 iifname vmap @egress\n"));
	assert_non_null(strstr(text, "refused17 meta nfproto ipv6 goto egress_denied6\n"));
}

TEST(with_names_no_mode_lets_ipv6_pass_the_gateway)
{
	const struct host_network n = {.subnet = {0x0ad50000, 16},
	                               .gateway = &(struct network_gateway){4080, 4443, 4053},
	                               .log_group = 21007};
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	const char *refused, *watched;
	struct error err = {0};

	assert_int_equal(
	        network_egress_rules(
	                &out, &n,
	                &(struct network_ruled){17, SANDBOX, "+example.com -0.0.0.0/0 ~watch"},
	                &err),
	        0);
	refused = strstr(buf_text(&out), "refused17 meta nfproto ipv6 goto egress_denied6\n");
	watched = strstr(buf_text(&out), "log prefix \"?" SANDBOX);
	assert_true(refused && watched && refused < watched);
	assert_non_null(strstr(buf_text(&out), "egress17 ip6 daddr { ::-ffff:"));
}

TEST(by_an_upstream_proxy_all_is_led_to_the_gateway_or_refused)
{
	static const char *const texts[] = {"", "-9.9.9.9 ~watch", "+1.1.1.1 -0.0.0.0/0",
	                                    "+example.com -0.0.0.0/0"};
	const struct host_network n = {.subnet = {0x0ad50000, 16},
	                               .gateway = &(struct network_gateway){4080, 4443, 4053},
	                               .log_group = 21007,
	                               .is_proxied = true};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		AUTO(buf_done) struct buf out = BUF(64 * 1024);
		const char *text, *last = "log prefix \"!" SANDBOX "\" group 21007 snaplen 64 "
		                          "queue-threshold 1\n"
		                          "add rule inet atoll egress17 meta nfproto ipv6 goto "
		                          "egress_denied6\n"
		                          "add rule inet atoll egress17 goto egress_denied\n";

		assert_int_equal(
		        network_egress_rules(&out, &n,
		                             &(struct network_ruled){17, SANDBOX, texts[i]}, &err),
		        0);
		text = buf_text(&out);
		assert_non_null(strstr(text, "ip daddr 0.0.0.0/0 tcp dport 443 redirect to :4443"));
		/* Nothing comes behind it. */
		assert_string_equal(text + out.size - strlen(last), last);
		assert_null(strstr(text, "?" SANDBOX));
		assert_null(strstr(text, "+" SANDBOX));
	}
}

TEST(a_slot_without_names_has_nothing_of_the_gateway)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);

	assert_null(strstr(rules_of(&out, "+1.1.1.1 -0.0.0.0/0"), "names"));
}

TEST(the_longest_rules_fit_into_the_script)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);

	for (unsigned i = 0; i < SANDBOX_EGRESS_MAX; i++)
		buf_addf(&text, "%s-%u.0.0.0/8 +%u.111.111.111", i > 0 ? " " : "", 100 + i,
		         100 + i);
	assert_non_null(
	        strstr(rules_of(&out, buf_text(&text)), "199.111.111.112-199.255.255.255 } goto"));
	buf_add_text(&text, " +example.com");
	buf_reset(&out);
	assert_non_null(strstr(rules_of(&out, buf_text(&text)), "redirect to :4053"));
}

static void note_slot(void *context, uint32_t slot)
{
	buf_addf(context, "%u ", slot);
}

TEST(the_slots_of_a_listing_are_found_and_nothing_else)
{
	AUTO(buf_done) struct buf found = BUF(256);

	network_egress_find(SPAN("table inet atoll {\n\tmap egress {\n\t\ttype ifname : verdict\n"
	                         "\t\telements = { \"atoll5\" : jump egress5,\n"
	                         "\t\t\t     \"atoll1024\" : jump egress1024,\n"
	                         "\"eth0\" : drop, \"atoll\" : drop, \"atollx\" : drop,\n"
	                         "\"atoll99999999\" : drop, \"atoll-1\" : drop }\n\t}\n}\n"),
	                    note_slot, &found);
	assert_string_equal(buf_text(&found), "5 1024 ");
	buf_reset(&found);
	network_egress_find(SPAN("\"atoll7"), note_slot, &found);
	network_egress_find(SPAN("\""), note_slot, &found);
	network_egress_find(SPAN(""), note_slot, &found);
	assert_int_equal(found.size, 0);
}

TEST(it_is_known_which_slots_have_rules)
{
	struct host_network n = {.usable = true};

	assert_false(network_egress_is_set(&n, 9));
	network_egress_note(&n, 9, true);
	assert_true(network_egress_is_set(&n, 9));
	assert_false(network_egress_is_set(&n, 8));
	assert_false(network_egress_is_set(&n, 10));
	network_egress_note(&n, 9, false);
	assert_false(network_egress_is_set(&n, 9));
	network_egress_note(&n, SLOTS_MAX, true);
	network_egress_note(&n, UINT32_MAX, true);
	assert_false(network_egress_is_set(&n, UINT32_MAX));
}

TEST(a_slot_without_rules_that_is_given_none_costs_nothing)
{
	struct host_network n = {.usable = true};
	struct error err = {0};

	assert_int_equal(network_egress_set(&n, &(struct network_ruled){28003, SANDBOX, ""}, &err),
	                 0);
	assert_int_equal(
	        network_egress_set(&n, &(struct network_ruled){28003, SANDBOX, "+1.1.1.1"}, &err),
	        0);
	assert_int_equal(network_egress_clear(&n, NULL, 0, &err), 0);
	assert_false(network_egress_is_set(&n, 28003));
	assert_int_equal(
	        network_egress_set(&n, &(struct network_ruled){28003, SANDBOX, "nonsense"}, &err),
	        -1);
}

static void count_own(void *context, uint32_t slot)
{
	unsigned *count = context;

	*count += slot == 28004 || slot == 28005;
}

static unsigned own_in_kernel(void)
{
	struct error err = {0};
	unsigned count = 0;

	assert_int_equal(network_egress_each(count_own, &count, &err), 0);
	return count;
}

/* They may be in the kernel, and the slot's next user must not get them. */
TEST(rules_that_failed_are_counted_as_set_until_they_are_removed)
{
	struct host_network n = {.usable = true};
	const uint32_t slot = 28006;
	uid_t user = geteuid();
	struct error err = {0};

	/* Whom the kernel lets change nothing. */
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(
	        network_egress_set(&n, &(struct network_ruled){slot, SANDBOX, "-0.0.0.0/0"}, &err),
	        -1);
	assert_true(network_egress_is_set(&n, slot));
	error_clear(&err);
	assert_int_equal(network_egress_clear(&n, &slot, 1, &err), -1);
	assert_true(network_egress_is_set(&n, slot));
	if (user == 0)
		assert_int_equal(seteuid(user), 0);
}

/* For real, in a network namespace that is this program's alone. */
TEST(rules_are_set_replaced_and_removed_in_the_kernel)
{
	struct host_network n = {.usable = true};
	const uint32_t slots[] = {28004, 28005};
	struct error err = {0};

	if (geteuid() != 0 || access("/usr/sbin/nft", X_OK) < 0) {
		print_message("needs root and nft\n");
		skip();
	}
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(
	        network_egress_set(&n, &(struct network_ruled){28004, SANDBOX, "-0.0.0.0/0"}, &err),
	        0);
	assert_int_equal(
	        network_egress_set(
	                &n, &(struct network_ruled){28005, SANDBOX, "+1.1.1.1 -0.0.0.0/0"}, &err),
	        0);
	assert_int_equal(own_in_kernel(), 2);
	assert_int_equal(
	        network_egress_set(
	                &n, &(struct network_ruled){28005, SANDBOX, "-9.9.9.9 -10.0.0.0/8"}, &err),
	        0);
	assert_int_equal(own_in_kernel(), 2);
	assert_int_equal(network_egress_set(&n, &(struct network_ruled){28005, SANDBOX, ""}, &err),
	                 0);
	assert_false(network_egress_is_set(&n, 28005));
	assert_int_equal(own_in_kernel(), 1);
	/* One of them has none any more: that is fine. */
	assert_int_equal(network_egress_clear(&n, slots, COUNT_OF(slots), &err), 0);
	assert_int_equal(own_in_kernel(), 0);
	/* The rules for all sandboxes are loaded again and again, with IPv6 and without. */
	assert_int_equal(network_subnet6_parse("fd61:746f:6c6c::/64", &n.subnet6, &err), 0);
	n.subnet = (struct network_range){0x0ad50000, 16};
	for (unsigned i = 0; i < 4; i++) {
		n.ipv6 = i % 2 == 0;
		network_claim(&n, 0, 1024);
		assert_true(n.usable);
		assert_int_equal(n.ipv6, i % 2 == 0);
	}
}

int main(void)
{
	run_nft_here();
	/* As the broker does: an nft that may not, or will not, ends before it has read all. */
	(void)signal(SIGPIPE, SIG_IGN);
	return RUN(CASE(a_slot_with_rules_has_a_chain_and_an_entry_of_its_own),
	           CASE(a_slot_with_names_leads_what_is_denied_to_the_gateway),
	           CASE(a_slot_with_a_source_address_translates_to_it_and_may_have_rules),
	           CASE(a_slot_loses_its_source_address_with_the_next_rules),
	           CASE(a_slot_that_a_quota_cuts_off_reaches_the_gateway_alone),
	           CASE(what_is_decided_is_told_to_the_log_of_the_kernel),
	           CASE(the_mode_watch_logs_and_refuses_nothing),
	           CASE(what_is_denied_of_ipv6_is_refused_in_the_same_chain),
	           CASE(with_names_no_mode_lets_ipv6_pass_the_gateway),
	           CASE(by_an_upstream_proxy_all_is_led_to_the_gateway_or_refused),
	           CASE(a_slot_without_names_has_nothing_of_the_gateway),
	           CASE(the_longest_rules_fit_into_the_script),
	           CASE(the_slots_of_a_listing_are_found_and_nothing_else),
	           CASE(it_is_known_which_slots_have_rules),
	           CASE(a_slot_without_rules_that_is_given_none_costs_nothing),
	           CASE(rules_that_failed_are_counted_as_set_until_they_are_removed),
	           CASE(rules_are_set_replaced_and_removed_in_the_kernel));
}
