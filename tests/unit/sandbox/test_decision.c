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

int main(void)
{
	return RUN(CASE(a_refusal_says_what_where_why_and_what_to_do),
	           CASE(a_report_that_is_not_sound_is_not_used),
	           CASE(the_rule_that_decides_is_found));
}
