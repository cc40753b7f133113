/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/image.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "isolation/layer.h"

#define MKFS "/usr/sbin/mkfs.ext4"
#define FSCK "/usr/sbin/e2fsck"
#define RESIZE "/usr/sbin/resize2fs"
#define FSCK_REPAIRED 1 /* its status when all is well now */
#define WORDS_MAX 16
#define SECTOR_BYTES 512u
#define MIB_BYTES (1u << 20)
#define LOOP_TRIES 16
#define LOCK_TRIES 500
#define LOCK_PAUSE_MS 10
#define OPTIONS_SIZE 160
#define JOURNAL_MIN_BYTES (UINT64_C(8) << 20)

bool image_is_possible(void)
{
	return access(MKFS, X_OK) == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
}

/* ---- programs ---- */

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

/* The image stays open across exec, in the child alone, and with it the lock: nobody mounts the
 * image while a program works on it. */
static int run_program(const struct image_program *program, int image, struct error *err)
{
	const char *const *words = program->words;
	const char *argv[WORDS_MAX] = {NULL};
	char path[32];
	unsigned count = 0;
	pid_t parent = getpid(), pid;
	int status;
	bool is_late;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
	while (words[count])
		argv[count] = words[count], count++;
	assert(count < WORDS_MAX - 1);
	argv[count] = path;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (!program->must_end)
			die_with_parent(parent);
		(void)fcntl(image, F_SETFD, 0);
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

/* ---- make ---- */

static int run_mkfs(int image, const struct image_options *o, struct error *err)
{
	/* A smaller image has no room for a journal. */
	bool has_journal = o->keeps_journal && o->size_bytes >= JOURNAL_MIN_BYTES;
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
	               "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=%u:%u",
	               o->owner, o->owner);
	return run_program(&(struct image_program){.words = words, .deadline = DEADLINE_NEVER},
	                   image, err);
}

static int lock_image(int image, bool *ret_is_mounted, struct error *err)
{
	*ret_is_mounted = flock(image, LOCK_EX | LOCK_NB) < 0;
	return *ret_is_mounted && errno != EWOULDBLOCK ? FAIL_ERRNO(err, "lock an image") : 0;
}

static int check_size(uint64_t size_bytes, struct error *err)
{
	return size_bytes <= IMAGE_BYTES_MAX
	               ? 0
	               : FAIL(err, ERROR_TOO_LARGE, "a hard limit is at most %llu GiB",
	                      (unsigned long long)(IMAGE_BYTES_MAX >> 30));
}

int image_make(int folder, const char *name, const struct image_options *options, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	bool is_mounted;

	if (check_size(options->size_bytes, err) < 0)
		return -1;
	fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "make '%s'", name);
	if (lock_image(fd, &is_mounted, err) < 0)
		return -1;
	if (ftruncate(fd, (off_t)options->size_bytes) < 0)
		return FAIL_ERRNO(err, "size '%s'", name);
	fault_point("broker", "volume-image");
	if (run_mkfs(fd, options, err) < 0)
		return -1;
	return options->keeps_journal && fsync(fd) < 0
	               ? FAIL_ERRNO(err, "bring '%s' to the disk", name)
	               : 0;
}

/* ---- loop devices ---- */

#define DEVICE_PATH_SIZE 32

/* Another process may take the free number first. The device vanishes with its last user. */
static int open_free_loop(int image, char path[DEVICE_PATH_SIZE], int *ret_fd, struct error *err)
{
	struct loop_config config = {.fd = (uint32_t)image,
	                             .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
	AUTO_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		return FAIL_ERRNO(err, "open '/dev/loop-control'");
	for (unsigned i = 0; i < LOOP_TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		AUTO_CLOSE int fd = -1;

		if (number < 0)
			return FAIL_ERRNO(err, "find a free loop device");
		(void)snprintf(path, DEVICE_PATH_SIZE, "/dev/loop%d", number);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = TAKE_FD(fd);
			fault_point("broker", "volume-loop");
			return 0;
		}
		if (errno != EBUSY)
			return FAIL_ERRNO(err, "set up '%s'", path);
	}
	return FAIL(err, ERROR_UNAVAILABLE, "no loop device is free");
}

/* The device is checked while it is open, so it stays what it is. */
static bool is_loop_of_image(const char *path, const struct stat *image, int *ret_fd)
{
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	struct loop_info64 info = {0};

	if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) < 0 || info.lo_inode != image->st_ino ||
	    info.lo_device != image->st_dev)
		return false;
	*ret_fd = TAKE_FD(fd);
	return true;
}

