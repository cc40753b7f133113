/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "decision/uses.h"
#include "sandbox/decision.h"
#include "unit.h"

#define NOW INT64_C(1790000000000)
#define BOX "abcdefghij234567abcd"

static struct network_decision use_of(const char *rule)
{
	struct network_decision d = {
	        .sandbox = BOX, .verdict = DECISION_ALLOWED, .code = DECISION_OK, .count = 2};

	(void)snprintf(d.rule, sizeof(d.rule), "%s", rule);
	return d;
}

TEST(uses_of_one_rule_are_counted_and_taken_once)
{
	struct network_decision d = use_of("github-api"), other = use_of("npm");
	struct rule_uses u = {.by_key = {0}};
	struct decision_use taken[4];

	uses_add(&u, &d, NOW);
	uses_add(&u, &d, NOW + 5);
	uses_add(&u, &other, NOW);
	assert_int_equal(uses_take(&u, taken, 1), 1);
	assert_int_equal(uses_take(&u, taken + 1, 3), 1);
	for (size_t i = 0; i < 2; i++) {
		bool is_first = strcmp(taken[i].rule, "github-api") == 0;

		assert_string_equal(taken[i].sandbox, BOX);
		assert_int_equal(taken[i].count, is_first ? 4 : 2);
		assert_int_equal(taken[i].at, is_first ? NOW + 5 : NOW);
	}
	assert_int_equal(uses_take(&u, taken, 4), 0);
	uses_done(&u);
}

TEST(refusals_and_entries_of_network_rules_are_no_uses)
{
	static const char *const rules[] = {"", "*.example.com", "api.example.com",
	                                    "203.0.113.0/24", "::1"};
	struct network_decision d = use_of("github-api");
	struct rule_uses u = {.by_key = {0}};
	struct decision_use taken[1];

	d.verdict = DECISION_DENIED;
	uses_add(&u, &d, NOW);
	d.verdict = DECISION_ALLOWED;
	d.code = DECISION_UPSTREAM_UNREACHABLE;
	uses_add(&u, &d, NOW);
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		d = use_of(rules[i]);
		uses_add(&u, &d, NOW);
	}
	assert_int_equal(uses_take(&u, taken, 1), 0);
	uses_done(&u);
}

TEST(more_rules_than_the_limit_are_not_noted)
{
	struct rule_uses u = {.by_key = {0}};
	struct decision_use taken[8];
	size_t count = 0, got;
	char rule[16];

	for (unsigned i = 0; i < USES_MAX + 10; i++) {
		(void)snprintf(rule, sizeof(rule), "r%u", i);
		struct network_decision d = use_of(rule);

		uses_add(&u, &d, NOW);
	}
	while ((got = uses_take(&u, taken, COUNT_OF(taken))) > 0)
		count += got;
	assert_int_equal(count, USES_MAX);
	uses_done(&u);
}

int main(void)
{
	return RUN(CASE(uses_of_one_rule_are_counted_and_taken_once),
	           CASE(refusals_and_entries_of_network_rules_are_no_uses),
	           CASE(more_rules_than_the_limit_are_not_noted));
}
