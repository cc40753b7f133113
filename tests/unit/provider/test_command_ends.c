/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "provider/command_ends.h"
#include "wire/agent.h"
#include "wire/agent_cause.h"

#define SANDBOX "abcdefghijklmnopqrst"
#define OTHER "bcdefghijklmnopqrstu"
#define NOW 1000

static struct agent_process ended(uint64_t process, uint32_t flags)
{
	return (struct agent_process){.process = process,
	                              .state = AGENT_PROCESS_ENDED,
	                              .exit_code = 137,
	                              .flags = flags,
	                              .started_unix_ms = (uint64_t)clock_unix_ms()};
}

static void note(const char *id, uint64_t process, uint32_t flags)
{
	const struct agent_process p = ended(process, flags);

	command_ends_note(id, &p);
}

/* Nothing of the test before is left. */
static void take_all(int64_t now)
{
	struct command_end end;

	while (command_ends_take(now, &end))
		continue;
	while (command_ends_take(now + COMMAND_ENDS_REST_MS, &end))
		continue;
}

TEST(an_end_by_a_limit_is_given_out_once)
{
	struct command_end end = {.count = 0};

	note(SANDBOX, 7, AGENT_CAUSE_OOM);
	assert_true(command_ends_take(NOW, &end));
	assert_string_equal(end.id, SANDBOX);
	assert_string_equal(end.cause, "oom");
	assert_int_equal(end.process, 7);
	assert_int_equal(end.exit_code, 137);
	assert_int_equal(end.count, 1);
	assert_false(command_ends_take(NOW, &end));
	take_all(NOW);
}

TEST(no_other_end_is_kept)
{
	const struct agent_process good = {.process = 1, .state = AGENT_PROCESS_ENDED};
	const struct agent_process failed = {
	        .process = 2, .state = AGENT_PROCESS_ENDED, .exit_code = 3};
	const struct agent_process killed = {
	        .process = 3, .state = AGENT_PROCESS_ENDED, .exit_code = 137, .signal = SIGKILL};
	const struct agent_process running = {.process = 4, .flags = AGENT_CAUSE_OOM};
	struct agent_process old = ended(5, AGENT_CAUSE_OOM);
	struct command_end end;

	old.started_unix_ms -= COMMAND_ENDS_REST_MS + 1000;
	command_ends_note(SANDBOX, &good);
	command_ends_note(SANDBOX, &failed);
	command_ends_note(SANDBOX, &killed);
	command_ends_note(SANDBOX, &running);
	command_ends_note(SANDBOX, &old);
	note(SANDBOX, 6, AGENT_CAUSE_CANCELED);
	note("../x", 7, AGENT_CAUSE_OOM);
	assert_false(command_ends_take(NOW, &end));
}

TEST(a_loop_of_failing_commands_is_one_end_in_a_while_with_its_count)
{
	struct command_end end = {.count = 0};

	note(SANDBOX, 1, AGENT_CAUSE_PROCESSES);
	assert_true(command_ends_take(NOW, &end));
	for (unsigned i = 0; i < 1000; i++)
		note(SANDBOX, 2 + i, AGENT_CAUSE_PROCESSES);
	assert_false(command_ends_take(NOW + COMMAND_ENDS_REST_MS - 1, &end));
	assert_true(command_ends_take(NOW + COMMAND_ENDS_REST_MS, &end));
	assert_int_equal(end.count, 1000);
	assert_int_equal(end.process, 1001);
	take_all(NOW + COMMAND_ENDS_REST_MS);
}

TEST(an_end_that_several_callers_read_is_counted_once)
{
	const struct agent_process p = ended(9, AGENT_CAUSE_DISK);
	struct command_end end = {.count = 0};

	command_ends_note(SANDBOX, &p);
	command_ends_note(SANDBOX, &p);
	assert_true(command_ends_take(NOW, &end));
	assert_int_equal(end.count, 1);
	command_ends_note(SANDBOX, &p);
	assert_false(command_ends_take(NOW + COMMAND_ENDS_REST_MS, &end));
	take_all(NOW);
}

TEST(causes_and_sandboxes_do_not_wait_for_each_other)
{
	struct command_end end;
	unsigned found = 0;

	note(SANDBOX, 1, AGENT_CAUSE_OOM);
	note(SANDBOX, 2, AGENT_CAUSE_PROCESSES);
	note(OTHER, 1, AGENT_CAUSE_OOM);
	while (command_ends_take(NOW, &end))
		found++;
	assert_int_equal(found, 3);
	take_all(NOW);
}

TEST(the_table_has_a_bound)
{
	char id[ID_SIZE + 1] = SANDBOX;
	struct command_end end;
	unsigned found = 0;

	for (unsigned i = 0; i < COMMAND_ENDS_MAX + 50; i++) {
		for (unsigned digit = 1, rest = i; digit < 6; digit++, rest /= 26)
			id[digit] = (char)('a' + rest % 26);
		note(id, 1, AGENT_CAUSE_OOM);
	}
	while (command_ends_take(NOW, &end))
		found++;
	assert_int_equal(found, COMMAND_ENDS_MAX);
	take_all(NOW);
}

int main(void)
{
	return RUN(CASE(an_end_by_a_limit_is_given_out_once), CASE(no_other_end_is_kept),
	           CASE(a_loop_of_failing_commands_is_one_end_in_a_while_with_its_count),
	           CASE(an_end_that_several_callers_read_is_counted_once),
	           CASE(causes_and_sandboxes_do_not_wait_for_each_other),
	           CASE(the_table_has_a_bound));
}
