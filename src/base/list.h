/* SPDX-License-Identifier: Apache-2.0 */
/* base/list.h — an intrusive, doubly linked, circular list with a sentinel. */
#pragma once

#include <stdbool.h>

struct list {
	struct list *next, *previous;
};

static inline void list_init(struct list *l)
{
	l->next = l->previous = l;
}
static inline bool list_is_empty(const struct list *l)
{
	return l->next == l;
}
static inline void list_insert_after(struct list *at, struct list *item)
{
	item->previous = at;
	item->next = at->next;
	at->next->previous = item;
	at->next = item;
}
static inline void list_append(struct list *l, struct list *item)
{
	list_insert_after(l->previous, item);
}
/* Also safe on an initialised item that is in no list. */
static inline void list_remove(struct list *item)
{
	item->previous->next = item->next;
	item->next->previous = item->previous;
	list_init(item);
}
#define LIST_ENTRY(pointer, type, member) CONTAINER_OF(pointer, type, member)
/* The body may remove `item`. */
#define LIST_EACH(list_, item)                                                                     \
	for (struct list *item = (list_)->next, *item##_next_ = item->next; item != (list_);       \
	     item = item##_next_, item##_next_ = item->next)
