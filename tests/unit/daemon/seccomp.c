/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/seccomp.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static void *nothing(void *context)
{
	return context;
}

/* Each attempt must fail with EPERM; threads must go on working. */
static int try_all(void)
{
	struct error err;
	pthread_t thread;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_confine(&err) < 0)
		return 1;
	if (!ATOLL_SANITIZED && (fork() != -1 || errno != EPERM))
		return 2;
	if (execl("/bin/true", "true", (char *)NULL) != -1 || errno != EPERM)
		return 3;
	if (unshare(CLONE_NEWUSER) != -1 || errno != EPERM)
		return 4;
	if (mount("none", "/mnt", "tmpfs", 0, NULL) != -1 || errno != EPERM)
		return 5;
	if (!ATOLL_SANITIZED && (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != -1 || errno != EPERM))
		return 6;
	if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 7;
	return 0;
}

TEST(what_the_api_process_never_needs_is_refused_and_threads_work)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(try_all());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	return RUN(CASE(what_the_api_process_never_needs_is_refused_and_threads_work));
}
