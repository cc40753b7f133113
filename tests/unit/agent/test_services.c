/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "wire/agent_services.h"

/* `sh -c LINE` that is restarted at once, to be refined. */
static struct agent_service service(struct box *b, const char *line)
{
	const struct agent_exec exec = shell(b, line);

	return (struct agent_service){
	        .id = "service",
	        .generation = 1,
	        .name = "web",
	        .args = exec.args,
	        .delay_ms = 1,
	        .stop_ms = 5000,
	        .cwd = "",
	};
}

static struct agent_service_state set(struct box *b, const struct agent_service *s)
{
	AUTO_CLOSE int fd = box_connect(b);
	struct agent_service_state is;

	say(b, fd, AGENT_SERVICE, agent_service_shape, s);
	HEAR(b, fd, AGENT_SERVICE_STATE, agent_service_state, &is);
	HEAR(b, fd, AGENT_DONE, agent_done, &(struct agent_done){0});
	return is;
}

static struct agent_failed refuse(struct box *b, const struct agent_service *s)
{
	AUTO_CLOSE int fd = box_connect(b);

	say(b, fd, AGENT_SERVICE, agent_service_shape, s);
	return hear_failed(b, fd);
}

/* The service's state, or an id that is NULL. */
static struct agent_service_state look(struct box *b, const char *id)
{
	struct agent_service_state found = {.id = NULL}, is;
	AUTO_CLOSE int fd = box_connect(b);
	struct heard heard = {agent_service_state_shape, &is, sizeof(is)};

	say(b, fd, AGENT_SERVICES, NULL, NULL);
	for (;;) {
		uint16_t type = hear_any(b, fd);
		struct error err;

		if (type == AGENT_DONE)
			return found;
		assert_int_equal(type, AGENT_SERVICE_STATE);
		assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), heard.shape, &is,
		                             sizeof(is), &err),
		                 0);
		if (strcmp(is.id, id) == 0)
			found = is;
	}
}

static void rest(void)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

#define UNTIL(condition)                                                                           \
	for (int64_t end_ = deadline_after(PATIENCE_MS); !(condition); rest())                     \
	assert_true(clock_monotonic_ms() < end_)

static struct agent_service_state wait_for_phase(struct box *b, enum agent_service_phase phase)
{
	int64_t deadline = deadline_after(PATIENCE_MS);
	struct agent_service_state is;

	do {
		assert_true(clock_monotonic_ms() < deadline);
		rest();
		is = look(b, "service");
	} while (!is.id || is.phase != phase);
	return is;
}

static struct agent_service_state wait_for_restarts(struct box *b, uint64_t restarts)
{
	int64_t deadline = deadline_after(PATIENCE_MS);
	struct agent_service_state is;

	do {
		assert_true(clock_monotonic_ms() < deadline);
		rest();
		is = look(b, "service");
	} while (is.restarts < restarts || is.phase != AGENT_SERVICE_RUNNING);
	return is;
}

static void read_log(struct box *b, const struct agent_service_log *wanted, struct buf *out,
                     uint64_t *ret_first)
{
	AUTO_CLOSE int fd = box_connect(b);

	say(b, fd, AGENT_SERVICE_LOG, agent_service_log_shape, wanted);
	for (;;) {
		struct agent_output o;
		struct error err;

		if (hear_any(b, fd) == AGENT_DONE)
			return;
		assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_output_shape,
		                             &o, sizeof(o), &err),
		                 0);
		if (out->size == 0 && ret_first)
			*ret_first = o.offset;
		buf_add_span(out, o.bytes);
	}
}

static void remove_it(struct box *b, uint64_t generation)
{
	struct agent_service gone = service(b, "");
	int64_t deadline = deadline_after(PATIENCE_MS);

	gone.generation = generation;
	gone.wish = AGENT_SERVICE_REMOVE;
	(void)set(b, &gone);
	while (look(b, "service").id) {
		assert_true(clock_monotonic_ms() < deadline);
		rest();
	}
}

/* ---- restarts ---- */

