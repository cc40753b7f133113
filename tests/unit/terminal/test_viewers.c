/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "terminal/terminal.h"
#include "terminal/viewers.h"

#include <stdio.h>

#include "base/clock.h"
#include "unit.h"

static struct terminals *terminals;
static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	terminals = terminals_new(&(struct terminals_options){.waits_max = 1});
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	terminals_free(terminals);
	arena_done(&arena);
	return 0;
}

static struct terminal_viewer viewer_of(const char *sandbox, uint64_t process)
{
	struct terminal_viewer v = {.process = process};

	list_init(&v.item);
	(void)snprintf(v.sandbox, sizeof(v.sandbox), "%s", sandbox);
	return v;
}

static size_t count_of(const char *sandbox, uint64_t process)
{
	return terminal_viewers_list(terminals, &arena, sandbox, process).count;
}

TEST(viewers_are_listed_by_their_process)
{
	struct terminal_viewer a = viewer_of("box", 1), b = viewer_of("box", 2),
	                       c = viewer_of("other", 1);

	terminal_viewer_add(terminals, &a);
	terminal_viewer_add(terminals, &b);
	terminal_viewer_add(terminals, &c);
	assert_true(a.id && b.id && c.id && a.id != b.id && b.id != c.id);
	assert_true(a.attached_at > 0);
	assert_int_equal(count_of("box", 1), 1);
	assert_int_equal(terminal_viewers_list(terminals, &arena, "box", 1).items[0].id, a.id);
	terminal_viewer_remove(terminals, &a);
	assert_int_equal(count_of("box", 1), 0);
	assert_int_equal(count_of("box", 2), 1);
	assert_int_equal(count_of("other", 1), 1);
	terminal_viewer_remove(terminals, &b);
	terminal_viewer_remove(terminals, &c);
}

TEST(a_viewer_that_was_never_added_or_is_removed_twice_is_fine)
{
	struct terminal_viewer v = viewer_of("box", 1);

	terminal_viewer_remove(terminals, &v);
	terminal_viewer_add(terminals, &v);
	terminal_viewer_remove(terminals, &v);
	assert_int_equal(v.id, 0);
	terminal_viewer_remove(terminals, &v);
	assert_int_equal(count_of("box", 1), 0);
}

TEST(one_viewer_of_a_process_writes)
{
	struct terminal_viewer a = viewer_of("box", 1), b = viewer_of("box", 1),
	                       c = viewer_of("box", 2);

	a.writes = c.writes = true;
	terminal_viewer_add(terminals, &a);
	terminal_viewer_add(terminals, &b);
	terminal_viewer_add(terminals, &c);
	assert_int_equal(terminal_viewer_take_over(terminals, &b), 1);
	assert_true(b.writes && c.writes);
	assert_false(a.writes);
	assert_int_equal(terminal_viewer_take_over(terminals, &b), 0);
	assert_int_equal(terminal_viewer_take_over(terminals, &a), 1);
	assert_false(b.writes);
	terminal_viewer_remove(terminals, &a);
	terminal_viewer_remove(terminals, &b);
	terminal_viewer_remove(terminals, &c);
}

TEST(that_a_viewer_types_is_told_now_and_then)
{
	struct terminal_viewer v = viewer_of("box", 1);

	terminal_viewer_add(terminals, &v);
	assert_true(terminal_viewer_types(terminals, &v));
	assert_false(terminal_viewer_types(terminals, &v));
	v.typed_at -= 2000;
	assert_true(terminal_viewer_types(terminals, &v));
	/* The wall clock was set back. */
	v.typed_at = clock_unix_ms() + 3600000;
	assert_true(terminal_viewer_types(terminals, &v));
	assert_true(v.typed_at <= clock_unix_ms());
	terminal_viewer_remove(terminals, &v);
}

static void remove_viewer(struct terminal_viewer *v, void *context)
{
	(*(unsigned *)context)++;
	terminal_viewer_remove(terminals, v);
}

TEST(viewers_may_be_removed_while_they_are_gone_through)
{
	struct terminal_viewer viewers[5];
	unsigned called = 0;

	for (unsigned i = 0; i < COUNT_OF(viewers); i++) {
		viewers[i] = viewer_of("box", i == 2 ? 9 : 1);
		terminal_viewer_add(terminals, &viewers[i]);
	}
	terminal_viewers_each(terminals, "box", 1, remove_viewer, &called);
	assert_int_equal(called, 4);
	assert_int_equal(count_of("box", 1), 0);
	assert_int_equal(count_of("box", 9), 1);
	terminal_viewer_remove(terminals, &viewers[2]);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(STEP(viewers_are_listed_by_their_process),
	           STEP(a_viewer_that_was_never_added_or_is_removed_twice_is_fine),
	           STEP(one_viewer_of_a_process_writes),
	           STEP(that_a_viewer_types_is_told_now_and_then),
	           STEP(viewers_may_be_removed_while_they_are_gone_through));
}
