/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static struct child shell(const char *line)
{
	static const char *args[] = {"sh", "-c", NULL, NULL};
	static const char *env[] = {"MARK=1", NULL};

	args[2] = line;
	return (struct child){
	        .name = "sh",
	        .folder_fd = -1,
	        .program_fd = open("/bin/sh", O_RDONLY | O_CLOEXEC),
	        .args = args,
	        .env = env,
	};
}

static int run(struct child *c)
{
	struct error err;
	int status = -1;

	assert_int_equal(child_start(c, &err), 0);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	close(c->program_fd);
	return status;
}

TEST(a_child_gets_its_arguments_environment_and_descriptors_and_nothing_else)
{
	struct child c = shell("test \"$MARK\" = 1 && test -z \"$HOME\" && echo hello >&\"$0\"");
	char digit[2] = "", text[8] = "";
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_true(fds[1] < 10);
	digit[0] = (char)('0' + fds[1]);
	c.args = (const char *[]){"sh", "-c", c.args[2], digit, NULL};
	c.fds[c.fd_count++] = fds[1];
	assert_int_equal(run(&c), 0);
	assert_int_equal(read(fds[0], text, sizeof(text)), 6);
	assert_string_equal(text, "hello\n");
	close(fds[0]);
	close(fds[1]);
}

TEST(a_child_has_a_session_of_its_own_and_dies_with_us)
{
	struct child c = shell("exit 0");
	struct error err;
	int status;

	c.args = (const char *[]){"sh", "-c", "kill -STOP $$", NULL};
	assert_int_equal(child_start(&c, &err), 0);
	assert_int_equal(waitpid(c.pid, &status, WUNTRACED), c.pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(getsid(c.pid), c.pid);
	child_signal(&c, SIGKILL);
	assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
	close(c.program_fd);
}

TEST(a_program_that_cannot_run_ends_with_a_failure)
{
	struct child c = shell("exit 0");

	close(c.program_fd);
	c.program_fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
	assert_int_equal(WEXITSTATUS(run(&c)), 1);
}

TEST(a_child_that_keeps_ending_is_started_later_and_later)
{
	struct child c = {.started_ms = 0};
	int64_t delay, before = 0;

	for (unsigned i = 0; i < 20; i++) {
		c.started_ms = 1000;
		child_ended(&c, 1000);
		delay = c.restart_ms - 1000;
		assert_true(delay >= before && delay <= 5000);
		assert_int_equal(c.pid, 0);
		before = delay;
	}
	assert_int_equal(before, 5000);
}

TEST(a_child_that_lived_for_a_while_is_started_again_at_once)
{
	struct child c = {.failures = 12, .started_ms = 1000};

	child_ended(&c, 61000);
	assert_true(c.restart_ms - 61000 < 100);
}

TEST(nobody_is_signalled_when_nothing_runs)
{
	struct child c = {.pid = 0};

	child_signal(&c, SIGKILL); /* kill(0, …) would be our own group */
}

int main(void)
{
	return RUN(CASE(a_child_gets_its_arguments_environment_and_descriptors_and_nothing_else),
	           CASE(a_child_has_a_session_of_its_own_and_dies_with_us),
	           CASE(a_program_that_cannot_run_ends_with_a_failure),
	           CASE(a_child_that_keeps_ending_is_started_later_and_later),
	           CASE(a_child_that_lived_for_a_while_is_started_again_at_once),
	           CASE(nobody_is_signalled_when_nothing_runs));
}
