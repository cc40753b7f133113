/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/list.h"

struct item {
	int value;
	struct list link;
};

TEST(a_descriptor_is_closed_at_the_end_of_its_scope)
{
	int number;

	{
		AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		number = fd;
		errno = ERANGE;
	}
	assert_int_equal(errno, ERANGE);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

TEST(a_taken_descriptor_stays_open)
{
	int number;

	{
		AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		number = TAKE_FD(fd);
		assert_int_equal(fd, -1);
	}
	assert_int_equal(close(number), 0);
}

TEST(a_taken_pointer_is_not_freed)
{
	char *kept;

	{
		AUTO_FREE char *text = malloc(4);

		errno = ERANGE;
		kept = TAKE(text);
		assert_null(text);
	}
	assert_int_equal(errno, ERANGE);
	kept[0] = 'x';
	free(kept);
}

TEST(memory_is_freed_at_the_end_of_its_scope)
{
	AUTO_FREE char *text = malloc(4); /* the leak checker is the judge */

	assert_non_null(text);
}

TEST(a_list_keeps_its_order_and_lets_the_loop_remove)
{
	struct item items[4];
	struct list list;
	int sum = 0, last = 0;

	list_init(&list);
	assert_true(list_is_empty(&list));
	for (int i = 0; i < 4; i++) {
		items[i].value = i + 1;
		list_append(&list, &items[i].link);
	}
	LIST_EACH (&list, struct item, item, link) {
		assert_true(item->value > last);
		last = item->value;
		sum += item->value;
		if (item->value % 2)
			list_remove(&item->link);
	}
	assert_int_equal(sum, 10);
	assert_int_equal(list_count(&list), 2);
	assert_ptr_equal(list.next, &items[1].link);
	assert_ptr_equal(list.previous, &items[3].link);
	list_remove(&items[0].link); /* in no list any more: harmless */
}

TEST(the_offset_of_a_member_is_what_offsetof_says)
{
	assert_int_equal(MEMBER_OFFSET(item, link, struct list), offsetof(struct item, link));
}

TEST(a_growing_array_keeps_its_items)
{
	size_t capacity = 0, others = 0;
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE int *items = NULL;
	int *more = NULL;

	for (int i = 0; i < 100; i++) {
		items = memory_grow(items, (size_t)i, &capacity, sizeof(*items));
		more = arena_grow(&a, more, (size_t)i, &others, sizeof(*more));
		items[i] = more[i] = i;
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(items[i], i);
		assert_int_equal(more[i], i);
	}
	assert_int_equal(capacity, 128);
	assert_int_equal(others, 128);
}

int main(void)
{
	return RUN(CASE(a_descriptor_is_closed_at_the_end_of_its_scope),
	           CASE(a_taken_descriptor_stays_open), CASE(a_taken_pointer_is_not_freed),
	           CASE(memory_is_freed_at_the_end_of_its_scope),
	           CASE(a_list_keeps_its_order_and_lets_the_loop_remove),
	           CASE(a_growing_array_keeps_its_items),
	           CASE(the_offset_of_a_member_is_what_offsetof_says));
}
