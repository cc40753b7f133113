/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "broker/host/launcher.h"
#include "broker/host/task_start.h"

#define MKFS "/usr/sbin/mkfs.ext4"
#define MIB_BYTES (1u << 20)
#define LOCK_TRIES 500
#define LOCK_PAUSE_MS 10

bool image_is_possible(void)
{
	return access(MKFS, X_OK) == 0 && access("/dev/loop-control", R_OK | W_OK) == 0;
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

static int open_image(int folder, const char *name, int *ret_fd, struct error *err)
{
	*ret_fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", name) : 0;
}

static int try_mount(const struct image_place *place, const struct wire_fds *image, bool shared,
                     int *ret_fd, struct error *err)
{
	const struct launch_image request = {.shared = shared};

	return launcher_open_fd(place->host, LAUNCH_IMAGE, &request, image, ret_fd, err);
}

int image_mount(const struct image_place *place, bool shared, int *ret_fd, struct error *err)
{
	struct wire_fds fds = {.count = 1};
	AUTO_CLOSE int image = -1;

	if (open_image(place->folder, place->name, &image, err) < 0)
		return -1;
	fds.fds[0] = image;
	for (unsigned i = 0; try_mount(place, &fds, shared, ret_fd, err) < 0; i++) {
		if (err->sys_errno != EWOULDBLOCK)
			return -1;
		if (i == LOCK_TRIES)
			return FAIL(err, ERROR_TIMEOUT, "the last mount of an image has not ended");
		error_clear(err);
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
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
