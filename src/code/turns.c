/* SPDX-License-Identifier: Apache-2.0 */
#include "code/turns.h"

#include <string.h>

void code_turns_init(struct code_turns *turns)
{
	list_init(&turns->turns);
}

static bool is_same_context(const struct code_turn *a, const struct code_turn *b)
{
	return a->process == b->process && strcmp(a->sandbox, b->sandbox) == 0;
}

static void switch_on(struct code_turn *turn)
{
	turn->is_on = true;
	turn->on_turn(turn);
}

int code_turn_begin(struct code_turns *turns, struct code_turn *turn, struct error *err)
{
	unsigned before = 0;

	LIST_EACH (&turns->turns, item)
		before += is_same_context(LIST_ENTRY(item, struct code_turn, item), turn);
	if (before > CODE_WAITING_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "%d blocks of code wait for this context already",
		           CODE_WAITING_MAX);
		error_hint(err, "wait for their ends, or use a context of its own");
		return -1;
	}
	list_append(&turns->turns, &turn->item);
	if (before == 0)
		switch_on(turn);
	return 0;
}

void code_turn_end(struct code_turns *turns, struct code_turn *turn)
{
	struct code_turn *next = NULL;

	if (!turn->item.next || list_is_empty(&turn->item))
		return;
	list_remove(&turn->item);
	if (!turn->is_on)
		return;
	turn->is_on = false;
	LIST_EACH (&turns->turns, item) {
		next = LIST_ENTRY(item, struct code_turn, item);
		if (is_same_context(next, turn)) {
			switch_on(next);
			return;
		}
	}
}
