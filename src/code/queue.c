/* SPDX-License-Identifier: Apache-2.0 */
#include "code/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct code_queue {
	struct list turns; /* first come first */
};

struct code_queue *code_queue_new(void)
{
	struct code_queue *turns = memory_new(sizeof(*turns));

	list_init(&turns->turns);
	return turns;
}

void code_queue_free(struct code_queue *turns)
{
	free(turns);
}

static bool is_same_context(const struct code_queue_place *a, const struct code_queue_place *b)
{
	return a->process == b->process && strcmp(a->sandbox, b->sandbox) == 0;
}

static void start_next(struct code_queue_place *turn)
{
	turn->is_on = true;
	turn->on_turn(turn);
}

int code_queue_enter(struct code_queue *turns, struct code_queue_place *turn, struct error *err)
{
	unsigned before = 0;

	LIST_EACH (&turns->turns, struct code_queue_place, place, item)
		before += is_same_context(place, turn);
	if (before > CODE_WAITING_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "%d blocks of code wait for this context already",
		           CODE_WAITING_MAX);
		return FAIL_HINT(err, "wait for their ends, or use a context of its own");
	}
	list_append(&turns->turns, &turn->item);
	if (before == 0)
		start_next(turn);
	return 0;
}

void code_queue_leave(struct code_queue *turns, struct code_queue_place *turn)
{
	if (!turn->item.next || list_is_empty(&turn->item))
		return;
	list_remove(&turn->item);
	if (!turn->is_on)
		return;
	turn->is_on = false;
	LIST_EACH (&turns->turns, struct code_queue_place, next, item) {
		if (is_same_context(next, turn)) {
			start_next(next);
			return;
		}
	}
}
