/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/address.h"
#include "base/bytes.h"
#include "sandbox/egress_ipv6.h"

#define LAST "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"

/* "2600::-2600::ff …" */
static const char *denied_by(struct arena *a, const char *text)
{
	AUTO(buf_done) struct buf out = BUF(64 * 1024);
	char first[ADDRESS6_TEXT_SIZE], last[ADDRESS6_TEXT_SIZE];
	struct egress_ranges6 denied;
	struct error err = {0};

	assert_int_equal(sandbox_egress_denied6(text, &denied, &err), 0);
	for (size_t i = 0; i < denied.count; i++) {
		address6_format(&denied.items[i].first, first);
		address6_format(&denied.items[i].last, last);
		buf_addf(&out, "%s%s-%s", i ? " " : "", first, last);
	}
	return arena_copy(a, buf_span(&out));
}

static struct address6 address_of(const char *text)
{
	struct address6 address;

	assert_int_equal(inet_pton(AF_INET6, text, address.bytes), 1);
	return address;
}

TEST(ipv6_entries_deny_and_allowed_ones_win)
{
	AUTO(arena_done) struct arena a = {0};
	static const struct {
		const char *text, *denied;
	} cases[] = {
	        {"", ""},
	        {"+2600::1", ""},
	        {"-::/0", "::-" LAST},
	        {"-2600::/16", "2600::-2600:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	        {"-2600::7", "2600::7-2600::7"},
	        {"+2600::1 -2600::/126", "2600::-2600:: 2600::2-2600::3"},
	        {"+2600:: -2600::/127", "2600::1-2600::1"},
	        {"-2600::1 -2600::2 -2600::4", "2600::1-2600::2 2600::4-2600::4"},
	        {"-2600::ffff:ffff:ffff:ffff -2600:0:0:1::",
	         "2600::ffff:ffff:ffff:ffff-2600:0:0:1::"},
	        {"+" LAST " -::/0", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"},
	        {"+:: -::/0", "::1-" LAST},
	        {"+::/0 -::/0", ""},
	        {"+8000::/1 -::/0", "::-7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	        {"-" LAST " -::/1", "::-7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff " LAST "-" LAST},
	        {"-2600::/16 ~watch", "2600::-2600:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(denied_by(&a, cases[i].text), cases[i].denied);
}

TEST(rules_for_ipv4_open_no_ipv6)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const all[] = {"-0.0.0.0/0",
	                                  "+1.1.1.1 -0.0.0.0/0",
	                                  "+example.com -0.0.0.0/0",
	                                  "+0.0.0.0/0 -0.0.0.0/0",
	                                  "-128.0.0.0/1 -0.0.0.0/1",
	                                  "-0.0.0.0/0 -2600::/16",
	                                  "-203.0.113.0/24",
	                                  "+203.0.113.7 -203.0.113.0/24",
	                                  "-203.0.113.0/24 !example.com ~ask"};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		assert_string_equal(denied_by(&a, all[i]), "::-" LAST);
	assert_string_equal(denied_by(&a, "+2600::1 -203.0.113.0/24"), "::-2600:: 2600::2-" LAST);
	assert_string_equal(denied_by(&a, "+2600::1 -0.0.0.0/0"), "::-2600:: 2600::2-" LAST);
	/* These name both. */
	assert_string_equal(denied_by(&a, "-203.0.113.0/24 -2600::7"), "2600::7-2600::7");
	/* And IPv6 alone denies no IPv4. */
	assert_false(sandbox_egress_denies_all("-::/0"));
}

TEST(what_is_no_text_of_rules_is_refused)
{
	static const char *const bad[] = {"-2600::/129", "-2600::g", "2600::1", "-",
	                                  "-example.com"};
	struct egress_ranges6 denied = {.count = 7};
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(sandbox_egress_denied6(bad[i], &denied, &err), -1);
	assert_int_equal(denied.count, 7);
}

TEST(the_longest_lists_of_rules_fit)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);
	struct egress_ranges6 denied;
	struct error err = {0};

	for (unsigned i = 0; i < SANDBOX_EGRESS_MAX; i++)
		buf_addf(&text, "%s-2600:%x::/32 +2600:%x::1", i > 0 ? " " : "", 2 * i, 2 * i);
	assert_int_equal(sandbox_egress_denied6(buf_text(&text), &denied, &err), 0);
	assert_int_equal(denied.count, 2 * SANDBOX_EGRESS_MAX);
	buf_add_text(&text, " -2601::/32");
	assert_int_equal(sandbox_egress_denied6(buf_text(&text), &denied, &err), -1);
}

static const char *rule_of(struct arena *a, const char *text, const char *address)
{
	struct address6 in = address_of(address);

	return arena_copy(a, sandbox_egress_rule_of_address6(text, &in));
}

TEST(the_rule_that_denies_is_the_ipv6_entry_or_what_implies_it)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(rule_of(&a, "-0.0.0.0/0 -2600::/16", "2600::7"), "2600::/16");
	assert_string_equal(rule_of(&a, "+2600::8 -0.0.0.0/0", "2600::7"), "0.0.0.0/0");
	assert_string_equal(rule_of(&a, "-203.0.113.0/24", "2600::7"), "203.0.113.0/24");
	assert_string_equal(rule_of(&a, "-203.0.113.0/24 -2600::8", "2600::7"), "");
	assert_string_equal(rule_of(&a, "", "2600::7"), "");
}

TEST(only_global_addresses_that_lead_to_no_ipv4_are_left_to_sandboxes)
{
	static const char *const yes[] = {"::",
	                                  "::1",
	                                  "::ffff:10.0.0.1",
	                                  "::7f00:1",
	                                  "64:ff9b::a00:1",
	                                  "64:ff9b:1::a00:1",
	                                  "100::1",
	                                  "2001::1",
	                                  "2001:db8::1",
	                                  "2002:a00:1::1",
	                                  "3fff::1",
	                                  "4000::",
	                                  "fc00::1",
	                                  "fd00::2",
	                                  "fe80::1",
	                                  "fec0::1",
	                                  "ff02::1",
	                                  LAST};
	static const char *const no[] = {"2000::1", "2001:200::1", "2001:4860:4860::8888",
	                                 "2003::1", "2600::1",     "3ffe::1"};
	struct sockaddr_in6 to = {.sin6_family = AF_INET6};
	struct egress_range6 range;

	for (size_t i = 0; i < COUNT_OF(yes) + COUNT_OF(no); i++) {
		bool is_refused = i < COUNT_OF(yes);
		struct address6 address = address_of(is_refused ? yes[i] : no[i - COUNT_OF(yes)]);

		assert_int_equal(egress_is_refused6(&address), is_refused);
		memcpy(&to.sin6_addr, address.bytes, sizeof(address.bytes));
		assert_int_equal(address_is_public((const struct sockaddr *)&to), !is_refused);
	}
	assert_true(egress_refused_range6(0, &range));
	assert_false(egress_refused_range6(7, &range));
}

TEST(the_option_opens_private_and_global_ranges_only)
{
	static const char *const may[] = {"fc00::/7",      "fd00::/64", "fd00::2",
	                                  "2001:db8::/32", "2600::/12", "3fff::/20"};
	static const char *const not [] = {"::/0",         "::1",           "::ffff:0:0/96",
	                                   "64:ff9b::/96", "2000::/3",      "2001::/16",
	                                   "2001::1",      "2002:a00::/32", "fe80::/10",
	                                   "fe80::1",      "ff00::/8",      "f000::/4"};
	struct egress_range6 range;

	for (size_t i = 0; i < COUNT_OF(may); i++) {
		assert_true(egress_range6_parse(span_of(may[i]), &range));
		assert_true(egress_range6_may_open(&range));
	}
	for (size_t i = 0; i < COUNT_OF(not ); i++) {
		assert_true(egress_range6_parse(span_of(not [i]), &range));
		assert_false(egress_range6_may_open(&range));
	}
}

TEST(a_range_is_an_address_and_a_prefix)
{
	static const char *const bad[] = {"",     "/",          "::/", "::/129",       "::/-1",
	                                  "::/x", "10.0.0.0/8", ":::", "fe80::1%eth0", "[::1]",
	                                  "::1 ", "example.com"};
	struct egress_range6 range;
	struct address6 address = address_of("2600::ffff:ffff");

	assert_true(egress_range6_parse(SPAN("2600::ffff:1/96"), &range));
	assert_true(egress_range6_has(&range, &address));
	assert_true(egress_address6_parse(SPAN("2600::1/128"), &address));
	assert_false(egress_address6_parse(SPAN("2600::/127"), &address));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(egress_range6_parse(span_of(bad[i]), &range));
}

TEST(a_cut_denies_ipv6_whatever_the_rules_say)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text =
	        sandbox_egress_under(&a, "+2001:db8::/32 -9.9.9.9 ~watch",
	                             "egress_mb_per_day/project/lab/50/2026-11-29T00:00:00.000Z");
	struct egress_ranges6 denied;
	struct address6 address;
	struct error err = {0};

	assert_int_equal(sandbox_egress_denied6(text, &denied, &err), 0);
	assert_int_equal(denied.count, 1);
	assert_true(egress_address6_parse(SPAN("2001:db8::1"), &address));
	assert_true(egress_ranges6_have(&denied, &address));
}

int main(void)
{
	return RUN(CASE(ipv6_entries_deny_and_allowed_ones_win), CASE(rules_for_ipv4_open_no_ipv6),
	           CASE(what_is_no_text_of_rules_is_refused), CASE(the_longest_lists_of_rules_fit),
	           CASE(the_rule_that_denies_is_the_ipv6_entry_or_what_implies_it),
	           CASE(only_global_addresses_that_lead_to_no_ipv4_are_left_to_sandboxes),
	           CASE(the_option_opens_private_and_global_ranges_only),
	           CASE(a_range_is_an_address_and_a_prefix),
	           CASE(a_cut_denies_ipv6_whatever_the_rules_say));
}
