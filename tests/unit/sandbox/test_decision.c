/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sandbox/decision.h"
#include "unit.h"

static const struct network_decision sample = {.sandbox = "abcdefghij234567abcd",
                                               .host = "api.example.com",
                                               .port = 443,
                                               .protocol = DECISION_TLS,
                                               .code = DECISION_HOST_NOT_ALLOWED,
                                               .count = 3};

static void expect_line(const struct network_decision *d, const char *expected)
{
	AUTO(buf_done) struct buf line = BUF(1024);

	decision_add_line(&line, d);
	assert_string_equal(buf_text(&line), expected);
}

TEST(a_refusal_says_what_where_why_and_what_to_do)
{
	struct network_decision d = sample;

	expect_line(&d, "[network] refused: api.example.com:443 (no rule allows it), 3 times. Ask "
	                "with the tool request_access, or use another way.\n");
	d = (struct network_decision){.address = 0xcb007109,
	                              .port = 22,
	                              .protocol = DECISION_TCP,
	                              .code = DECISION_ADDRESS_DENIED,
	                              .count = 1};
	expect_line(&d,
	            "[network] refused: 203.0.113.9:22 (a rule denies the address). Ask with the "
	            "tool request_access, or use another way.\n");
	decision_find_rule(&d, "+1.1.1.1 -9.9.9.0/24 -203.0.113.0/24 -0.0.0.0/0");
	assert_string_equal(d.rule, "203.0.113.0/24");
	d.code = DECISION_RANGE_REFUSED;
	expect_line(&d, "[network] refused: 203.0.113.9:22 (no sandbox may reach this address).\n");
}

TEST(an_ipv6_address_is_told_in_brackets_before_a_port)
{
	struct network_decision d = {.port = 22,
	                             .protocol = DECISION_TCP,
	                             .code = DECISION_ADDRESS_DENIED,
	                             .count = 1},
	                        other = d;
	char text[ADDRESS6_TEXT_SIZE];

	assert_true(decision_set_address(&d, "2600:0:0::7"));
	decision_find_rule(&d, "+1.1.1.1 -9.9.9.0/24 -2600::/32 -0.0.0.0/0");
	assert_string_equal(d.rule, "2600::/32");
	expect_line(&d, "[network] refused: [2600::7]:22 (rule 2600::/32 denies it). Ask with the "
	                "tool request_access, or use another way.\n");
	d.port = 0;
	decision_address(&d, text);
	assert_string_equal(text, "2600::7");
	memcpy(d.sandbox, sample.sandbox, sizeof(d.sandbox));
	assert_true(decision_is_sound(&d));
	assert_false(decision_is_same(&d, &other));
	other = d;
	assert_true(decision_is_same(&d, &other));
	other.address6.bytes[15]++;
	assert_false(decision_is_same(&d, &other));
	d = (struct network_decision){.count = 1};
	decision_address(&d, text);
	assert_string_equal(text, "");
	assert_false(decision_set_address(&d, "2600::/32"));
	assert_false(decision_set_address(&d, "10.0.0.0/8"));
	assert_false(decision_set_address(&d, "example.com"));
	assert_false(decision_set_address(&d, ""));
	assert_true(decision_set_address(&d, "203.0.113.9"));
	assert_int_equal(d.address, 0xcb007109);
}

TEST(a_report_that_is_not_sound_is_not_used)
{
	struct network_decision d = sample;

	assert_true(decision_is_sound(&d));
	d.verdict = DECISION_VERDICT_COUNT;
	assert_false(decision_is_sound(&d));
	d = sample;
	d.code = DECISION_CODE_COUNT;
	assert_false(decision_is_sound(&d));
	d = sample;
	d.protocol = 99;
	assert_false(decision_is_sound(&d));
	d = sample;
	memset(d.host, 'a', sizeof(d.host));
	assert_false(decision_is_sound(&d));
	d = sample;
	memcpy(d.host, "a b", 4);
	assert_false(decision_is_sound(&d));
	d = sample;
	memcpy(d.rule, "*.*", 4);
	assert_false(decision_is_sound(&d));
	d = sample;
	d.sandbox[0] = '/';
	assert_false(decision_is_sound(&d));
	d = sample;
	memcpy(d.rule, "*.example.com", 14);
	assert_true(decision_is_sound(&d));
}

TEST(the_rule_that_decides_is_found)
{
	struct span rule;

	rule = sandbox_egress_rule_of_name("+1.1.1.1 +a.test +*.b.test -0.0.0.0/0",
	                                   SPAN("x.b.test"));
	assert_true(span_equals_text(rule, "*.b.test"));
	assert_int_equal(sandbox_egress_rule_of_name("+a.test", SPAN("b.test")).size, 0);
	assert_string_equal(sandbox_egress_denials("+1.1.1.1 -2.2.2.2"), "-2.2.2.2");
	assert_string_equal(sandbox_egress_denials("-2.2.2.2"), "-2.2.2.2");
	assert_string_equal(sandbox_egress_denials("+a-b.test"), "");
	assert_string_equal(sandbox_egress_denials(""), "");
}

static void expect_prediction(const char *egress, const char *host, uint16_t port,
                              enum decision_code code)
{
	struct network_decision d;
	struct error err = {0};

	assert_int_equal(decision_predict(egress, host, port, &d, &err), 0);
	assert_int_equal(d.code, code);
}

