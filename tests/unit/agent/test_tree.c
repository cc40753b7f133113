/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tree.h"
#include "base/clock.h"

/* A daemon as daemons are made: two forks, a session of its own, no descriptor kept. */
#define DAEMON(file)                                                                               \
	"(setsid sh -c 'echo $$ > " file "; exec sleep 1000' </dev/null >/dev/null 2>&1 &) & "

static struct ran signal_tree(struct box *b, int fd, uint32_t signo)
{
	struct agent_signal signal = {.signal = signo, .whole_tree = 1};

	say(b, fd, AGENT_SIGNAL, agent_signal_shape, &signal);
	return exec_finish(b, fd);
}

TEST(a_timeout_takes_everything_that_a_command_started)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, DAEMON("daemon") "sleep 1000 & sleep 1000 | cat");
	struct ran r;
	int daemon;

	command.timeout_ms = 500;
	(void)exec_start(&b, fd, &command);
	daemon = wait_for_number(&b, "daemon");
	assert_false(is_dead(daemon));
	r = exec_finish(&b, fd);
	assert_int_equal(r.process.timed_out, 1);
	assert_int_equal(r.process.exit_code, 137);
	assert_int_equal(r.process.signal, SIGKILL);
	assert_in_range(r.process.duration_ms, 450, 5000);
	assert_true(is_dead(daemon));
	ran_done(&r);
	box_end(&b);
}

TEST(a_kill_of_the_whole_tree_takes_daemons_too)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command = shell(&b, DAEMON("one") DAEMON("two") "exec sleep 1000");
	int one, two;
	struct ran r;

	(void)exec_start(&b, fd, &command);
	one = wait_for_number(&b, "one");
	two = wait_for_number(&b, "two");
	r = signal_tree(&b, fd, SIGKILL);
	assert_int_equal(r.process.signal, SIGKILL);
	assert_int_equal(r.process.timed_out, 0);
	assert_true(is_dead(one) && is_dead(two));
	ran_done(&r);
	box_end(&b);
}

TEST(a_command_that_forks_as_fast_as_it_can_is_killed)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command =
	        shell(&b, "trap '' TERM; echo 1 > going; "
	                  "f() { (sleep 0.01; f) & (sleep 0.02; f) & }; ulimit -u 400; f; wait");
	struct ran r;

	/* Bounded by chains of two, which still grow while they are looked for. */
	(void)exec_start(&b, fd, &command);
	(void)wait_for_number(&b, "going");
	r = signal_tree(&b, fd, SIGKILL);
	ran_done(&r);
	box_end(&b); /* has no child left */
}

TEST(daemons_of_a_command_that_ended_go_on)
{
	struct box b = box_start(BOX_HOST);
	struct ran r =
	        run_shell(&b, DAEMON("daemon") "while ! test -s daemon; do sleep 0.01; done");
	int daemon = wait_for_number(&b, "daemon");

	assert_int_equal(r.process.exit_code, 0);
	assert_false(is_dead(daemon));
	(void)kill(daemon, SIGKILL);
	wait_until_dead(daemon);
	ran_done(&r);
	box_end(&b);
}

TEST(a_signal_goes_to_the_group_or_to_the_whole_tree)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command =
	        shell(&b, "setsid sh -c 'trap \"echo term >> told; exit\" TERM; echo $$ > pid; "
	                  "while :; do sleep 0.01; done' & trap 'echo group; exit 4' TERM; "
	                  "while :; do sleep 0.01; done");
	struct agent_signal group = {.signal = SIGTERM};
	int apart;
	struct ran r;

	(void)exec_start(&b, fd, &command);
	apart = wait_for_number(&b, "pid");
	say(&b, fd, AGENT_SIGNAL, agent_signal_shape, &group);
	r = exec_finish(&b, fd);
	assert_int_equal(r.process.exit_code, 4);
	assert_string_equal(buf_text(&r.out[0]), "group\n");
	assert_false(is_dead(apart));
	assert_null(box_get(&b, "told"));
	(void)kill(apart, SIGKILL);
	wait_until_dead(apart);
	ran_done(&r);
	box_end(&b);
}

