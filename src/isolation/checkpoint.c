/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"

#define CRIU_MS 10000
#define OUTPUT_MAX (64 * 1024)
#define ERROR_MARK "Error"
#define NAP_S "60"
#define PATH_TRIED "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct checkpoint_attempt {
	const char *criu;
	char folder[128], pidfile[160];
	pid_t napper; /* 0 = none; its number is the same after the restore */
};

/* In the child: closes all descriptors of the broker, which would be dumped otherwise. */
static void exec_program(char *const *argv, int output)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	if (dup2(null_fd, STDIN_FILENO) < 0 ||
	    dup2(output < 0 ? null_fd : output, STDOUT_FILENO) < 0 ||
	    dup2(output < 0 ? null_fd : output, STDERR_FILENO) < 0)
		_exit(126);
	(void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)setenv("PATH", PATH_TRIED, 1);
	(void)execvp(argv[0], argv);
	_exit(127);
}

static void collect_output(int fd, struct buf *out)
{
	int64_t deadline = deadline_after(CRIU_MS);
	struct error ignored = {0};
	char bytes[4096];
	ssize_t got;

	while (fd_wait(fd, POLLIN, deadline, &ignored) > 0 &&
	       (got = read(fd, bytes, sizeof(bytes))) > 0)
		buf_add(out, bytes, (size_t)got);
}

/* The exit status of CRIU, 127 if it could not be run; its output is in `out`. */
static int run_program(char *const *argv, struct buf *out, struct error *err)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return FAIL_ERRNO(err, "make a pipe");
	pid = fork();
	if (pid == 0)
		exec_program(argv, ends[1]);
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return FAIL_ERRNO(err, "start '%s'", argv[0]);
	}
	collect_output(ends[0], out);
	(void)close(ends[0]);
	/* A program that closed its output and still runs counts as timed out. */
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The first line with an error, else the last line. */
static struct span find_reason(const struct buf *out)
{
	struct span rest = buf_span(out), line, reason = SPAN("it said nothing");

	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		line = span_trim(line);
		if (span_starts_with(line, ERROR_MARK))
			return line;
		if (line.size > 0)
			reason = line;
	}
	return reason;
}

static int find_version(const struct checkpoint_attempt *a, char *version, size_t size,
                        struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(OUTPUT_MAX);
	char *const argv[] = {(char *)(uintptr_t)a->criu, (char *)(uintptr_t) "--version", NULL};
	struct span rest, line;
	int status = run_program(argv, &out, err);

	if (status < 0)
		return -1;
	if (status != 0) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "memory cannot be kept: there is no program 'criu' on this machine");
		return FAIL_HINT(
		        err, "a snapshot of the files needs none; CRIU 4 or later is what keeps "
		             "memory on new kernels");
	}
	rest = buf_span(&out);
	(void)span_split(&rest, '\n', &line);
	if (span_starts_with(line, "Version:"))
		line = span_trim((struct span){line.data + 8, line.size - 8});
	(void)snprintf(version, size, "criu %.*s", (int)(line.size < 32 ? line.size : 32),
	               line.data ? line.data : "");
	return 0;
}

static int start_napper(struct checkpoint_attempt *a, struct error *err)
{
	static char *const argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t)NAP_S, NULL};
	pid_t pid = fork();

	if (pid < 0)
		return FAIL_ERRNO(err, "start a process to dump");
	if (pid == 0)
		exec_program(argv, -1);
	a->napper = pid;
	return 0;
}

/* "Linux 6.18.44" */
static const char *kernel_name(struct utsname *kernel)
{
	size_t size;

	if (uname(kernel) < 0)
		return "this kernel";
	/* The version lies before the release. */
	size = strlen(kernel->sysname);
	if (size + 1 + strnlen(kernel->release, 32) >= sizeof(kernel->sysname))
		return kernel->sysname;
	kernel->release[32] = '\0';
	(void)snprintf(kernel->sysname + size, sizeof(kernel->sysname) - size, " %s",
	               kernel->release);
	return kernel->sysname;
}

