/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "code/queue.h"
#include "unit.h"

static unsigned order[8], called;

struct block {
	struct code_queue_place turn;
	unsigned number;
};

static void on_turn(struct code_queue_place *turn)
{
	order[called++] = CONTAINER_OF(turn, struct block, turn)->number;
}

static struct block block_of(const char *sandbox, uint64_t process, unsigned number)
{
	struct block b = {.number = number};

	memcpy(b.turn.sandbox, sandbox, strlen(sandbox) + 1);
	b.turn.process = process;
	b.turn.on_turn = on_turn;
	return b;
}

static void begin(struct code_queue *turns, struct block *b)
{
	struct error err;

	assert_int_equal(code_queue_enter(turns, &b->turn, &err), 0);
}

TEST(blocks_of_one_context_wait_for_each_other_and_others_do_not)
{
	struct code_queue *turns = code_queue_new();
	struct block first = block_of("a", 1, 1), second = block_of("a", 1, 2),
	             third = block_of("a", 1, 3), elsewhere = block_of("a", 2, 4),
	             other = block_of("b", 1, 5);

	called = 0;
	begin(turns, &first);
	begin(turns, &second);
	begin(turns, &third);
	begin(turns, &elsewhere);
	begin(turns, &other);
	assert_int_equal(called, 3);
	assert_true(first.turn.is_on && elsewhere.turn.is_on && other.turn.is_on);
	code_queue_leave(turns, &first.turn);
	assert_true(second.turn.is_on && !third.turn.is_on);
	code_queue_leave(turns, &second.turn);
	assert_memory_equal(order, ((unsigned[]){1, 4, 5, 2, 3}), 5 * sizeof(order[0]));
	code_queue_leave(turns, &third.turn);
	code_queue_leave(turns, &elsewhere.turn);
	code_queue_leave(turns, &other.turn);
	assert_int_equal(called, 5);
	code_queue_free(turns);
}

TEST(who_waits_and_goes_is_passed_over)
{
	struct code_queue *turns = code_queue_new();
	struct block first = block_of("a", 1, 1), second = block_of("a", 1, 2),
	             third = block_of("a", 1, 3), never = block_of("a", 1, 4);

	called = 0;
	begin(turns, &first);
	begin(turns, &second);
	begin(turns, &third);
	code_queue_leave(turns, &second.turn);
	code_queue_leave(turns, &second.turn);
	code_queue_leave(turns, &never.turn);
	assert_int_equal(called, 1);
	code_queue_leave(turns, &first.turn);
	assert_int_equal(order[1], 3);
	assert_int_equal(called, 2);
	code_queue_free(turns);
}

TEST(more_than_may_wait_are_refused)
{
	struct code_queue *turns = code_queue_new();
	struct block blocks[CODE_WAITING_MAX + 2];
	struct error err;
	unsigned i;

	called = 0;
	for (i = 0; i < CODE_WAITING_MAX + 1; i++) {
		blocks[i] = block_of("a", 1, i);
		begin(turns, &blocks[i]);
	}
	blocks[i] = block_of("a", 1, i);
	assert_int_equal(code_queue_enter(turns, &blocks[i].turn, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_int_equal(called, 1);
	code_queue_free(turns);
}

int main(void)
{
	return RUN(CASE(blocks_of_one_context_wait_for_each_other_and_others_do_not),
	           CASE(who_waits_and_goes_is_passed_over), CASE(more_than_may_wait_are_refused));
}
