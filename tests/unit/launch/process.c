/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "served.h"

TEST(only_a_few_files_of_a_process_are_opened)
{
	struct launch_process request = {.pid = getpid(), .file = LAUNCH_FILE_MOUNT_NAMESPACE};
	struct stat own, opened;
	struct launch_answer answer;
	struct wire_fds none = {.count = 0}, got;
	struct served s;

	begin(&s, false);
	answer = ask_with(&s, LAUNCH_PROCESS, &request, &none, &got);
	assert_int_equal(answer.err.code, ERROR_NONE);
	assert_int_equal(got.count, 1);
	assert_int_equal(stat("/proc/self/ns/mnt", &own), 0);
	assert_int_equal(fstat(got.fds[0], &opened), 0);
	assert_int_equal(own.st_ino, opened.st_ino);
	wire_fds_close(&got);
	request.file = LAUNCH_FILE_COUNT;
	answer = ask(&s, LAUNCH_PROCESS, &request, 0);
	assert_refused(&answer, ERROR_INVALID, "malformed");
	request = (struct launch_process){.pid = 0};
	answer = ask(&s, LAUNCH_PROCESS, &request, 0);
	assert_refused(&answer, ERROR_INVALID, "malformed");
	request.pid = -1;
	answer = ask(&s, LAUNCH_PROCESS, &request, 0);
	assert_refused(&answer, ERROR_INVALID, "malformed");
	end(&s);
}

TEST(a_process_of_another_parent_is_not_waited_for)
{
	struct wire_fds fds = {.count = 1}, got;
	struct launch_answer answer;
	struct error err = {0};
	struct served s;
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	assert_int_equal(pidfd_open_of(pid, &fds.fds[0], &err), 0);
	begin(&s, false);
	answer = ask_with(&s, LAUNCH_WAIT, NULL, &fds, &got);
	assert_int_equal(answer.err.code, ERROR_NONE);
	assert_int_equal(answer.ended.pid, 0);
	assert_int_equal(answer.ended.code, 0);
	answer = ask(&s, LAUNCH_WAIT, NULL, 1);
	assert_int_not_equal(answer.err.code, ERROR_NONE); /* no process at all */
	end(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(fds.fds[0]);
}

static bool is_there(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST(a_child_that_is_not_asked_for_is_reaped_after_a_while)
{
	const int64_t begin_ms = 1000;
	pid_t children[2];
	siginfo_t info;
	unsigned left;

	for (unsigned i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(126);
		assert_int_equal(waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOWAIT), 0);
	}
	launch_reap_orphan(begin_ms);
	launch_reap_orphan(begin_ms + LAUNCH_ORPHAN_MS - 1);
	assert_true(is_there(children[0]) && is_there(children[1]));
	launch_reap_orphan(begin_ms + 2 * LAUNCH_ORPHAN_MS);
	left = is_there(children[0]) + is_there(children[1]);
	assert_int_equal(left, 1);
	launch_reap_orphan(begin_ms + 3 * LAUNCH_ORPHAN_MS);
	left = is_there(children[0]) + is_there(children[1]);
	assert_int_equal(left, 1);
	launch_reap_orphan(begin_ms + 4 * LAUNCH_ORPHAN_MS);
	assert_false(is_there(children[0]) || is_there(children[1]));
}

TEST(a_host_name_has_an_end_and_a_process)
{
	struct launch_hostname request = {.name = "unit"};
	struct launch_answer answer;
	struct served s;

	begin(&s, false);
	answer = ask(&s, LAUNCH_HOSTNAME, &request, 1);
	assert_refused(&answer, ERROR_INVALID, "enter the names");
	memset(request.name, 'x', sizeof(request.name));
	answer = ask(&s, LAUNCH_HOSTNAME, &request, 1);
	assert_refused(&answer, ERROR_INVALID, "no end");
	end(&s);
}

/* The second process is in new mount and UTS namespaces that belong to the host's users, as those
 * of a container without users of its own. */
static pid_t start_other(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void refuse_host(pid_t pid)
{
	const struct launch_hostname name = {.name = "unit-of-a-host"};
	const struct launch_read_only read_only = {.read_only = 1};
	const struct launch_replace replace = {.count = 0};
	struct wire_fds fds = {.count = 1}, got;
	struct launch_answer answer;
	struct error err = {0};
	struct served s;
	char path[64];

	begin(&s, false);
	assert_int_equal(pidfd_open_of(pid, &fds.fds[0], &err), 0);
	answer = ask_with(&s, LAUNCH_HOSTNAME, &name, &fds, &got);
	assert_refused(&answer, ERROR_INVALID, "a namespace of the host");
	wire_fds_close(&fds);
	end(&s);
	begin(&s, true);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	fds.fds[0] = open(path, O_RDONLY | O_CLOEXEC);
	fds.count = 1;
	answer = ask_with(&s, LAUNCH_READ_ONLY, &read_only, &fds, &got);
	assert_refused(&answer, ERROR_INVALID, "a namespace of the host");
	fds.fds[fds.count++] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	answer = ask_with(&s, LAUNCH_REPLACE, &replace, &fds, &got);
	assert_refused(&answer, ERROR_INVALID, "a namespace of the host");
	wire_fds_close(&fds);
	end(&s);
}

TEST(namespaces_of_the_host_are_not_changed)
{
	pid_t other;

	if (geteuid() != 0)
		skip(); /* it makes namespaces */
	refuse_host(getpid());
	other = start_other();
	refuse_host(other);
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

int main(void)
{
	log_open("unit", LOG_ERROR);
	return RUN(CASE(only_a_few_files_of_a_process_are_opened),
	           CASE(a_process_of_another_parent_is_not_waited_for),
	           CASE(a_child_that_is_not_asked_for_is_reaped_after_a_while),
	           CASE(a_host_name_has_an_end_and_a_process),
	           CASE(namespaces_of_the_host_are_not_changed));
}
