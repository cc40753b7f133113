/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/image.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "broker/host/task_start.h"
#include "isolation/layer.h"

#define MKFS "/usr/sbin/mkfs.ext4"
#define MIB_BYTES (1u << 20)
#define LOOP_TRIES 16
#define LOCK_TRIES 500
#define LOCK_PAUSE_MS 10

bool image_is_possible(void)
{
	return access(MKFS, X_OK) == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
}

/* ---- make ---- */

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

int image_make(const struct image_place *place, const struct image_options *options,
               struct error *err)
{
	char size[24], owner[16];
	struct task_command command = {
	        .kind = TASK_IMAGE_MAKE,
	        .count = 3,
	        .words = {size, owner, options->keeps_journal ? "journal" : "no-journal"}};
	AUTO_CLOSE int fd = -1;

	if (check_size(options->size_bytes, err) < 0)
		return -1;
	fd = openat(place->folder, place->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	            0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "make '%s'", place->name);
	fault_point("broker", "volume-image");
	(void)snprintf(size, sizeof(size), "%" PRIu64, options->size_bytes);
	(void)snprintf(owner, sizeof(owner), "%u", options->owner);
	command.input_fd = fd;
	return task_run(place->host, &command, NULL, err);
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

int image_grow(const struct image_place *place, uint64_t size_bytes, int64_t deadline,
               struct error *err)
{
	char size[24], until[24];
	struct task_command command = {.kind = TASK_IMAGE_GROW, .count = 2, .words = {size, until}};
	AUTO_CLOSE int image = -1;

	if (check_size(size_bytes, err) < 0 ||
	    open_image(place->folder, place->name, &image, err) < 0 ||
	    fault_failure("broker", "volume-check", err) < 0)
		return -1;
	(void)snprintf(size, sizeof(size), "%" PRIu64, size_bytes);
	(void)snprintf(until, sizeof(until), "%" PRId64, deadline);
	command.input_fd = image;
	return task_run(place->host, &command, NULL, err);
}

int image_fit(const struct image_place *place, uint64_t size_bytes, int64_t deadline,
              struct error *err)
{
	struct stat status;

	if (fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "look at '%s'", place->name);
	if ((uint64_t)status.st_size >= size_bytes && status.st_size % MIB_BYTES == 0)
		return 0;
	return image_grow(place, size_bytes, deadline, err);
}
