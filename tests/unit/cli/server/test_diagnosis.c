/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "cli/server/diagnosis.h"

TEST(every_check_of_the_host_says_what_it_found)
{
	AUTO(arena_done) struct arena arena = {.blocks = NULL};
	struct diagnosis *list = ARENA_ARRAY(&arena, struct diagnosis, diagnosis_count());
	unsigned count = diagnosis_make(&arena, "/tmp", list);

	assert_int_equal(count, diagnosis_count());
	for (unsigned i = 0; i < count; i++) {
		assert_true(list[i].check->name[0] && list[i].check->without[0]);
		assert_true(list[i].found[0]);
		assert_true(list[i].verdict == VERDICT_GOOD ||
		            list[i].verdict == list[i].check->otherwise);
	}
	list[0].verdict = VERDICT_BAD;
	assert_false(diagnosis_is_able(list, count));
	for (unsigned i = 0; i < count; i++)
		list[i].verdict = VERDICT_LESS;
	assert_true(diagnosis_is_able(list, count));
}

int main(void)
{
	return RUN(CASE(every_check_of_the_host_says_what_it_found));
}
