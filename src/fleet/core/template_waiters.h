/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/template_waiters.h — tasks that wait for a template without taking a thread. A change
 * of the template, and each tick, submits them to the workers again. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "base/list.h"
#include "worker/worker.h"

struct fleet;

struct template_waiter {
	struct worker_task task;
	char template_id[ID_SIZE + 1];
	struct list item; /* under the mutex of struct background_work */
};
/* Counts the wakes so far. */
uint64_t template_waiters_wakes(struct fleet *f);
/* Adds a task. False, and it is not added, after a wake since `wakes` was read: the template may
 * have changed. */
bool template_waiters_add(struct fleet *f, struct template_waiter *waiter, uint64_t wakes);
/* Adds a task that waits for the next tick. */
void template_waiters_add_for_tick(struct fleet *f, struct template_waiter *waiter);
/* Submits the tasks that wait for this template; NULL: all. Any thread. */
void template_waiters_wake(struct fleet *f, const char *template_id);
/* The workers end soon: no task is submitted any more. */
void template_waiters_close(struct fleet *f);
/* Takes all tasks off the list; for their owner, at the end. */
void template_waiters_take(struct fleet *f, struct list *ret);
