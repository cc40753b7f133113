/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/cleaner.h — cleans up behind sandboxes, in children, several sandboxes at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "broker/host/child.h"
#include "broker/host/cleanup_item.h"

#define CLEANER_BATCH 256

struct broker;
struct host;

struct cleaner {
	struct broker_child child;
	struct timer soon;
	bool scheduled, running;
	unsigned begun;     /* runs, ever */
	int64_t since_ms;   /* when the next run was scheduled */
	struct buf waiting; /* of struct cleanup_item */
	struct cleanup_item at_work[CLEANER_BATCH];
	unsigned at_work_count;
	unsigned keep_count; /* the cgroups of the first of at_work may be reused */
	int begin[2];        /* the broker closes it when the child is the last to hold the items */
};

void cleaner_init(struct cleaner *c);
/* Cleans the item up: removes what is left of its slot, after which the slot is free again, and
 * closes its descriptors, which are the cleaner's from now on. */
void cleaner_add(struct broker *b, const struct cleanup_item *item);
/* There is something in the trash. */
void cleaner_wake(struct broker *b);
/* In a child: closes the descriptors of items that wait. */
void cleaner_forget(struct broker *b);
/* Cleans everything up at once: the broker ends. */
void cleaner_finish(struct broker *b);

/* Removes the cgroup, rules and folders of a slot. SLOT_NONE: does nothing. */
void cleaner_clean_slot(struct host *host, uint32_t slot);
/* Removes the cgroup that is kept of this slot. */
void cleaner_remove_kept(struct host *host, uint32_t slot);
