/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/timer_heap.h"

#include <assert.h>
#include <stdlib.h>

void timer_heap_done(struct timer_heap *heap)
{
	free(heap->entries);
	*heap = (struct timer_heap){0};
}

static void place_timer(struct timer_heap *heap, unsigned index, struct loop_timer *timer)
{
	heap->entries[index] = timer;
	timer->heap_index = index;
}

static void sift_timer_up(struct timer_heap *heap, unsigned index, struct loop_timer *timer)
{
	while (index > 1 && heap->entries[index / 2]->at_ms > timer->at_ms) {
		place_timer(heap, index, heap->entries[index / 2]);
		index /= 2;
	}
	place_timer(heap, index, timer);
}

static void sift_timer_down(struct timer_heap *heap, unsigned index, struct loop_timer *timer)
{
	for (unsigned child; (child = index * 2) <= heap->count; index = child) {
		if (child < heap->count &&
		    heap->entries[child + 1]->at_ms < heap->entries[child]->at_ms)
			child++;
		if (heap->entries[child]->at_ms >= timer->at_ms)
			break;
		place_timer(heap, index, heap->entries[child]);
	}
	place_timer(heap, index, timer);
}

void timer_heap_insert(struct timer_heap *heap, struct loop_timer *timer)
{
	assert(timer->heap_index == 0);
	/* Entry 0 is not used. */
	heap->entries = memory_grow(heap->entries, heap->count + 1, &heap->capacity,
	                            sizeof(*heap->entries));
	sift_timer_up(heap, ++heap->count, timer);
}

void timer_heap_remove(struct timer_heap *heap, struct loop_timer *timer)
{
	unsigned index = timer->heap_index;
	struct loop_timer *last;

	assert(index > 0 && index <= heap->count && heap->entries[index] == timer);
	last = heap->entries[heap->count--];
	timer->heap_index = 0;
	if (last == timer)
		return;
	/* The last one may belong above or below the gap; at most one of the two moves it. */
	sift_timer_down(heap, index, last);
	sift_timer_up(heap, last->heap_index, last);
}

struct loop_timer *timer_heap_first(const struct timer_heap *heap)
{
	return heap->count > 0 ? heap->entries[1] : NULL;
}
