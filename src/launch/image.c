/* SPDX-License-Identifier: Apache-2.0 */
/* LAUNCH_IMAGE: mounts an ext4 filesystem in a file, through a loop device that goes away with the
 * last mount.
 *
 * Two filesystems on one image would destroy it, so the image is locked through the open file
 * description that its loop device holds, which outlives every process of the broker. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "isolation/layer.h"
#include "launch/server.h"

#define DEVICE_PATH_SIZE 32
#define LOOP_TRIES 16

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
			fault_point("launch", "volume-loop");
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
	if (flock(image, LOCK_EX | LOCK_NB) == 0)
		return open_free_loop(image, path, ret_fd, err);
	if (errno != EWOULDBLOCK)
		return FAIL_ERRNO(err, "lock an image");
	if (shared && find_loop_of_image(image, path, ret_fd))
		return 0;
	error_set(err, ERROR_UNAVAILABLE, EWOULDBLOCK, HERE, "an image is mounted");
	return -1;
}

int serve_image(UNUSED struct launch_server *l, const struct launch_call *call,
                struct launch_reply *ret, struct error *err)
{
	const struct launch_image *request = call->request;
	char path[DEVICE_PATH_SIZE], options[64];
	AUTO_CLOSE int loop = -1;
	int fd;

	if (open_loop_of_image(call->fds[0], request->shared, path, &loop, err) < 0)
		return -1;
	/* A second mount of a device shows the same filesystem. */
	(void)snprintf(options, sizeof(options), "source=%s%s", path,
	               request->shared ? ",discard" : "");
	if (layer_make("ext4", options, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME, &fd, err) < 0)
		return -1;
	launch_reply_add(ret, fd);
	fault_point("launch", "volume-mounted");
	return 0;
}