TEST(term_to_the_whole_tree_reaches_who_left_the_group)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b);
	struct agent_exec command =
	        shell(&b, "setsid sh -c 'trap \"echo 1 > told; exit\" TERM; echo $$ > pid; "
	                  "while :; do sleep 0.01; done' & trap '' TERM; wait");
	struct ran r;

	(void)exec_start(&b, fd, &command);
	(void)wait_for_number(&b, "pid");
	r = signal_tree(&b, fd, SIGTERM);
	assert_int_equal(wait_for_number(&b, "told"), 1);
	assert_int_equal(r.process.exit_code, 0);
	ran_done(&r);
	box_end(&b);
}

TEST(a_broken_connection_ends_the_tree_only_when_asked_to)
{
	struct box b = box_start(BOX_HOST);
	struct agent_exec command = shell(&b, DAEMON("ends") "exec sleep 1000");
	int fd = box_connect(&b), daemon;

	command.flags = AGENT_EXEC_END_ON_CLOSE;
	(void)exec_start(&b, fd, &command);
	daemon = wait_for_number(&b, "ends");
	(void)close(fd);
	wait_until_dead(daemon);
	fd = box_connect(&b);
	command = shell(&b, "echo $$ > stays; exec sleep 1000");
	(void)exec_start(&b, fd, &command);
	daemon = wait_for_number(&b, "stays");
	(void)close(fd);
	fd = box_connect(&b);
	say(&b, fd, AGENT_PING, NULL, NULL);
	HEAR(&b, fd, AGENT_PONG, agent_pong, &(struct agent_pong){0});
	assert_false(is_dead(daemon));
	(void)kill(daemon, SIGKILL);
	(void)close(fd);
	box_end(&b);
}

TEST(stop_gives_a_grace_and_then_ends_all)
{
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int fd = box_connect(&b), other = box_connect(&b);
	struct agent_exec command = shell(
	        &b,
	        "trap 'echo polite > polite; exit' TERM; echo 1 > a; while :; do sleep 0.01; done");
	struct agent_exec stubborn =
	        shell(&b, "trap '' TERM; " DAEMON("b") "while :; do sleep 1; done");
	int status, daemon;

	(void)exec_start(&b, fd, &command);
	(void)exec_start(&b, other, &stubborn);
	(void)wait_for_number(&b, "a");
	daemon = wait_for_number(&b, "b");
	say(&b, other, AGENT_STOP, agent_stop_shape, &(struct agent_stop){.grace_ms = 300});
	assert_int_equal(waitpid(b.pid, &status, 0), b.pid);
	assert_int_equal(status, 0);
	wait_until_dead(daemon);
	assert_string_equal(box_get(&b, "polite"), "polite\n");
	box_forget(&b);
}

TEST(only_descendants_are_signalled)
{
	pid_t stranger = fork();

	if (stranger == 0) {
		(void)pause();
		_exit(0);
	}
	assert_int_equal(tree_signal(stranger, SIGKILL),
	                 0); /* has no children; is not one itself */
	assert_int_equal(waitpid(stranger, NULL, WNOHANG), 0);
	assert_true(tree_signal(getpid(), SIGKILL) >= 1);
	assert_int_equal(waitpid(stranger, NULL, 0), stranger);
}

int main(void)
{
	return RUN(CASE(a_timeout_takes_everything_that_a_command_started),
	           CASE(a_kill_of_the_whole_tree_takes_daemons_too),
	           CASE(a_command_that_forks_as_fast_as_it_can_is_killed),
	           CASE(daemons_of_a_command_that_ended_go_on),
	           CASE(a_signal_goes_to_the_group_or_to_the_whole_tree),
	           CASE(term_to_the_whole_tree_reaches_who_left_the_group),
	           CASE(a_broken_connection_ends_the_tree_only_when_asked_to),
	           CASE(stop_gives_a_grace_and_then_ends_all),
	           CASE(only_descendants_are_signalled));
}
