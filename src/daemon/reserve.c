/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"

#define FOLDER "reserve"
#define SPACE FOLDER "/space"
#define FIRST FOLDER "/0" /* of the empty files; see name_file */
#define SPACE_BYTES (INT64_C(8) << 20)
#define FILES 64
#define LOW_BYTES (UINT64_C(2) << 20) /* less free space counts as full */
#define LOW_FILES 32
#define AMPLE_BYTES (UINT64_C(64) << 20) /* free space that the reserve needs besides itself */
#define AMPLE_FILES 1024

struct room {
	uint64_t bytes, files;
};

static bool find_room(int data_fd, struct room *ret)
{
	struct statvfs status;

	if (fstatvfs(data_fd, &status) < 0)
		return false;
	ret->bytes = (uint64_t)status.f_bavail * status.f_frsize;
	/* btrfs and similar filesystems count no files. */
	ret->files = status.f_files > 0 ? status.f_favail : UINT64_MAX;
	return true;
}

static void name_file(unsigned number, char out[32])
{
	(void)snprintf(out, 32, FOLDER "/%u", number);
}

static void release_reserve(int data_fd)
{
	char name[32];

	if (unlinkat(data_fd, SPACE, 0) == 0)
		log_warning("the disk of the data folder is full: its reserve is given up",
		            TEXT("hint", "free room: delete sandboxes, snapshots or backups"));
	fault_point("supervisor", "reserve-given");
	/* Removes the first file last: while it exists, the next supervisor completes what a killed
	 * one began. */
	for (unsigned i = FILES; i-- > 0;) {
		name_file(i, name);
		(void)unlinkat(data_fd, name, 0);
	}
}

static int make_space(int data_fd)
{
	AUTO_CLOSE int fd =
	        openat(data_fd, SPACE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	if (fallocate(fd, 0, 0, SPACE_BYTES) == 0)
		return 0;
	/* The filesystem does not allocate space before data is written. */
	(void)unlinkat(data_fd, SPACE, 0);
	return -1;
}

static void make_reserve(int data_fd)
{
	char name[32];

	if (mkdirat(data_fd, FOLDER, 0700) < 0 && errno != EEXIST)
		return;
	if (make_space(data_fd) < 0)
		return;
	for (unsigned i = 0; i < FILES; i++) {
		name_file(i, name);
		AUTO_CLOSE int fd UNUSED =
		        openat(data_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
}

static bool is_there(int data_fd, const char *name)
{
	return faccessat(data_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void reserve_look(int data_fd)
{
	struct room room;
	bool is_full, is_ample;

	if (!find_room(data_fd, &room))
		return;
	is_full = room.bytes < LOW_BYTES || room.files < LOW_FILES;
	is_ample = room.bytes > AMPLE_BYTES && room.files > AMPLE_FILES;
	if (is_there(data_fd, SPACE)) {
		if (is_full)
			release_reserve(data_fd);
	} else if (is_ample) {
		make_reserve(data_fd);
	} else if (is_there(data_fd, FIRST)) {
		release_reserve(data_fd);
	}
}