TEST(a_service_that_is_killed_runs_again_and_its_output_goes_on)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "echo run; exec sleep 1000");
	const struct agent_service_log all = {
	        .id = "service", .since = {0, UINT64_MAX}, .max = 100};
	AUTO(buf_done) struct buf out = BUF(1000);
	struct agent_service_state first, second;

	assert_int_equal(set(&b, &s).phase, AGENT_SERVICE_STARTING);
	first = wait_for_phase(&b, AGENT_SERVICE_RUNNING);
	assert_int_equal(first.exit_code, -1);
	UNTIL(look(&b, "service").output_end[0] >= 4);
	assert_int_equal(kill((pid_t)first.pid, SIGKILL), 0);
	second = wait_for_restarts(&b, 1);
	assert_true(second.pid != first.pid && second.process != first.process);
	assert_int_equal(second.signal, SIGKILL);
	assert_int_equal(second.exit_code, 128 + SIGKILL);
	assert_int_equal(second.failures, 1);
	UNTIL(look(&b, "service").output_end[0] >= 8);
	read_log(&b, &all, &out, NULL);
	assert_string_equal(buf_text(&out), "run\nrun\n");
	remove_it(&b, 2);
	box_end(&b);
}

TEST(what_is_said_twice_runs_once_and_what_is_said_late_changes_nothing)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "exec sleep 1000");
	struct agent_service_state first;

	(void)set(&b, &s);
	first = wait_for_phase(&b, AGENT_SERVICE_RUNNING);
	assert_int_equal(set(&b, &s).pid, first.pid);
	assert_int_equal(box_children(&b), 1);
	s.generation = 3;
	s.wish = AGENT_SERVICE_STOP;
	(void)set(&b, &s);
	(void)wait_for_phase(&b, AGENT_SERVICE_STOPPED);
	s.generation = 2;
	s.wish = AGENT_SERVICE_RUN;
	assert_int_equal(set(&b, &s).phase, AGENT_SERVICE_STOPPED);
	remove_it(&b, 4);
	/* Nor does it come back, whatever its number. */
	s.generation = 9;
	(void)set(&b, &s);
	assert_null(look(&b, "service").id);
	assert_int_equal(box_children(&b), 0);
	box_end(&b);
}

TEST(a_change_ends_the_old_run_before_the_new_one_begins)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "trap 'echo bye; exit 0' TERM; echo up; "
	                                     "while :; do sleep 0.01; done");
	const struct agent_service_log all = {
	        .id = "service", .since = {0, UINT64_MAX}, .max = 100};
	AUTO(buf_done) struct buf out = BUF(1000);
	struct agent_service_state is;

	(void)set(&b, &s);
	UNTIL(look(&b, "service").output_end[0] >= 3);
	s = service(&b, "echo new; exec sleep 1000");
	s.generation = 2;
	(void)set(&b, &s);
	UNTIL(look(&b, "service").output_end[0] >= 11);
	read_log(&b, &all, &out, NULL);
	assert_string_equal(buf_text(&out), "up\nbye\nnew\n");
	is = wait_for_phase(&b, AGENT_SERVICE_RUNNING);
	assert_int_equal(is.restarts, 0);
	assert_int_equal(is.generation, 2);
	remove_it(&b, 3);
	box_end(&b);
}

TEST(the_policy_says_who_is_started_again)
{
	static const struct {
		enum agent_service_restart restart;
		const char *line;
		enum agent_service_phase phase;
		int exit_code;
	} cases[] = {
	        {AGENT_SERVICE_ON_FAILURE, "exit 0", AGENT_SERVICE_EXITED, 0},
	        {AGENT_SERVICE_NEVER, "exit 0", AGENT_SERVICE_EXITED, 0},
	        {AGENT_SERVICE_NEVER, "exit 3", AGENT_SERVICE_FAILED, 3},
	};
	struct box b = box_start(BOX_HOST);

	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		struct agent_service s = service(&b, cases[i].line);
		struct agent_service_state is;

		s.generation = i + 1;
		s.restart = cases[i].restart;
		(void)set(&b, &s);
		is = wait_for_phase(&b, cases[i].phase);
		assert_int_equal(is.exit_code, cases[i].exit_code);
		assert_int_equal(is.restarts, 0);
	}
	remove_it(&b, 10);
	box_end(&b);
}

