/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/events.h"

#include <string.h>

#include "unit.h"

TEST(every_kind_has_a_name_of_its_own)
{
	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++) {
		const char *name = event_kind_name((enum event_kind)i);

		assert_non_null(strchr(name, '.'));
		assert_true(strlen(name) < EVENT_PATTERN_MAX);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(name, event_kind_name((enum event_kind)j));
	}
	assert_string_equal(event_kind_name(EVENT_KIND_COUNT), "unknown");
}

TEST(every_state_is_told_by_a_kind_of_its_own)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(
			        event_kind_of_move(SANDBOX_CREATING, (enum sandbox_state)i),
			        event_kind_of_move(SANDBOX_CREATING, (enum sandbox_state)j));
	}
	assert_string_equal(event_kind_name(event_kind_of_move(SANDBOX_CREATING, SANDBOX_STARTED)),
	                    "sandbox.started");
}

TEST(a_pattern_is_a_kind_or_all_of_a_subject_or_all)
{
	static const char *const good[] = {"*", "sandbox.*", "sandbox.started"};
	static const char *const bad[] = {
	        "",          "sandbox",    "sandbox.st*",      "sandbox*",
	        "*.started", "nosuch.*",   "sandbox.*.*",      "**",
	        "SANDBOX.*", "sandbox.**", "sandbox.started ", "sandbox."};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		assert_int_equal(event_pattern_check(good[i], &err), 0);
		assert_true(event_pattern_matches(good[i], "sandbox.started"));
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(event_pattern_check(bad[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	assert_int_equal(event_pattern_check("lease.*", &err), 0);
	assert_int_equal(event_pattern_check("key.revoked", &err), 0);
	assert_false(event_pattern_matches("sandbox.*", "snapshot.created"));
	assert_false(event_pattern_matches("sandbox.start", "sandbox.started"));
	assert_false(event_pattern_matches("sandbox.started", "sandbox.start"));
}

int main(void)
{
	return RUN(CASE(every_kind_has_a_name_of_its_own),
	           CASE(every_state_is_told_by_a_kind_of_its_own),
	           CASE(a_pattern_is_a_kind_or_all_of_a_subject_or_all));
}
