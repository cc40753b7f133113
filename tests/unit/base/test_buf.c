/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/bytes.h"

static void check_invariants(const struct buf *b)
{
	assert_true(b->size <= b->size_max);
	if (b->data) {
		assert_true(b->size < b->capacity);
		assert_int_equal(b->data[b->size], '\0');
	}
}

TEST(text_grows_and_stays_terminated)
{
	AUTO(buf_done) struct buf b = BUF(100000);

	assert_string_equal(buf_text(&b), "");
	for (int i = 0; i < 1000; i++) {
		buf_addf(&b, "%d,", i % 10);
		check_invariants(&b);
	}
	buf_add_text(&b, "end");
	buf_add_byte(&b, '!');
	buf_add_span(&b, SPAN("?"));
	assert_int_equal(b.size, 2005);
	assert_string_equal(b.data + 2000, "end!?");
	assert_false(b.overflowed);
}

TEST(a_buffer_takes_exactly_its_limit)
{
	AUTO(buf_done) struct buf b = BUF(3);

	buf_add_text(&b, "abc");
	assert_false(b.overflowed);
	buf_add_byte(&b, 'd');
	assert_true(b.overflowed);
	assert_string_equal(buf_text(&b), "abc");
	check_invariants(&b);
}

TEST(overflow_sticks_and_drops_what_follows_whole)
{
	AUTO(buf_done) struct buf b = BUF(4);

	buf_add_text(&b, "ab");
	buf_addf(&b, "%s", "long");
	assert_true(b.overflowed);
	buf_add_text(&b, "c");
	assert_string_equal(buf_text(&b), "ab");
	assert_null(buf_reserve(&b, 1));
	buf_reset(&b);
	assert_false(b.overflowed);
	buf_add_text(&b, "wxyz");
	assert_string_equal(buf_text(&b), "wxyz");
}

TEST(a_zeroed_buffer_takes_nothing)
{
	struct buf b = {0};

	buf_add(&b, NULL, 0);
	assert_false(b.overflowed);
	buf_add_byte(&b, 'a');
	assert_true(b.overflowed);
	buf_done(&b);
}

TEST(reserve_cannot_be_fooled_by_huge_sizes)
{
	AUTO(buf_done) struct buf b = BUF(SIZE_MAX / 2);

	buf_add_text(&b, "a");
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_true(b.overflowed);
	assert_int_equal(b.size, 1);
}

TEST(reserved_room_is_used_by_commit)
{
	AUTO(buf_done) struct buf b = BUF(10);
	char *room = buf_reserve(&b, 10);

	assert_non_null(room);
	memcpy(room, "0123456789", 10);
	buf_commit(&b, 4);
	assert_string_equal(buf_text(&b), "0123");
	check_invariants(&b);
}

TEST(consuming_keeps_the_rest)
{
	AUTO(buf_done) struct buf b = BUF(10);

	buf_consume(&b, 0);
	buf_add_text(&b, "abcdef");
	buf_consume(&b, 2);
	assert_string_equal(buf_text(&b), "cdef");
	buf_consume(&b, 4);
	assert_int_equal(buf_span(&b).size, 0);
	check_invariants(&b);
}

TEST(a_buffer_may_be_used_again_after_done)
{
	struct buf b = BUF(5);

	buf_add_text(&b, "abc");
	buf_done(&b);
	assert_null(b.data);
	buf_add_text(&b, "abcde");
	assert_string_equal(buf_text(&b), "abcde");
	buf_done(&b);
}

/* Not const: the compiler would say that nothing was ever written there. */
static __attribute__((noinline)) bool has_marker(char *memory, size_t size, const char *marker)
{
	return memmem(memory, size, marker, strlen(marker)) != NULL;
}

TEST(a_buffer_of_secrets_leaves_nothing_behind_when_it_grows)
{
	static const char marker[] = "a-secret-of-the-buffer";
	struct buf b = BUF_SECRET(100000);
	char *old, *block;

	for (unsigned i = 0; i < 3; i++)
		buf_add(&b, marker, sizeof(marker));
	old = b.data;
	buf_add_text(&b, "more");
	for (unsigned i = 0; i < 1000; i++)
		buf_add(&b, marker, sizeof(marker));
	assert_ptr_not_equal(b.data, old);
	for (unsigned i = 0; i < 100; i++) {
		block = malloc(96 + i);
		assert_false(has_marker(block, 96, marker));
		free(block);
	}
	assert_int_equal(b.size, 1003 * sizeof(marker) + 4);
	buf_done(&b);
	assert_true(b.is_secret);
	assert_int_equal(b.size_max, 100000);
}

int main(void)
{
	return RUN(CASE(text_grows_and_stays_terminated), CASE(a_buffer_takes_exactly_its_limit),
	           CASE(overflow_sticks_and_drops_what_follows_whole),
	           CASE(a_zeroed_buffer_takes_nothing),
	           CASE(reserve_cannot_be_fooled_by_huge_sizes),
	           CASE(reserved_room_is_used_by_commit), CASE(consuming_keeps_the_rest),
	           CASE(a_buffer_may_be_used_again_after_done),
	           CASE(a_buffer_of_secrets_leaves_nothing_behind_when_it_grows));
}