static int run_criu(const struct checkpoint_attempt *a, const char *version, const char *verb,
                    struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(OUTPUT_MAX);
	char pid[16];
	const char *dump[] = {a->criu, "dump", "-t", pid, "-D", a->folder, NULL};
	const char *restore[] = {a->criu,   "restore",   "-d",       "-D",
	                         a->folder, "--pidfile", a->pidfile, NULL};
	const char **argv = strcmp(verb, "dump") == 0 ? dump : restore;
	struct utsname kernel;
	struct span reason;
	int status;

	(void)snprintf(pid, sizeof(pid), "%d", (int)a->napper);
	status = run_program((char *const *)(uintptr_t)argv, &out, err);
	if (status <= 0)
		return status;
	reason = find_reason(&out);
	(void)FAIL(err, ERROR_UNSUPPORTED, "memory cannot be kept: %s cannot %s on %s: %.*s",
	           version, verb, kernel_name(&kernel),
	           (int)(reason.size < 120 ? reason.size : 120), reason.data);
	return FAIL_HINT(err,
	                 "a snapshot of the files works; CRIU 4 or later is what keeps memory on "
	                 "new kernels");
}

/* The dump ended the process, which is a child of this one. */
static void reap_napper(struct checkpoint_attempt *a)
{
	while (a->napper > 0 && waitpid(a->napper, NULL, 0) < 0 && errno == EINTR)
		;
	a->napper = 0;
}

static int dump_and_restore(struct checkpoint_attempt *a, const char *version, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64);
	struct span rest, line;
	int64_t restored;

	if (start_napper(a, err) < 0 || run_criu(a, version, "dump", err) < 0)
		return -1;
	reap_napper(a);
	if (run_criu(a, version, "restore", err) < 0)
		return -1;
	if (file_read(AT_FDCWD, a->pidfile, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	(void)span_split(&rest, '\n', &line);
	if (span_parse_whole(line, 2, INT32_MAX, &restored, err) < 0)
		return FAIL_CONTEXT(err, "%s says nothing of what it restored", version);
	return kill((pid_t)restored, SIGKILL) < 0
	               ? FAIL(err, ERROR_UNSUPPORTED,
	                      "memory cannot be kept: what %s restored does not live", version)
	               : 0;
}

static void remove_dump(struct checkpoint_attempt *a)
{
	char *const argv[] = {(char *)(uintptr_t) "rm", (char *)(uintptr_t) "-rf", a->folder, NULL};
	AUTO(buf_done) struct buf out = BUF(OUTPUT_MAX);
	struct error ignored = {0};

	if (a->napper > 0)
		(void)kill(a->napper, SIGKILL);
	reap_napper(a);
	(void)run_program(argv, &out, &ignored);
}

int checkpoint_probe(const struct checkpoint_options *options, char *version, size_t version_size,
                     struct error *err)
{
	struct checkpoint_attempt a = {.criu = options->criu ? options->criu : "criu"};
	char own[64];
	int status;

	if (!version) {
		version = own;
		version_size = sizeof(own);
	}
	if (find_version(&a, version, version_size, err) < 0)
		return -1;
	if (geteuid() != 0)
		return FAIL(err, ERROR_UNSUPPORTED, "memory cannot be kept: %s needs root",
		            version);
	(void)snprintf(a.folder, sizeof(a.folder), "%s/atoll-criu-XXXXXX",
	               options->folder ? options->folder : "/run");
	if (!mkdtemp(a.folder))
		return FAIL_ERRNO(err, "make a folder for a dump");
	(void)snprintf(a.pidfile, sizeof(a.pidfile), "%s/pid", a.folder);
	status = dump_and_restore(&a, version, err);
	remove_dump(&a);
	return status;
}

void checkpoint_refuse(const struct checkpoint_options *options, struct error *err)
{
	struct utsname kernel;
	char version[64];

	if (checkpoint_probe(options, version, sizeof(version), err) < 0)
		return;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "memory cannot be kept: %s dumps a process on %s, but no sandbox: its network "
	           "is not of its user namespace, and its keepers share their agent's memory",
	           version, kernel_name(&kernel));
	error_hint(err, "leave \"memory\" out; a paused sandbox keeps its memory where it is");
}