TEST(one_that_fails_at_once_again_and_again_is_given_up_or_waits_ever_longer)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "exit 1");
	struct agent_service_state is;

	s.failures_max = 3;
	(void)set(&b, &s);
	is = wait_for_phase(&b, AGENT_SERVICE_FAILED);
	assert_int_equal(is.restarts, 3);
	s.generation = 2;
	s.failures_max = 0;
	s.delay_ms = 10000;
	(void)set(&b, &s);
	is = wait_for_phase(&b, AGENT_SERVICE_BACKOFF);
	assert_true(is.again_ms > 5000 && is.again_ms <= 10000);
	remove_it(&b, 3);
	box_end(&b);
}

TEST(a_program_that_is_not_there_is_told_and_found_once_it_is)
{
	struct box b = box_start(BOX_HOST);
	const char *args[] = {box_path(&b, "server"), NULL};
	struct agent_service s = service(&b, "");
	struct agent_service_state is;

	s.args = args;
	s.delay_ms = 20;
	(void)set(&b, &s);
	is = wait_for_phase(&b, AGENT_SERVICE_BACKOFF);
	assert_non_null(strstr(is.error, "command not found"));
	box_put(&b, "server", "#!/bin/sh\nexec sleep 1000\n");
	{
		char command[200];
		struct ran r;

		(void)snprintf(command, sizeof(command), "chmod 755 '%s'", args[0]);
		r = run_shell(&b, command);
		ran_done(&r);
	}
	is = wait_for_phase(&b, AGENT_SERVICE_RUNNING);
	assert_string_equal(is.error, "");
	remove_it(&b, 2);
	box_end(&b);
}

/* ---- what is left behind ---- */

TEST(what_a_service_leaves_behind_ends_before_it_runs_again)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s =
	        service(&b, "if mkdir one 2>/dev/null; then setsid sh -c 'echo $$ > left; "
	                    "trap \"\" TERM; while :; do sleep 0.01; done' >/dev/null 2>&1 & "
	                    "while [ ! -s left ]; do sleep 0.01; done; exit 1; fi; "
	                    "kill -0 $(cat left) 2>/dev/null && echo doubled; exec sleep 1000");
	const struct agent_service_log all = {
	        .id = "service", .since = {0, UINT64_MAX}, .max = 100};
	AUTO(buf_done) struct buf out = BUF(1000);
	pid_t left;

	s.stop_ms = 200;
	(void)set(&b, &s);
	left = wait_for_number(&b, "left");
	(void)wait_for_restarts(&b, 1);
	assert_true(is_dead(left));
	read_log(&b, &all, &out, NULL);
	assert_string_equal(buf_text(&out), "");
	remove_it(&b, 2);
	box_end(&b);
}

TEST(one_that_does_not_end_when_asked_is_killed)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "trap '' TERM; echo up; while :; do sleep 0.01; done");
	struct agent_service_state is;

	s.stop_ms = 50;
	(void)set(&b, &s);
	UNTIL(look(&b, "service").output_end[0] >= 3);
	s.generation = 2;
	s.wish = AGENT_SERVICE_STOP;
	(void)set(&b, &s);
	is = wait_for_phase(&b, AGENT_SERVICE_STOPPED);
	assert_int_equal(is.signal, SIGKILL);
	remove_it(&b, 3);
	box_end(&b);
}

/* ---- limits ---- */

