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
static inline unsigned list_count(const struct list *l)
{
	unsigned count = 0;

	for (const struct list *item = l->next; item != l; item = item->next)
		count++;
	return count;
}
#define LIST_ENTRY(pointer, type, member) CONTAINER_OF(pointer, type, member)
/* Visits each entry as `type *name`; the body may remove and free it. */
#define LIST_EACH(list_, type, name, member)                                                       \
	for (type *name = LIST_ENTRY((list_)->next, type, member),                                 \
	          *name##_next_ = LIST_ENTRY(name->member.next, type, member);                     \
	     &name->member != (list_);                                                             \
	     name = name##_next_, name##_next_ = LIST_ENTRY(name->member.next, type, member))
