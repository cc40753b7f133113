/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "lambda/parts.h"

#define PROCESSES_MAX 512 /* of the user: a bomb must not outrun its end */
#define DRAIN_MS 1000     /* for what is in the pipes after the end */
#define READ_SIZE 65536
#define FOLDER_NAME TEMPORARY_ROOT "/call-XXXXXX"

enum start_step { STEP_FOLDER, STEP_PROGRAM };

/* What the child reports when it cannot become the command. */
struct start_failure {
	enum start_step step;
	int number; /* errno */
};

struct running {
	const struct command *command;
	struct function_end *end;
	pid_t pid;
	int pidfd, in, out[2], failed; /* our ends of the pipes */
	struct span input;             /* that is not written yet */
	int base_fd;                   /* folder where it begins */
};

static void running_done(struct running *r)
{
	auto_close(&r->pidfd);
	auto_close(&r->in);
	auto_close(&r->out[0]);
	auto_close(&r->out[1]);
	auto_close(&r->failed);
	auto_close(&r->base_fd);
}

void function_end_done(struct function_end *end)
{
	buf_done(&end->out[0]);
	buf_done(&end->out[1]);
}

/* The name is a single part: no command chooses another folder than that of its workspace. */
static int open_workspace(const char *path, int *ret_fd, struct error *err)
{
	size_t root = strlen(WORKSPACE_ROOT "/");
	AUTO_CLOSE int folder = -1;

	if (strncmp(path, WORKSPACE_ROOT "/", root) != 0 || !path[root] || path[root] == '.' ||
	    strchr(path + root, '/'))
		return FAIL(err, ERROR_INVALID, "workspace '%.100s' is not " WORKSPACE_ROOT "/NAME",
		            path);
	folder = open(WORKSPACE_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open " WORKSPACE_ROOT ", which this function has no file "
		                       "system for");
	if (mkdirat(folder, path + root, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder of workspace '%.60s'", path + root);
	*ret_fd = openat(folder, path + root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open workspace '%.60s'", path + root) : 0;
}

static int open_base(const struct command *c, int *ret_fd, struct error *err)
{
	char folder[] = FOLDER_NAME;

	if (text_or_null(c->workspace))
		return open_workspace(c->workspace, ret_fd, err);
	if (!mkdtemp(folder))
		return FAIL_ERRNO(err, "make a folder");
	*ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open a folder") : 0;
}

static NORETURN void report_failure(int fd, enum start_step step)
{
	const struct start_failure failure = {step, errno};

	(void)!write(fd, &failure, sizeof(failure));
	_exit(127);
}

static void limit_child(void)
{
	const struct rlimit no_core = {0, 0}, processes = {PROCESSES_MAX, PROCESSES_MAX};

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)setrlimit(RLIMIT_NPROC, &processes);
}

static NORETURN void become_command(const struct running *r, const int ends[4])
{
	const struct command *c = r->command;
	sigset_t none;

	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	limit_child();
	for (int i = 0; i < 3; i++)
		if (dup2(ends[i], i) < 0)
			report_failure(ends[3], STEP_FOLDER);
	if (fchdir(r->base_fd) < 0 || (c->cwd && *c->cwd && chdir(c->cwd) < 0))
		report_failure(ends[3], STEP_FOLDER);
	(void)execvpe(c->args[0], (char *const *)(uintptr_t)c->args,
	              (char *const *)(uintptr_t)c->env);
	report_failure(ends[3], STEP_PROGRAM);
}

/* execvpe looks in this process's PATH, and not in that of the command. */
static void take_path(const struct command *c)
{
	for (const char **item = c->env; *item; item++)
		if (strncmp(*item, "PATH=", 5) == 0)
			(void)setenv("PATH", *item + 5, 1);
}

static int fork_command(struct running *r, int pipes[4][2], struct error *err)
{
	const int ends[4] = {pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]};

	take_path(r->command);
	r->pid = fork();
	if (r->pid == 0)
		become_command(r, ends);
	(void)clearenv();
	if (r->pid < 0)
		return FAIL_ERRNO(err, "start a process");
	return pidfd_open_of(r->pid, &r->pidfd, err);
}

static int start_command(struct running *r, struct error *err)
{
	int pipes[4][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	int status = 0;

	for (size_t i = 0; i < 4 && status == 0; i++)
		status = pipe2(pipes[i], O_CLOEXEC);
	status = status < 0 ? FAIL_ERRNO(err, "make a pipe") : fork_command(r, pipes, err);
	auto_close(&pipes[0][0]);
	for (size_t i = 1; i < 4; i++)
		auto_close(&pipes[i][1]);
	r->in = pipes[0][1];
	r->out[0] = pipes[1][0];
	r->out[1] = pipes[2][0];
	r->failed = pipes[3][0];
	if (status == 0 && r->in >= 0)
		(void)fcntl(r->in, F_SETFL, O_NONBLOCK);
	return status;
}

/* The pipe ends without a byte when the program is executed. */
static int await_start(struct running *r, struct error *err)
{
	struct start_failure failure;
	ssize_t got;

	while ((got = read(r->failed, &failure, sizeof(failure))) < 0 && errno == EINTR)
		;
	if (got != sizeof(failure))
		return 0;
	if (failure.step == STEP_PROGRAM &&
	    (failure.number == ENOENT || failure.number == ENOTDIR)) {
		r->end->is_missing = true;
		return 0;
	}
	errno = failure.number;
	if (failure.step == STEP_PROGRAM)
		return FAIL_ERRNO(err, "run '%.100s'", r->command->args[0]);
	(void)FAIL_ERRNO(err, "enter folder '%.200s'", r->command->cwd);
	err->code = ERROR_INVALID;
	return -1;
}

/* Keeps the first bytes, and counts all. */
static void read_output(struct running *r, size_t stream)
{
	char bytes[READ_SIZE];
	ssize_t got = read(r->out[stream], bytes, sizeof(bytes));
	struct buf *out = &r->end->out[stream];

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		fd_forget(&r->out[stream]);
		return;
	}
	size_t room = out->size_max - out->size;
	r->end->bytes[stream] += (uint64_t)got;
	buf_add(out, bytes, (size_t)got < room ? (size_t)got : room);
}

static void write_input(struct running *r)
{
	ssize_t sent = write(r->in, r->input.data, r->input.size);

	if (sent > 0)
		span_skip(&r->input, (size_t)sent);
	if (r->input.size == 0 || (sent < 0 && errno != EAGAIN && errno != EINTR))
		fd_forget(&r->in);
}

/* Until the command has ended, or the deadline. 1: it has ended. */
static int pump_command(struct running *r, int64_t deadline)
{
	if (r->input.size == 0)
		fd_forget(&r->in);
	for (;;) {
		struct pollfd polled[] = {{.fd = r->pidfd, .events = POLLIN},
		                          {.fd = r->out[0], .events = POLLIN},
		                          {.fd = r->out[1], .events = POLLIN},
		                          {.fd = r->in, .events = POLLOUT}};

		if (poll(polled, COUNT_OF(polled), deadline_poll_ms(deadline)) == 0)
			return 0;
		for (size_t i = 0; i < 2; i++)
			if (polled[i + 1].revents)
				read_output(r, i);
		if (polled[3].revents)
			write_input(r);
		if (polled[0].revents)
			return 1;
		if (deadline_poll_ms(deadline) == 0)
			return 0;
	}
}

/* Every writer is dead, so that the pipes end. */
static void drain_output(struct running *r)
{
	int64_t deadline = deadline_after(DRAIN_MS);

	for (size_t i = 0; i < 2; i++)
		while (r->out[i] >= 0 && deadline_poll_ms(deadline) != 0) {
			struct pollfd polled = {.fd = r->out[i], .events = POLLIN};

			if (poll(&polled, 1, deadline_poll_ms(deadline)) > 0)
				read_output(r, i);
		}
}

static void note_end(struct running *r, int status)
{
	r->end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->end->exit_code =
	        r->end->signal ? 128 + r->end->signal : (int)(unsigned char)WEXITSTATUS(status);
}

int command_run(const struct command *c, struct function_end *ret, struct error *err)
{
	AUTO(running_done)
	struct running r = {.command = c,
	                    .end = ret,
	                    .pidfd = -1,
	                    .in = -1,
	                    .out = {-1, -1},
	                    .failed = -1,
	                    .input = c->input,
	                    .base_fd = -1};
	int64_t began_ms = clock_monotonic_ms();
	struct error ignored = {0};
	int status = 0;

	*ret = (struct function_end){
	        .out = {BUF((size_t)c->output_max), BUF((size_t)c->output_max)}};
	if (open_base(c, &r.base_fd, err) < 0)
		return -1;
	int started = start_command(&r, err);
	if (started == 0)
		started = await_start(&r, err);
	if (started == 0 && !ret->is_missing)
		ret->timed_out = pump_command(&r, deadline_after(c->timeout_ms)) == 0;
	/* Its group is that of a session of its own; the others end below. */
	if (r.pid > 0 && (ret->timed_out || started < 0)) {
		(void)kill(-r.pid, SIGKILL);
		(void)kill(r.pid, SIGKILL);
	}
	while (r.pid > 0 && waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
		;
	note_end(&r, status);
	/* Processes that do not end fail the next step of this program. */
	(void)!leftovers_kill(&ignored);
	drain_output(&r);
	ret->duration_ms = clock_monotonic_ms() - began_ms;
	return started;
}
