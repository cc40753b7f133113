/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/random.h"
#include "loop/timer_heap.h"

#define COUNT 500

static void check(const struct timer_heap *heap)
{
	for (unsigned i = 1; i <= heap->count; i++) {
		assert_int_equal(heap->entries[i]->heap_index, i);
		if (i > 1)
			assert_true(heap->entries[i / 2]->at_ms <= heap->entries[i]->at_ms);
	}
}

TEST(timers_leave_the_heap_in_order)
{
	AUTO(timer_heap_done) struct timer_heap heap = {0};
	static struct loop_timer timers[COUNT];
	int64_t last = 0;

	assert_null(timer_heap_first(&heap));
	for (unsigned i = 0; i < COUNT; i++) {
		timers[i].at_ms = (int64_t)random_below(100);
		timer_heap_insert(&heap, &timers[i]);
		check(&heap);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		struct loop_timer *first = timer_heap_first(&heap);

		assert_true(first->at_ms >= last);
		last = first->at_ms;
		timer_heap_remove(&heap, first);
		assert_int_equal(first->heap_index, 0);
	}
	assert_null(timer_heap_first(&heap));
}

TEST(any_timer_can_be_removed)
{
	AUTO(timer_heap_done) struct timer_heap heap = {0};
	static struct loop_timer timers[COUNT];

	for (unsigned i = 0; i < COUNT; i++) {
		timers[i].at_ms = (int64_t)random_below(1000);
		timer_heap_insert(&heap, &timers[i]);
	}
	while (heap.count > 0) {
		timer_heap_remove(&heap, heap.entries[1 + random_below(heap.count)]);
		check(&heap);
	}
}

int main(void)
{
	return RUN(CASE(timers_leave_the_heap_in_order), CASE(any_timer_can_be_removed));
}
