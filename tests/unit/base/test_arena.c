/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

static int is_zero(const char *memory, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (memory[i])
			return 0;
	}
	return 1;
}

TEST(memory_is_zeroed_aligned_and_apart)
{
	AUTO(arena_done) struct arena a = {0};
	char *before = NULL;

	for (size_t size = 0; size < 300; size++) {
		char *memory = arena_alloc(&a, size);

		assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
		assert_true(is_zero(memory, size));
		memset(memory, 0xFF, size);
		assert_ptr_not_equal(memory, size > 1 ? before : NULL);
		before = memory;
	}
}

TEST(memory_is_zeroed_again_after_a_reset)
{
	AUTO(arena_done) struct arena a = {0};
	char *first = arena_alloc(&a, 1000);

	memset(first, 0xFF, 1000);
	assert_int_equal(a.total, 1008);
	arena_reset(&a);
	assert_int_equal(a.total, 0);
	assert_true(is_zero(arena_alloc(&a, 2000), 2000));
}

TEST(large_pieces_do_not_end_the_current_block)
{
	AUTO(arena_done) struct arena a = {0};
	char *small = arena_alloc(&a, 16), *large = arena_alloc(&a, 1 << 20);

	memset(large, 1, 1 << 20);
	assert_ptr_equal(arena_alloc(&a, 16), small + 16);
	arena_reset(&a);
	arena_reset(&a);
}

TEST(a_large_only_block_is_freed_by_reset)
{
	AUTO(arena_done) struct arena a = {0};

	(void)arena_alloc(&a, 1 << 20);
	arena_reset(&a);
	assert_null(a.blocks);
	assert_string_equal(arena_text(&a, "still usable"), "still usable");
}

TEST(texts_are_copied_and_formatted)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(arena_copy(&a, (struct span){"abc", 2}), "ab");
	assert_string_equal(arena_copy(&a, (struct span){NULL, 0}), "");
	assert_string_equal(arena_format(&a, "%d-%s", 1, "x"), "1-x");
	assert_int_equal(ARENA_ARRAY(&a, int, 3)[2], 0);
	assert_int_equal(*ARENA_NEW(&a, long), 0);
}

TEST(what_was_allocated_since_a_mark_is_freed_and_the_rest_stays)
{
	AUTO(arena_done) struct arena a = {0};
	struct arena_mark none = arena_mark(&a), mark;
	const char *kept;

	(void)arena_alloc(&a, (size_t)64 * 1024);
	arena_rewind(&a, &none);
	assert_null(a.blocks);
	assert_int_equal(a.total, 0);
	kept = arena_text(&a, "kept");
	mark = arena_mark(&a);
	for (unsigned i = 0; i < 3; i++) {
		struct arena_block *head = a.blocks;
		size_t total = a.total;

		for (size_t size = 16; size < (size_t)256 * 1024; size *= 4)
			memset(arena_alloc(&a, size), 'x', size);
		assert_ptr_not_equal(a.blocks, head);
		arena_rewind(&a, &mark);
		assert_ptr_equal(a.blocks, head);
		assert_int_equal(a.total, total);
	}
	assert_string_equal(kept, "kept");
	assert_int_equal(*ARENA_NEW(&a, long), 0);
}

/* Not const: the compiler would say that nothing was ever written there. */
static __attribute__((noinline)) bool has_marker(char *memory, size_t size, const char *marker)
{
	return memmem(memory, size, marker, strlen(marker)) != NULL;
}

/* Whether the bytes are somewhere in freed memory, as far as blocks of this size show. */
static bool is_left(const char *marker, size_t size)
{
	enum { COUNT = 64 };
	char *blocks[COUNT];
	bool found = false;

	for (size_t i = 0; i < COUNT; i++) {
		blocks[i] = malloc(size);
		found = found || has_marker(blocks[i], size, marker);
	}
	for (size_t i = 0; i < COUNT; i++)
		free(blocks[i]);
	return found;
}

TEST(secrets_are_overwritten_when_they_are_freed)
{
	static const char marker[] = "a-secret-of-the-arena";
	struct arena a = {0};
	struct arena_mark mark;
	char *piece;

	for (unsigned how = 0; how < 3; how++) {
		(void)arena_alloc(&a, 64);
		mark = arena_mark(&a);
		arena_note_secret(&a);
		for (unsigned i = 0; i < 300; i++)
			memcpy((char *)arena_alloc(&a, 3000) + 1000, marker, sizeof(marker));
		piece = memcpy(arena_alloc(&a, 100000), marker, sizeof(marker));
		assert_string_equal(piece, marker);
		if (how == 0)
			arena_rewind(&a, &mark);
		else if (how == 1)
			arena_reset(&a);
		else
			arena_done(&a);
		assert_false(is_left(marker, 16 * 1024));
		assert_false(is_left(marker, 4 * 1024));
		assert_false(is_left(marker, 100032));
		if (how > 0)
			assert_false(a.is_secret);
	}
	arena_done(&a);
}

TEST(the_block_that_a_reset_keeps_has_no_secret)
{
	struct arena a = {0};
	char *first;

	arena_note_secret(&a);
	first = memcpy(arena_alloc(&a, 64), "secret", 7);
	arena_reset(&a);
	assert_true(is_zero(first, 7));
	arena_done(&a);
}

int main(void)
{
	return RUN(CASE(memory_is_zeroed_aligned_and_apart),
	           CASE(memory_is_zeroed_again_after_a_reset),
	           CASE(large_pieces_do_not_end_the_current_block),
	           CASE(a_large_only_block_is_freed_by_reset),
	           CASE(what_was_allocated_since_a_mark_is_freed_and_the_rest_stays),
	           CASE(texts_are_copied_and_formatted),
	           CASE(secrets_are_overwritten_when_they_are_freed),
	           CASE(the_block_that_a_reset_keeps_has_no_secret));
}