/* Finds the loop device of the image, whichever process set it up. */
static bool find_loop_of_image(int image, char path[DEVICE_PATH_SIZE], int *ret_fd)
{
	struct dirent *entry;
	struct stat status;
	bool found = false;
	DIR *folder;

	if (fstat(image, &status) < 0)
		return false;
	folder = opendir("/dev");
	while (folder && !found && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "loop", 4) != 0 ||
		    !isdigit((unsigned char)entry->d_name[4]))
			continue;
		(void)snprintf(path, DEVICE_PATH_SIZE, "/dev/%.20s", entry->d_name);
		found = is_loop_of_image(path, &status, ret_fd);
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

/* The kernel keeps the lock as long as any part of a mount is left, and a little longer than the
 * loop device can be found. */
static int open_loop_of_image(int image, bool shared, char path[DEVICE_PATH_SIZE], int *ret_fd,
                              struct error *err)
{
	bool is_mounted;

	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (lock_image(image, &is_mounted, err) < 0)
			return -1;
		if (!is_mounted)
			return open_free_loop(image, path, ret_fd, err);
		if (shared && find_loop_of_image(image, path, ret_fd))
			return 0;
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return FAIL(err, ERROR_TIMEOUT, "the last mount of an image has not ended");
}

/* ---- mount and grow ---- */

static int open_image(int folder, const char *name, int *ret_fd, struct error *err)
{
	*ret_fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", name) : 0;
}

int image_mount(int folder, const char *name, bool shared, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int image = -1, loop = -1;
	char path[DEVICE_PATH_SIZE], options[64];

	if (open_image(folder, name, &image, err) < 0 ||
	    open_loop_of_image(image, shared, path, &loop, err) < 0)
		return -1;
	/* A second mount of a device shows the same filesystem. */
	(void)snprintf(options, sizeof(options), "source=%s%s", path, shared ? ",discard" : "");
	if (layer_make("ext4", options, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME, ret_fd, err) < 0)
		return -1;
	fault_point("broker", "volume-mounted");
	return 0;
}

static int wait_for_lock(int image, struct error *err)
{
	bool is_mounted = true;

	for (unsigned i = 0; is_mounted && i < LOCK_TRIES; i++) {
		if (lock_image(image, &is_mounted, err) < 0)
			return -1;
		if (is_mounted)
			(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return is_mounted ? FAIL(err, ERROR_TIMEOUT, "the last mount of an image has not ended")
	                  : 0;
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
static int check_filesystem(int image, int64_t deadline, struct error *err)
{
	static const char *const words[] = {FSCK, "-f", "-p", NULL};
	const struct image_program program = {words, FSCK_REPAIRED, deadline, .must_end = false};

	return run_program(&program, image, err);
}

/* An interrupted resize would leave a broken filesystem. So it does not start late and is never
 * killed. It writes only what is new: a TiB takes a fraction of a second. */
static int resize_filesystem(int image, int64_t deadline, struct error *err)
{
	static const char *const words[] = {RESIZE, NULL};
	const struct image_program program = {words, 0, DEADLINE_NEVER, .must_end = true};

	if (deadline_poll_ms(deadline) == 0)
		return FAIL(err, ERROR_TIMEOUT, "it is too late to grow an image");
	return run_program(&program, image, err);
}

/* Grows the file first, then the filesystem in it. Until that is done the file has an extra sector.
 * If this process dies in between, the size shows that the image is not complete, and the next call
 * grows it. The filesystem mounts in any case, because it is never larger than the file. */
int image_grow(int folder, const char *name, uint64_t size_bytes, int64_t deadline,
               struct error *err)
{
	AUTO_CLOSE int image = -1;
	struct stat status;

	if (check_size(size_bytes, err) < 0 || open_image(folder, name, &image, err) < 0 ||
	    wait_for_lock(image, err) < 0)
		return -1;
	/* resize2fs refuses a filesystem that was not checked since it was mounted. */
	if (fault_failure("broker", "volume-check", err) < 0 ||
	    check_filesystem(image, deadline, err) < 0)
		return -1;
	if (fstat(image, &status) < 0)
		return FAIL_ERRNO(err, "look at '%s'", name);
	size_bytes = grown_size((uint64_t)status.st_size, size_bytes);
	if (ftruncate(image, (off_t)(size_bytes + SECTOR_BYTES)) < 0)
		return FAIL_ERRNO(err, "size '%s'", name);
	fault_point("broker", "volume-sized");
	if (resize_filesystem(image, deadline, err) < 0)
		return -1;
	fault_point("broker", "volume-grown");
	if (fsync(image) < 0)
		return FAIL_ERRNO(err, "bring '%s' to the disk", name);
	return ftruncate(image, (off_t)size_bytes) < 0 ? FAIL_ERRNO(err, "size '%s'", name) : 0;
}

int image_fit(int folder, const char *name, uint64_t size_bytes, int64_t deadline,
              struct error *err)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", name);
	if ((uint64_t)status.st_size >= size_bytes && status.st_size % MIB_BYTES == 0)
		return 0;
	return image_grow(folder, name, size_bytes, deadline, err);
}
