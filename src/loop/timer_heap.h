/* SPDX-License-Identifier: Apache-2.0 */
/* loop/timer_heap.h — the running timers as a binary heap of pointers, earliest first.
 *
 * Entry 0 is unused, so heap_index 0 means "not running". */
#pragma once

#include "loop/loop.h"

struct timer_heap {
	struct loop_timer **entries; /* 1..count */
	unsigned count;
	size_t capacity;
};

void timer_heap_done(struct timer_heap *heap);
/* The timer must not be in the heap. */
void timer_heap_insert(struct timer_heap *heap, struct loop_timer *timer);
/* The timer must be in the heap. */
void timer_heap_remove(struct timer_heap *heap, struct loop_timer *timer);
/* Returns NULL when the heap is empty. */
struct loop_timer *timer_heap_first(const struct timer_heap *heap);