TEST(a_log_is_bounded_and_tells_what_it_has_lost)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s =
	        service(&b, "head -c 1000000 /dev/zero | tr '\\0' x; exec sleep 1000");
	struct agent_service_log wanted = {.id = "service", .max = 1000};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	uint64_t first = 0;
	struct agent_service_state is;
	AUTO_CLOSE int fd = box_connect(&b);

	(void)set(&b, &s);
	UNTIL(look(&b, "service").output_end[0] >= 1000000);
	is = look(&b, "service");
	assert_true(is.output_end[0] - is.output_start[0] <= AGENT_SERVICE_LOG_MAX);
	read_log(&b, &wanted, &out, &first);
	assert_int_equal(out.size, 1000);
	assert_int_equal(first, is.output_start[0]);
	buf_reset(&out);
	wanted.max = AGENT_SERVICE_LOG_MAX;
	wanted.since[0] = UINT64_MAX;
	read_log(&b, &wanted, &out, NULL);
	assert_int_equal(out.size, 0);
	wanted.max++;
	say(&b, fd, AGENT_SERVICE_LOG, agent_service_log_shape, &wanted);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_INVALID);
	wanted = (struct agent_service_log){.id = "another", .max = 1};
	say(&b, fd, AGENT_SERVICE_LOG, agent_service_log_shape, &wanted);
	assert_int_equal(hear_failed(&b, fd).code, ERROR_NOT_FOUND);
	remove_it(&b, 2);
	box_end(&b);
}

TEST(one_too_many_and_nonsense_are_refused)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "exec sleep 1000");
	char id[16];

	s.wish = AGENT_SERVICE_STOP;
	s.id = id;
	for (unsigned i = 0; i < AGENT_SERVICES_MAX; i++) {
		(void)snprintf(id, sizeof(id), "s%u", i);
		(void)set(&b, &s);
	}
	s.id = "more";
	assert_int_equal(refuse(&b, &s).code, ERROR_LIMIT);
	s.id = "s1";
	s.generation = 2;
	s.restart = AGENT_SERVICE_RESTART_COUNT;
	assert_int_equal(refuse(&b, &s).code, ERROR_INVALID);
	s.restart = AGENT_SERVICE_NEVER;
	s.delay_ms = UINT64_MAX;
	assert_int_equal(refuse(&b, &s).code, ERROR_INVALID);
	box_end(&b);
}

TEST(a_service_is_no_use_of_the_sandbox_unless_it_is_to_be)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "exec sleep 1000");
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_pong pong;

	for (unsigned i = 0; i < 2; i++) {
		s.generation = i + 1;
		s.keeps_awake = i;
		(void)set(&b, &s);
		(void)wait_for_phase(&b, AGENT_SERVICE_RUNNING);
		say(&b, fd, AGENT_PING, NULL, NULL);
		HEAR(&b, fd, AGENT_PONG, agent_pong, &pong);
		assert_int_equal(pong.processes, i);
	}
	remove_it(&b, 3);
	box_end(&b);
}

TEST(many_that_come_and_go_leave_nothing)
{
	struct box b = box_start(BOX_HOST);
	struct agent_service s = service(&b, "exec sleep 1000");
	char id[16];

	s.id = id;
	for (unsigned i = 0; i < 200; i++) {
		(void)snprintf(id, sizeof(id), "s%u", i);
		s.generation = 1;
		s.wish = AGENT_SERVICE_RUN;
		(void)set(&b, &s);
		s.generation = 2;
		s.wish = AGENT_SERVICE_REMOVE;
		(void)set(&b, &s);
		UNTIL(!look(&b, id).id);
	}
	assert_int_equal(box_children(&b), 0);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(a_service_that_is_killed_runs_again_and_its_output_goes_on),
	           CASE(what_is_said_twice_runs_once_and_what_is_said_late_changes_nothing),
	           CASE(a_change_ends_the_old_run_before_the_new_one_begins),
	           CASE(the_policy_says_who_is_started_again),
	           CASE(one_that_fails_at_once_again_and_again_is_given_up_or_waits_ever_longer),
	           CASE(a_program_that_is_not_there_is_told_and_found_once_it_is),
	           CASE(what_a_service_leaves_behind_ends_before_it_runs_again),
	           CASE(one_that_does_not_end_when_asked_is_killed),
	           CASE(a_log_is_bounded_and_tells_what_it_has_lost),
	           CASE(one_too_many_and_nonsense_are_refused),
	           CASE(a_service_is_no_use_of_the_sandbox_unless_it_is_to_be),
	           CASE(many_that_come_and_go_leave_nothing));
}
