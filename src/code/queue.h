/* SPDX-License-Identifier: Apache-2.0 */
/* code/queue.h — the queue of code blocks: blocks of one context run in sequence, and a waiting
 * block uses no thread. Part of code.h's contract; pure. Loop thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/list.h"

#define CODE_WAITING_MAX 32 /* of one context */

struct code_queue;
struct code_queue_place {
	struct list item;
	char sandbox[ID_SIZE + 1];
	uint64_t process;
	bool is_on; /* the block may run */
	void (*on_turn)(struct code_queue_place
	                        *turn); /* called once, at the latest by the end before it */
};
struct code_queue *code_queue_new(void);
void code_queue_free(struct code_queue *turns); /* NULL is fine */
/* Calls on_turn before it returns when the context is free. ERROR_LIMIT when too many blocks wait.
 */
MUST_CHECK int code_queue_enter(struct code_queue *turns, struct code_queue_place *turn,
                                struct error *err);
/* Leaves the queue and starts the next block. Does nothing for a place in no queue. */
void code_queue_leave(struct code_queue *turns, struct code_queue_place *turn);
