/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"

static int status_of(void (*run)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void pass_points(void)
{
	fault_point("broker", "other");
	fault_point("api", "step");
	fault_point("broker", "step");
}

TEST(a_step_kills_only_when_it_is_the_one)
{
	assert_int_equal(unsetenv("ATOLL_FAULT"), 0);
	assert_int_equal(status_of(pass_points), 0);
	assert_int_equal(setenv("ATOLL_FAULT", "broker:step:fail", 1), 0);
	assert_int_equal(status_of(pass_points), 0);
	assert_int_equal(setenv("ATOLL_FAULT", "broker:step:kill", 1), 0);
	assert_true(WIFSIGNALED(status_of(pass_points)));
}

TEST(a_step_stops_until_it_is_let_go_on)
{
	int status = 0;
	pid_t pid;

	assert_int_equal(setenv("ATOLL_FAULT", "broker:step:stop", 1), 0);
	pid = fork();
	if (pid == 0) {
		pass_points();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(unsetenv("ATOLL_FAULT"), 0);
}

TEST(a_step_fails_only_when_it_is_the_one_and_says_which)
{
	struct error err = {0};

	assert_int_equal(unsetenv("ATOLL_FAULT"), 0);
	assert_int_equal(fault_failure("broker", "step", &err), 0);
	assert_int_equal(setenv("ATOLL_FAULT", "broker:step:fail", 1), 0);
	assert_int_equal(fault_failure("broker", "steps", &err), 0);
	assert_int_equal(fault_failure("agent", "step", &err), 0);
	assert_int_equal(fault_failure("broker", "step", &err), -1);
	assert_string_equal(err.text, "step 'step' of 'broker' was made to fail");
}

TEST(an_entry_is_handed_on_to_its_place_only)
{
	assert_int_equal(setenv("ATOLL_FAULT", "agent:claim:kill", 1), 0);
	assert_string_equal(fault_entry("agent"), "ATOLL_FAULT=agent:claim:kill");
	assert_null(fault_entry("age"));
	assert_null(fault_entry("broker"));
	assert_int_equal(unsetenv("ATOLL_FAULT"), 0);
	assert_null(fault_entry("agent"));
}

int main(void)
{
	return RUN(CASE(a_step_kills_only_when_it_is_the_one),
	           CASE(a_step_stops_until_it_is_let_go_on),
	           CASE(a_step_fails_only_when_it_is_the_one_and_says_which),
	           CASE(an_entry_is_handed_on_to_its_place_only));
}
