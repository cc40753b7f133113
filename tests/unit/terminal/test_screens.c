/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/screens.h"

#include "unit.h"

static struct screens *screens;

static int set_up(void **state)
{
	(void)state;
	screens = screens_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	screens_free(screens);
	return 0;
}

static struct screen_key key_of(uint64_t process)
{
	return (struct screen_key){.sandbox = "box", .process = process, .started_unix_ms = 1};
}

static void put(struct screen_key key, uint32_t rows, uint32_t columns)
{
	screens_put(screens, &key, screen_new(rows, columns, key.process));
}

/* Whether it is there; it is put back. */
static bool has(struct screen_key key)
{
	struct screen *found = screens_take(screens, &key);

	if (found)
		screens_put(screens, &key, found);
	return found != NULL;
}

TEST(a_screen_that_is_taken_is_not_there_until_it_is_put_back)
{
	const struct screen_key key = key_of(7);
	struct screen *taken;

	assert_null(screens_take(screens, &key));
	put(key, 24, 80);
	taken = screens_take(screens, &key);
	assert_non_null(taken);
	assert_int_equal(screen_offset(taken), 7);
	assert_null(screens_take(screens, &key));
	screens_put(screens, &key, taken);
	assert_ptr_equal(screens_take(screens, &key), taken);
	screen_free(taken);
}

TEST(a_screen_is_of_one_process_of_one_sandbox)
{
	struct screen_key key = key_of(1);

	put(key, 24, 80);
	key.sandbox = "other";
	assert_false(has(key));
	key = key_of(2);
	assert_false(has(key));
	/* The number of an earlier boot. */
	key = key_of(1);
	key.started_unix_ms = 2;
	assert_false(has(key));
	assert_true(has(key_of(1)));
}

TEST(the_least_recently_used_screen_gives_way)
{
	for (uint64_t i = 1; i <= SCREENS_MAX; i++)
		put(key_of(i), 2, 2);
	assert_true(has(key_of(1)));
	put(key_of(100), 2, 2);
	assert_true(has(key_of(1)));
	assert_false(has(key_of(2)));
	assert_true(has(key_of(3)));
	assert_true(has(key_of(100)));
}

TEST(large_screens_give_way_to_stay_within_the_memory)
{
	size_t cells = 0;
	unsigned kept = 0;

	for (uint64_t i = 1; i <= 30; i++)
		put(key_of(i), TERMINAL_ROWS_MAX, TERMINAL_COLUMNS_MAX);
	for (uint64_t i = 1; i <= 30; i++) {
		const struct screen_key key = key_of(i);
		struct screen *s = screens_take(screens, &key);

		if (!s)
			continue;
		cells += screen_cells(s);
		kept++;
		screen_free(s);
	}
	assert_true(cells <= SCREENS_CELLS_MAX);
	assert_in_range(kept, 2, 10);
	put(key_of(1), 24, 80);
	assert_true(has(key_of(1)));
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(a_screen_that_is_taken_is_not_there_until_it_is_put_back),
	           STEP(a_screen_is_of_one_process_of_one_sandbox),
	           STEP(the_least_recently_used_screen_gives_way),
	           STEP(large_screens_give_way_to_stay_within_the_memory));
}
