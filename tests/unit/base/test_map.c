/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"

#define MANY 3000

static const char *key_of(int i)
{
	static char text[64];

	/* Lengths on both sides of the hash's eight-byte words. */
	(void)snprintf(text, sizeof(text), "%.*s%d", i % 20, "aaaaaaaaaaaaaaaaaaaa", i);
	return text;
}

TEST(an_empty_map_holds_nothing)
{
	struct map m = {0};
	const char *key;
	size_t at = 0;

	assert_null(map_find(&m, "a"));
	assert_null(map_remove(&m, "a"));
	assert_null(map_next(&m, &at, &key));
	map_done(&m);
}

TEST(what_was_put_is_found_until_it_is_removed)
{
	AUTO(map_done) struct map m = {0};
	static int values[MANY];

	for (int i = 0; i < MANY; i++)
		assert_null(map_put(&m, key_of(i), &values[i]));
	for (int i = 0; i < MANY; i += 2)
		assert_ptr_equal(map_remove(&m, key_of(i)), &values[i]);
	assert_int_equal(m.count, MANY / 2);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(map_find(&m, key_of(i)), i % 2 ? &values[i] : NULL);
}

TEST(putting_again_replaces)
{
	AUTO(map_done) struct map m = {0};
	int one, two;
	char key[] = "key";

	assert_null(map_put(&m, key, &one));
	key[0] = 'x'; /* the map has its own copy */
	assert_ptr_equal(map_put(&m, "key", &two), &one);
	assert_ptr_equal(map_find(&m, "key"), &two);
	assert_null(map_find(&m, key));
	assert_int_equal(m.count, 1);
}

TEST(coming_and_going_does_not_grow_the_map)
{
	AUTO(map_done) struct map m = {0};
	int value;

	for (int i = 0; i < MANY; i++) {
		assert_null(map_put(&m, key_of(i), &value));
		assert_ptr_equal(map_remove(&m, key_of(i)), &value);
	}
	assert_int_equal(m.count, 0);
	assert_true(m.capacity <= 32);
}

TEST(a_walk_meets_every_entry_once)
{
	AUTO(map_done) struct map m = {0};
	static int values[100];
	const char *key;
	size_t at = 0;
	int *value, count = 0;

	for (int i = 0; i < 100; i++)
		(void)map_put(&m, key_of(i), &values[i]);
	while ((value = map_next(&m, &at, &key))) {
		assert_string_equal(key, key_of((int)(value - values)));
		assert_int_equal((*value)++, 0);
		count++;
	}
	assert_int_equal(count, 100);
}

/* What is not freed, or freed twice, is found by ASan. */
TEST(a_map_frees_its_values_and_can_be_used_again)
{
	struct map m = {0};

	map_free_values(&m);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 50; i++)
			(void)map_put(&m, key_of(i), memory_new(8));
		free(map_remove(&m, key_of(7)));
		map_free_values(&m);
		assert_int_equal(m.count, 0);
		assert_null(map_find(&m, key_of(8)));
	}
}

int main(void)
{
	return RUN(CASE(an_empty_map_holds_nothing),
	           CASE(what_was_put_is_found_until_it_is_removed), CASE(putting_again_replaces),
	           CASE(coming_and_going_does_not_grow_the_map),
	           CASE(a_walk_meets_every_entry_once),
	           CASE(a_map_frees_its_values_and_can_be_used_again));
}
