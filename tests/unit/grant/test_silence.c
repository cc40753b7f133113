/* SPDX-License-Identifier: Apache-2.0 */
#include "grant/silence.h"

#include "base/bytes.h"
#include "unit.h"

TEST(a_silent_sandbox_is_asked_less_and_less_often)
{
	static const int64_t waits[] = {0, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
	struct map table = {0};
	struct silence *s = silence_of(&table, "a");

	assert_int_equal(s->misses, 0);
	for (size_t i = 0; i < COUNT_OF(waits); i++) {
		silence_note_miss(s, 1000);
		assert_int_equal(s->next_try, 1000 + waits[i]);
	}
	for (int i = 0; i < 200; i++)
		silence_note_miss(s, 0);
	assert_int_equal(s->next_try, 60000);
	silence_note_answer(s);
	assert_int_equal(s->misses, 0);
	silence_note_miss(s, 5);
	assert_int_equal(s->next_try, 5);
	silence_done(&table);
}

TEST(a_miss_ends_the_row_of_answers)
{
	struct map table = {0};
	struct silence *s = silence_of(&table, "a");

	assert_int_equal(s->answers, 0);
	for (int i = 0; i < 100; i++)
		silence_note_answer(s);
	assert_true(s->answers > 0);
	silence_note_miss(s, 0);
	assert_int_equal(s->answers, 0);
	silence_done(&table);
}

TEST(only_listed_sandboxes_stay_in_the_table)
{
	struct map table = {0};
	char id[16];

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(id, sizeof(id), "s%d", i);
		silence_note_miss(silence_of(&table, id), 0);
	}
	silence_forget_unlisted(&table);
	assert_int_equal(table.count, 1000);
	assert_int_equal(silence_of(&table, "s7")->misses, 1);
	silence_forget_unlisted(&table);
	assert_int_equal(table.count, 1);
	silence_forget_unlisted(&table);
	assert_int_equal(table.count, 0);
	silence_done(&table);
}

TEST(an_ended_consent_and_then_the_fewest_misses_come_first)
{
	const struct silence once = {.misses = 1, .next_try = 9}, often = {.misses = 6},
	                     later = {.misses = 1, .next_try = 10};
	const struct silence_turn none = {.silence = NULL}, a = {&once, false}, b = {&often, false},
	                          urgent = {&often, true}, first = {&once, true},
	                          c = {&later, false};

	assert_true(silence_comes_before(&b, &none));
	assert_true(silence_comes_before(&a, &b));
	assert_false(silence_comes_before(&b, &a));
	assert_true(silence_comes_before(&urgent, &a));
	assert_false(silence_comes_before(&a, &urgent));
	assert_true(silence_comes_before(&first, &urgent));
	assert_true(silence_comes_before(&a, &c));
	assert_false(silence_comes_before(&c, &a));
}

int main(void)
{
	return RUN(CASE(a_silent_sandbox_is_asked_less_and_less_often),
	           CASE(a_miss_ends_the_row_of_answers),
	           CASE(only_listed_sandboxes_stay_in_the_table),
	           CASE(an_ended_consent_and_then_the_fewest_misses_come_first));
}
