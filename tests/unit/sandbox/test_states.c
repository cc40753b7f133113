/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "sandbox/sandbox.h"

TEST(every_state_has_a_name_that_parses_back)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
		struct error err = {0};
		enum sandbox_state parsed = SANDBOX_STATE_COUNT;

		assert_int_equal(sandbox_state_parse(sandbox_state_name((enum sandbox_state)i),
		                                     &parsed, &err),
		                 0);
		assert_int_equal(parsed, i);
	}
}

TEST(every_reason_has_its_own_name)
{
	for (unsigned i = 0; i < SANDBOX_REASON_COUNT; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(sandbox_reason_name((enum sandbox_reason)i),
			                        sandbox_reason_name((enum sandbox_reason)j));
}

TEST(a_state_or_reason_from_outside_the_table_is_called_unknown)
{
	assert_string_equal(sandbox_state_name(SANDBOX_STATE_COUNT), "unknown");
	assert_string_equal(sandbox_reason_name(SANDBOX_REASON_COUNT), "unknown");
	assert_false(sandbox_state_can_move(SANDBOX_STATE_COUNT, SANDBOX_STARTED));
	assert_false(sandbox_state_can_move(SANDBOX_STARTED, SANDBOX_STATE_COUNT));
}

TEST(an_unknown_state_is_refused_with_the_known_ones)
{
	struct error err = {0};
	enum sandbox_state parsed = SANDBOX_STARTED;

	assert_int_equal(sandbox_state_parse("Started", &parsed, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.hint, "started"));
	assert_int_equal(parsed, SANDBOX_STARTED);
}

TEST(the_ordinary_life_is_allowed)
{
	static const enum sandbox_state life[] = {
	        SANDBOX_PENDING,  SANDBOX_CREATING, SANDBOX_STARTED,
	        SANDBOX_STOPPING, SANDBOX_STOPPED,  SANDBOX_CREATING,
	        SANDBOX_STARTED,  SANDBOX_DELETING, SANDBOX_DELETED,
	};

	for (size_t i = 1; i < COUNT_OF(life); i++)
		assert_true(sandbox_state_can_move(life[i - 1], life[i]));
}

TEST(a_pause_interrupts_the_life_of_a_started_one_only)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		assert_int_equal(sandbox_state_can_move((enum sandbox_state)i, SANDBOX_PAUSED),
		                 i == SANDBOX_STARTED);
	assert_true(sandbox_state_can_move(SANDBOX_PAUSED, SANDBOX_STARTED));
	assert_true(sandbox_state_can_move(SANDBOX_PAUSED, SANDBOX_STOPPING));
	assert_true(sandbox_state_can_move(SANDBOX_PAUSED, SANDBOX_STOPPED));
	assert_true(sandbox_state_can_move(SANDBOX_PAUSED, SANDBOX_FAILED));
	assert_false(sandbox_state_can_move(SANDBOX_PAUSED, SANDBOX_CREATING));
}

TEST(every_state_but_deleted_leads_to_deleting)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
		bool expected = i != SANDBOX_DELETED && i != SANDBOX_DELETING;

		assert_int_equal(sandbox_state_can_move((enum sandbox_state)i, SANDBOX_DELETING),
		                 expected);
	}
}

TEST(a_deleted_one_can_only_be_stopped_again_and_nothing_leads_back_to_pending)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
		assert_int_equal(sandbox_state_can_move(SANDBOX_DELETED, (enum sandbox_state)i),
		                 i == SANDBOX_STOPPED);
		assert_false(sandbox_state_can_move((enum sandbox_state)i, SANDBOX_PENDING));
		assert_false(sandbox_state_can_move((enum sandbox_state)i, (enum sandbox_state)i));
	}
}

TEST(only_a_delete_that_is_under_way_leads_to_deleted)
{
	for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
		assert_int_equal(sandbox_state_can_move((enum sandbox_state)i, SANDBOX_DELETED),
		                 i == SANDBOX_DELETING);
}

int main(void)
{
	return RUN(CASE(every_state_has_a_name_that_parses_back),
	           CASE(every_reason_has_its_own_name),
	           CASE(a_state_or_reason_from_outside_the_table_is_called_unknown),
	           CASE(an_unknown_state_is_refused_with_the_known_ones),
	           CASE(the_ordinary_life_is_allowed),
	           CASE(a_pause_interrupts_the_life_of_a_started_one_only),
	           CASE(every_state_but_deleted_leads_to_deleting),
	           CASE(a_deleted_one_can_only_be_stopped_again_and_nothing_leads_back_to_pending),
	           CASE(only_a_delete_that_is_under_way_leads_to_deleted));
}
