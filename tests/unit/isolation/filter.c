/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "isolation/filter.h"
#include "unit.h"

/* Whether all that `check` asks for holds in a process with this filter. */
static bool holds_in_child(enum filter_kind kind, bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = {0};
		bool loaded =
		        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_load(kind, &err) == 0;

		_exit(loaded && check() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_refused(long result)
{
	return result == -1 && (errno == EPERM || errno == ENOSYS);
}

static bool has_no_way_to_the_kernel(void)
{
	return is_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL)) &&
	       is_refused(syscall(SYS_bpf, 0, NULL, 0)) &&
	       is_refused(syscall(SYS_open_by_handle_at, 0, NULL, 0)) &&
	       is_refused(syscall(SYS_init_module, NULL, 0, ""));
}

static bool has_no_way_out(void)
{
	return is_refused(unshare(CLONE_NEWUSER)) && is_refused(setns(0, 0)) &&
	       is_refused(mount("/", "/", NULL, MS_BIND, NULL)) &&
	       is_refused(socket(AF_INET, SOCK_STREAM, 0)) &&
	       is_refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL)) &&
	       is_refused(syscall(SYS_clone3, NULL, 0)) && has_no_way_to_the_kernel();
}

static bool works_on_files_alone(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rows;
	char *const none[] = {NULL};

	return fd >= 0 && has_no_way_out() && is_refused(fork()) &&
	       is_refused(execve("/bin/true", none, none)) &&
	       is_refused(ioctl(fd, FIONREAD, &rows));
}

static bool starts_programs(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)execl("/bin/true", "true", NULL);
		_exit(1);
	}
	return has_no_way_out() && waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(a_task_on_files_works_on_files_and_does_nothing_else)
{
	if (UNIT_WITH_ASAN)
		skip();
	assert_true(holds_in_child(FILTER_FILES, works_on_files_alone));
}

static bool makes_namespaces_and_leaves_the_kernel(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd >= 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && has_no_way_to_the_kernel();
}

TEST(a_tool_makes_namespaces_and_does_not_reach_the_kernel)
{
	if (geteuid() != 0)
		skip();
	assert_true(holds_in_child(FILTER_TOOLS, makes_namespaces_and_leaves_the_kernel));
}

TEST(a_task_that_starts_programs_does_not_get_out)
{
	assert_true(holds_in_child(FILTER_PROGRAMS, starts_programs));
}

int main(void)
{
	return RUN(CASE(a_tool_makes_namespaces_and_does_not_reach_the_kernel),
	           CASE(a_task_on_files_works_on_files_and_does_nothing_else),
	           CASE(a_task_that_starts_programs_does_not_get_out));
}
