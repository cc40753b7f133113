/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks on images of filesystems (broker/volume/image.h): makes them and lets them grow, by the
 * programs of e2fsprogs. The image is TASK_INPUT_FD, and all that can be written. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "task/kinds.h"
#include "wire/task.h"

#define MKFS "/usr/sbin/mkfs.ext4"
#define FSCK "/usr/sbin/e2fsck"
#define RESIZE "/usr/sbin/resize2fs"
#define FSCK_REPAIRED 1 /* its status when all is well now */
#define WORDS_MAX 16
#define SECTOR_BYTES 512u
#define MIB_BYTES (1u << 20)
#define LOCK_TRIES 500
#define LOCK_PAUSE_MS 10
#define OPTIONS_SIZE 160
#define JOURNAL_MIN_BYTES (UINT64_C(8) << 20)

struct image_program {
	const char *const *words; /* a path of the image follows */
	int fine_status;          /* up to this one all is well */
	int64_t deadline;         /* then it is killed */
	bool must_end;            /* its work, even when we are killed */
};

/* The program dies with its parent where it may be killed: it holds the lock, and would keep others
 * waiting. */
static void die_with_parent(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static bool process_ends_by(pid_t pid, int64_t deadline)
{
	struct error ignored = {0};
	AUTO_CLOSE int fd = -1;

	return pidfd_open_of(pid, &fd, &ignored) == 0 &&
	       poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, deadline_poll_ms(deadline)) >
	               0;
}

/* The image stays open across exec, in the child alone, and with it the lock: the broker does
 * not mount the image while a program works on it. */
static int run_program(const struct image_program *program, struct error *err)
{
	const char *const *words = program->words;
	const char *argv[WORDS_MAX] = {NULL};
	char path[32];
	unsigned count = 0;
	pid_t parent = getpid(), pid;
	int status;
	bool is_late;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", TASK_INPUT_FD);
	while (words[count])
		argv[count] = words[count], count++;
	assert(count < WORDS_MAX - 1);
	argv[count] = path;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (!program->must_end)
			die_with_parent(parent);
		(void)fcntl(TASK_INPUT_FD, F_SETFD, 0);
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)execve(words[0], (char *const *)(uintptr_t)argv, (char *[]){NULL});
		_exit(127);
	}
	if (pid < 0)
		return FAIL_ERRNO(err, "run '%s'", words[0]);
	is_late = !process_ends_by(pid, program->deadline);
	if (is_late)
		(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		return FAIL_ERRNO(err, "run '%s'", words[0]);
	if (is_late)
		return FAIL(err, ERROR_TIMEOUT, "'%s' took too long", words[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > program->fine_status)
		return FAIL(err, ERROR_SYSTEM, "'%s' failed with status %d", words[0], status);
	return 0;
}

/* The kernel keeps the lock as long as any part of a mount is left. */
static int lock_image(struct error *err)
{
	for (unsigned i = 0; flock(TASK_INPUT_FD, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK)
			return FAIL_ERRNO(err, "lock an image");
		if (i == LOCK_TRIES)
			return FAIL(err, ERROR_TIMEOUT, "the last mount of an image has not ended");
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 0;
}

static int resize_file(uint64_t bytes, struct error *err)
{
	return ftruncate(TASK_INPUT_FD, (off_t)bytes) < 0 ? FAIL_ERRNO(err, "size an image") : 0;
}

static int sync_file(struct error *err)
{
	return fsync(TASK_INPUT_FD) < 0 ? FAIL_ERRNO(err, "bring an image to the disk") : 0;
}

static int run_mkfs(uint64_t size_bytes, const char *owner, bool keeps_journal, struct error *err)
{
	/* A smaller image has no room for a journal. */
	bool has_journal = keeps_journal && size_bytes >= JOURNAL_MIN_BYTES;
	char extended[OPTIONS_SIZE];
	const char *const words[] = {MKFS,
	                             "-q",
	                             "-F",
	                             "-m",
	                             "0",
	                             "-O",
	                             has_journal ? "has_journal" : "^has_journal",
	                             "-e",
	                             "remount-ro",
	                             "-E",
	                             extended,
	                             NULL};

	/* Nothing in a new sparse file needs to be written as zeroes. */
	(void)snprintf(extended, sizeof(extended),
	               "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=%s:%s", owner,
	               owner);
	return run_program(&(struct image_program){.words = words, .deadline = DEADLINE_NEVER},
	                   err);
}

int task_image_make(char **words, UNUSED struct task_report *report, struct error *err)
{
	bool keeps_journal = strcmp(words[2], "journal") == 0;
	int64_t size;

	if (span_parse_whole(span_of(words[0]), 0, INT64_MAX, &size, err) < 0 ||
	    lock_image(err) < 0 || resize_file((uint64_t)size, err) < 0 ||
	    run_mkfs((uint64_t)size, words[1], keeps_journal, err) < 0)
		return -1;
	return keeps_journal ? sync_file(err) : 0;
}

/* Whole MiB: a file with another size is being grown. */
static uint64_t grown_size(uint64_t now_bytes, uint64_t wanted_bytes)
{
	uint64_t bytes;

	if (now_bytes % MIB_BYTES == SECTOR_BYTES)
		now_bytes -= SECTOR_BYTES;
	bytes = now_bytes > wanted_bytes ? now_bytes : wanted_bytes;
	return (bytes + MIB_BYTES - 1) / MIB_BYTES * MIB_BYTES;
}

/* A late check has read everything and repaired what was wrong before; a kill does no harm. */
static int check_filesystem(int64_t deadline, struct error *err)
{
	static const char *const words[] = {FSCK, "-f", "-p", NULL};
	const struct image_program program = {words, FSCK_REPAIRED, deadline, .must_end = false};

	return run_program(&program, err);
}

/* An interrupted resize would leave a broken filesystem. So it does not start late and is never
 * killed. It writes only what is new: a TiB takes a fraction of a second. */
static int resize_filesystem(int64_t deadline, struct error *err)
{
	static const char *const words[] = {RESIZE, NULL};
	const struct image_program program = {words, 0, DEADLINE_NEVER, .must_end = true};

	if (deadline_poll_ms(deadline) == 0)
		return FAIL(err, ERROR_TIMEOUT, "it is too late to grow an image");
	return run_program(&program, err);
}

/* Grows the file first, then the filesystem in it. Until that is done the file has an extra sector.
 * If this process dies in between, the size shows that the image is not complete, and the next call
 * grows it. The filesystem mounts in any case, because it is never larger than the file. */
int task_image_grow(char **words, UNUSED struct task_report *report, struct error *err)
{
	int64_t wanted, deadline;
	struct stat status;
	uint64_t size;

	if (span_parse_whole(span_of(words[0]), 0, INT64_MAX, &wanted, err) < 0 ||
	    span_parse_whole(span_of(words[1]), 0, INT64_MAX, &deadline, err) < 0 ||
	    lock_image(err) < 0)
		return -1;
	/* resize2fs refuses a filesystem that was not checked since it was mounted. */
	if (check_filesystem(deadline, err) < 0)
		return -1;
	if (fstat(TASK_INPUT_FD, &status) < 0)
		return FAIL_ERRNO(err, "look at an image");
	size = grown_size((uint64_t)status.st_size, (uint64_t)wanted);
	if (resize_file(size + SECTOR_BYTES, err) < 0)
		return -1;
	fault_point("task", "volume-sized");
	if (resize_filesystem(deadline, err) < 0)
		return -1;
	fault_point("task", "volume-grown");
	return sync_file(err) < 0 ? -1 : resize_file(size, err);
}
