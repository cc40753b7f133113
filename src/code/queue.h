/* SPDX-License-Identifier: Apache-2.0 */
/* code/queue.h — blocks of one context run one after the other: who comes later waits, and costs
 * no thread. Part of code.h's contract; pure. All of it belongs to the loop thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/list.h"

#define CODE_WAITING_MAX 32 /* of one context */

struct code_queue {
	struct list turns; /* first come first */
};
struct code_queue_place {
	struct list item;
	char sandbox[ID_SIZE + 1];
	uint64_t process;
	bool is_on; /* its block may run */
	void (*on_turn)(struct code_queue_place
	                        *turn); /* called once, at the latest by the end before it */
};
void code_queue_init(struct code_queue *turns);
/* on_turn is called before it returns when nobody else is at that context. ERROR_LIMIT when too
 * many wait. */
MUST_CHECK int code_queue_enter(struct code_queue *turns, struct code_queue_place *turn,
                                struct error *err);
/* The next one is on. Fine with a turn that is in no list. */
void code_queue_leave(struct code_queue *turns, struct code_queue_place *turn);
