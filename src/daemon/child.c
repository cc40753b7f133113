/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define STEADY_MS 10000
#define DELAY_MIN_MS 20
#define DELAY_MAX_MS 5000
#define FILES_WANTED 65536
#define SESSION_NICE "-5" /* three times the weight of all sandboxes together */

static void raise_file_limit(void)
{
	const struct rlimit wanted = {FILES_WANTED, FILES_WANTED};
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	/* Raising the hard limit needs CAP_SYS_RESOURCE; the soft limit can always be raised to
	 * it. */
	if (limit.rlim_max < FILES_WANTED && setrlimit(RLIMIT_NOFILE, &wanted) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Prefers the process to programs in sandboxes, together with c->nice inside the process: where the
 * kernel schedules sessions as groups (sched(7)), neither works alone. Best effort: it needs
 * CAP_SYS_NICE, which the child's user lacks. */
static void come_first(const struct child *c)
{
	AUTO_CLOSE int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, SESSION_NICE, strlen(SESSION_NICE));
	if (c->nice)
		(void)setpriority(PRIO_PROCESS, 0, c->nice);
}

/* Runs in the new process, whose parent has one thread. */
static int prepare_child(const struct child *c, pid_t parent, struct error *err)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C is for the supervisor only. */
	(void)setsid();
	raise_file_limit();
	for (unsigned i = 0; i < c->fd_count; i++) {
		if (fcntl(c->fds[i], F_SETFD, 0) < 0)
			return FAIL_ERRNO(err, "hand over descriptor %d", c->fds[i]);
	}
	/* Before the change of user, which may be unable to reach the folder. */
	if (c->folder_fd >= 0 && fchdir(c->folder_fd) < 0)
		return FAIL_ERRNO(err, "enter the data folder");
	come_first(c);
	if (c->identity && identity_become(c->identity, err) < 0)
		return -1;
	/* After the change of user, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "tie to the supervisor");
	if (getppid() != parent)
		return FAIL(err, ERROR_UNAVAILABLE, "the supervisor has gone");
	return 0;
}

static NORETURN void exec_child(const struct child *c, pid_t parent)
{
	struct error err = {.code = ERROR_NONE};

	if (prepare_child(c, parent, &err) == 0) {
		(void)fexecve(c->program_fd, (char *const *)(uintptr_t)c->args,
		              (char *const *)(uintptr_t)c->env);
		(void)FAIL_ERRNO(&err, "run %s", c->name);
	}
	log_error("could not start a process", TEXT("process", c->name), FAILURE(&err));
	_exit(1);
}

int child_start(struct child *c, struct error *err)
{
	pid_t parent = getpid(), pid;

	/* Set for a failed start, too, so that the next attempt is delayed. */
	c->started_ms = clock_monotonic_ms();
	pid = fork();
	if (pid < 0)
		return FAIL_ERRNO(err, "start %s", c->name);
	if (pid == 0)
		exec_child(c, parent);
	c->pid = pid;
	c->restart_ms = 0;
	return 0;
}

void child_ended(struct child *c, int64_t now_ms)
{
	int64_t delay_ms = DELAY_MIN_MS;

	if (now_ms - c->started_ms >= STEADY_MS)
		c->failures = 0;
	for (unsigned i = 0; i < c->failures && delay_ms < DELAY_MAX_MS; i++)
		delay_ms *= 2;
	c->failures++;
	c->pid = 0;
	c->restart_ms = now_ms + (delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS);
}

void child_signal(const struct child *c, int signo)
{
	if (c->pid > 0)
		(void)kill(c->pid, signo);
}
