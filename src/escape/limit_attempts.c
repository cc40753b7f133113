/* SPDX-License-Identifier: Apache-2.0 */
/* More than the sandbox may have. Each stops at a bound, so that a machine without limits survives.
 */
#include "escape/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_MB_MAX 1024
#define PROCESSES_MAX 1000
#define DISK_MB_MAX 1024
#define FILES_MAX 100000

static unsigned long limited_number(const char *text, unsigned long max)
{
	unsigned long number = strtoul(text, NULL, 10);

	return number < max ? number : max;
}

static NORETURN void touch_memory(unsigned long mb)
{
	for (unsigned long i = 0; i < mb; i++) {
		char *piece = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
		                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (piece == MAP_FAILED)
			_exit(1);
		memset(piece, (int)i | 1, 1 << 20);
	}
	_exit(0);
}

static enum escape_status take_memory(const char *limit_mb)
{
	unsigned long mb = limited_number(limit_mb, MEMORY_MB_MAX) * 2 + 64;
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return report_not_tried("fork: %s", strerror(errno));
	if (pid == 0)
		touch_memory(mb);
	(void)waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return report_escape("a process filled %lu MiB", mb);
	return report_held("a process that fills %lu MiB is refused or killed", mb);
}

/* They wait for the end of the pipe that only this process writes to, so that none outlives it. */
static unsigned long fork_processes(unsigned long count, const int *ends)
{
	unsigned long made = 0;
	char byte;

	for (; made < count; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			(void)close(ends[1]);
			(void)!read(ends[0], &byte, 1);
			_exit(0);
		}
	}
	return made;
}

static enum escape_status take_processes(const char *limit)
{
	unsigned long count = limited_number(limit, PROCESSES_MAX) * 4 + 200, made;
	int ends[2], failure;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return report_not_tried("pipe: %s", strerror(errno));
	made = fork_processes(count, ends);
	failure = errno;
	(void)close(ends[1]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (made == count)
		return report_escape("%lu processes run", made);
	return report_held("fork %lu: %s", made + 1, strerror(failure));
}

static bool write_mb(int fd)
{
	static char piece[1 << 20];

	for (size_t done = 0; done < sizeof(piece);) {
		ssize_t written = write(fd, piece + done, sizeof(piece) - done);

		if (written <= 0)
			return false;
		done += (size_t)written;
	}
	return true;
}

/* Many files, because one has a limit of its own. Root's part of the disk counts, too. */
static enum escape_status fill_disk(const char *limit_mb)
{
	unsigned long mb = limited_number(limit_mb, DISK_MB_MAX) * 3, done = 0;
	int fds[DISK_MB_MAX * 3 / 16 + 1], failure = 0;
	unsigned count = 0;
	bool is_full = false;

	(void)signal(SIGXFSZ, SIG_IGN);
	while (done < mb && !is_full) {
		int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

		if (fd < 0) {
			char name[] = "atoll-fill-XXXXXX";

			fd = mkstemp(name);
			if (fd >= 0)
				(void)unlink(name);
		}
		if (fd < 0)
			break;
		fds[count++] = fd;
		for (unsigned i = 0; i < 16 && !is_full; i++, done++)
			is_full = !write_mb(fd);
	}
	failure = errno;
	while (count > 0)
		(void)close(fds[--count]);
	if (is_full)
		return report_held("after %lu MiB: %s", done, strerror(failure));
	return done < mb ? report_not_tried("open a file: %s", strerror(failure))
	                 : report_escape("%lu MiB were written", done);
}

static enum escape_status open_files(const char *argument UNUSED)
{
	struct rlimit limit;
	unsigned count = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	while (count < FILES_MAX && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		count++;
	if (count == FILES_MAX)
		return report_escape("%u descriptors are open", count);
	return report_held("descriptor %u: %s", count + 1, strerror(errno));
}

const struct attempt_function limit_attempts[] = {
        {"take_memory", take_memory},
        {"take_processes", take_processes},
        {"fill_disk", fill_disk},
        {"open_files", open_files},
        {0},
};