TEST(what_would_be_decided_is_told)
{
	struct network_decision d;
	struct error err = {0};

	expect_prediction("", "a.test", 443, DECISION_OK);
	expect_prediction("", "10.0.0.1", 443, DECISION_RANGE_REFUSED);
	expect_prediction("+*.test -0.0.0.0/0", "a.test", 443, DECISION_OK);
	expect_prediction("+*.test -0.0.0.0/0", "a.test", 22, DECISION_HOST_NOT_ALLOWED);
	expect_prediction("-0.0.0.0/0", "a.test", 443, DECISION_HOST_NOT_ALLOWED);
	expect_prediction("-0.0.0.0/0 ~watch", "1.2.3.4", 22, DECISION_ADDRESS_DENIED);
	expect_prediction("", "2600::1", 443, DECISION_OK);
	expect_prediction("", "fd00::1", 443, DECISION_RANGE_REFUSED);
	expect_prediction("-0.0.0.0/0", "2600::1", 443, DECISION_ADDRESS_DENIED);
	expect_prediction("+2600::1 -0.0.0.0/0", "2600::1", 443, DECISION_OK);
	expect_prediction("-2600::/16", "2601::1", 443, DECISION_OK);
	assert_int_equal(decision_predict("-2600::/16 ~watch", "2600::1", 443, &d, &err), 0);
	assert_int_equal(d.verdict, DECISION_WATCHED);
	/* The gateway that watches names sees no IPv6. */
	assert_int_equal(decision_predict("+a.test -0.0.0.0/0 ~watch", "2600::1", 443, &d, &err),
	                 0);
	assert_int_equal(d.verdict, DECISION_DENIED);
	expect_prediction("@203.0.113.9 +a.test -0.0.0.0/0", "a.test", 443, DECISION_OK);
	expect_prediction("@203.0.113.9", "1.2.3.4", 443, DECISION_OK);
	/* A source address is one of IPv4, in every mode. */
	expect_prediction("@203.0.113.9", "2600::1", 443, DECISION_SOURCE_ADDRESS);
	assert_int_equal(
	        decision_predict("@203.0.113.9 -2600::/16 ~watch", "2600::1", 443, &d, &err), 0);
	assert_int_equal(d.verdict, DECISION_DENIED);
	assert_int_equal(decision_predict("-9.9.9.9", "a.test", 443, &d, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	error_clear(&err);
	assert_int_equal(decision_predict("", "a b", 443, &d, &err), -1);
}

TEST(the_mode_is_the_last_word_of_the_rules)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_egress lists;
	struct error err = {0};
	const char *text;

	assert_int_equal(sandbox_egress_mode(""), EGRESS_ENFORCE);
	assert_int_equal(sandbox_egress_mode("-0.0.0.0/0 ~ask"), EGRESS_ASK);
	assert_int_equal(sandbox_egress_parse(&a, "+a.test -0.0.0.0/0 ~watch", &lists, &err), 0);
	assert_int_equal(lists.mode, EGRESS_WATCH);
	assert_null(lists.deny[1]);
	assert_int_equal(sandbox_egress_format(&a, &lists, &text, &err), 0);
	assert_string_equal(text, "+a.test -0.0.0.0/0 ~watch");
	assert_int_equal(sandbox_egress_add(&a, text, "b.test", &text, &err), 0);
	assert_string_equal(text, "+a.test +b.test -0.0.0.0/0 ~watch");
	assert_int_equal(sandbox_egress_add(&a, text, "a.test", &text, &err), 0);
	assert_string_equal(text, "+a.test +b.test -0.0.0.0/0 ~watch");
	assert_int_equal(sandbox_egress_parse(&a, "~ask +a.test", &lists, &err), -1);
}

#define CUT "egress_mb_per_day/key/k1/2.5/2026-11-29T00:00:00.000Z"

TEST(a_quota_that_is_used_up_says_which_how_much_and_until_when)
{
	struct network_decision d = sample;
	struct error err = {0};

	decision_set_cut(&d, SPAN(CUT));
	assert_true(decision_is_sound(&d));
	assert_false(decision_is_fault(d.code));
	expect_line(&d,
	            "[network] refused: api.example.com:443 (quota egress_mb_per_day of key "
	            "'k1' is used up: 2.5 MB a day; the network comes back at "
	            "2026-11-29T00:00:00.000Z), 3 times. Files, commands and previews go on; an "
	            "administrator can raise the quota.\n");
	*d.rule = '\0';
	d.count = 1;
	expect_line(&d,
	            "[network] refused: api.example.com:443 (a quota of sent bytes is used up). "
	            "Files, commands and previews go on; an administrator can raise the "
	            "quota.\n");
	assert_int_equal(
	        decision_predict("^" CUT " +a.test -0.0.0.0/0 ~watch", "a.test", 443, &d, &err), 0);
	assert_int_equal(d.verdict, DECISION_DENIED);
	assert_int_equal(d.code, DECISION_QUOTA);
	assert_string_equal(d.rule, CUT);
}

int main(void)
{
	return RUN(CASE(a_refusal_says_what_where_why_and_what_to_do),
	           CASE(an_ipv6_address_is_told_in_brackets_before_a_port),
	           CASE(a_report_that_is_not_sound_is_not_used),
	           CASE(the_rule_that_decides_is_found), CASE(what_would_be_decided_is_told),
	           CASE(the_mode_is_the_last_word_of_the_rules),
	           CASE(a_quota_that_is_used_up_says_which_how_much_and_until_when));
}
