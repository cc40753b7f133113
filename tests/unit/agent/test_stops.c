/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/reaper.h"
#include "base/clock.h"

static char read_state(pid_t pid)
{
	char path[32], state = '\0';
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return '\0';
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '\0';
	(void)fclose(file);
	return state;
}

/* A process that stops `pid` until that is gone. */
static pid_t begin_stopping(pid_t pid)
{
	pid_t attacker = fork();

	assert_true(attacker >= 0);
	if (attacker > 0)
		return attacker;
	while (!is_dead(pid))
		(void)kill(pid, SIGSTOP);
	_exit(0);
}

static void end_stopping(pid_t attacker)
{
	(void)kill(attacker, SIGKILL);
	assert_int_equal(waitpid(attacker, NULL, 0), attacker);
}

TEST(a_file_worker_that_was_stopped_ends_its_call)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path = beneath(&b, "file");
	AUTO_CLOSE int fd = box_connect(&b);

	say(&b, fd, AGENT_WRITE, agent_path_shape, &path);
	HEAR_EMPTY(&b, fd, AGENT_READY);
	assert_int_equal(kill(box_only_child(&b), SIGSTOP), 0);
	send_bytes(&b, fd, SPAN("text"));
	(void)hear_any(&b, fd);
	assert_string_equal(box_get(&b, "file"), "text");
	box_end(&b);
}

TEST(a_file_worker_that_is_stopped_again_and_again_is_killed)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path = beneath(&b, "file");
	AUTO_CLOSE int fd = box_connect(&b), other = box_connect(&b);
	pid_t attacker;

	say(&b, fd, AGENT_WRITE, agent_path_shape, &path);
	HEAR_EMPTY(&b, fd, AGENT_READY);
	attacker = begin_stopping(box_only_child(&b));
	assert_true(hear_end(&b, fd));
	end_stopping(attacker);
	write_file(&b, other, &path, SPAN("next"));
	assert_string_equal(box_get(&b, "file"), "next");
	box_end(&b);
}

TEST(a_reaper_that_was_stopped_tells_the_end)
{
	struct box b = box_start(BOX_HOST);
	struct agent_exec command = shell(&b, "read line; exit 3");
	AUTO_CLOSE int fd = box_connect(&b);
	struct ran r;

	command.flags = AGENT_EXEC_STDIN;
	(void)exec_start(&b, fd, &command);
	assert_int_equal(kill(box_only_child(&b), SIGSTOP), 0);
	say_raw(&b, fd, AGENT_STDIN, SPAN("line\n"));
	r = exec_finish(&b, fd);
	assert_int_equal(r.process.exit_code, 3);
	ran_done(&r);
	box_end(&b);
}

TEST(a_reaper_that_is_stopped_again_and_again_does_not_outlive_a_kill)
{
	struct box b = box_start(BOX_HOST);
	struct agent_exec command = shell(&b, "sleep 300");
	AUTO_CLOSE int fd = box_connect(&b);
	pid_t attacker;
	struct ran r;

	command.timeout_ms = 300;
	(void)exec_start(&b, fd, &command);
	attacker = begin_stopping(box_only_child(&b));
	r = exec_finish(&b, fd);
	end_stopping(attacker);
	assert_true(r.process.timed_out);
	assert_int_equal(r.process.signal, SIGKILL);
	ran_done(&r);
	box_end(&b);
}

TEST(a_process_that_is_no_helper_stays_stopped)
{
	struct box b = box_start(BOX_HOST);
	/* The agent adopts it when the command ends. */
	struct ran r = run_shell(&b, "setsid sh -c 'echo $$ > pid; exec sleep 300' >&- 2>&- &");
	pid_t orphan = wait_for_number(&b, "pid");
	int64_t deadline = deadline_after(PATIENCE_MS);

	ran_done(&r);
	assert_int_equal(kill(orphan, SIGSTOP), 0);
	while (read_state(orphan) != 'T')
		assert_true(clock_monotonic_ms() < deadline);
	for (int i = 0; i < 3; i++) {
		r = run_shell(&b, "true");
		assert_int_equal(r.process.exit_code, 0);
		ran_done(&r);
	}
	assert_int_equal(read_state(orphan), 'T');
	(void)kill(orphan, SIGKILL);
	wait_until_dead(orphan);
	box_end(&b);
}

/* So many paths to try that the command is not executed for seconds. */
#define PATHS 5000000

TEST(a_command_is_gone_before_its_memory_is_freed_when_its_reaper_is_killed)
{
	const char **paths = calloc(PATHS + 1, sizeof(*paths));
	const char *const args[] = {"missing", NULL}, *const env[] = {NULL};
	AUTO_CLOSE int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct spawn spawn = {.paths = paths,
	                      .args = args,
	                      .env = env,
	                      .cwd = "/",
	                      .root = AT_FDCWD,
	                      .fds = {none, none, none}};
	pid_t command;
	int64_t deadline = deadline_after(PATIENCE_MS);
	struct reaper *k;
	struct error err;
	int status;

	assert_non_null(paths);
	for (size_t i = 0; i < PATHS; i++)
		paths[i] = "/missing";
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(reaper_start(&spawn, &k, &err), 0);
	while (!reaper_has_unexecuted_command(k))
		assert_true(clock_monotonic_ms() < deadline);
	(void)kill(reaper_pid(k), SIGKILL);
	assert_int_equal(waitpid(reaper_pid(k), NULL, 0), reaper_pid(k));
	assert_true(reaper_has_left_command(k));
	command = reaper_pid(k);
	assert_int_equal(waitpid(command, &status, 0), command);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_false(reaper_has_left_command(k));
	assert_int_equal(reaper_result(k, &status, &err), 0);
	assert_int_equal(status, SIGKILL);
	reaper_free(k);
	free(paths);
}

int main(void)
{
	return RUN(CASE(a_file_worker_that_was_stopped_ends_its_call),
	           CASE(a_file_worker_that_is_stopped_again_and_again_is_killed),
	           CASE(a_reaper_that_was_stopped_tells_the_end),
	           CASE(a_reaper_that_is_stopped_again_and_again_does_not_outlive_a_kill),
	           CASE(a_process_that_is_no_helper_stays_stopped),
	           CASE(a_command_is_gone_before_its_memory_is_freed_when_its_reaper_is_killed));
}
