/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/spread.h"

#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

/* "vda1"; false for a filesystem that is on no block device. */
static bool find_device_name(int sys, dev_t device, char *name, size_t size)
{
	char path[64], target[256];
	const char *last;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "dev/block/%u:%u", major(device), minor(device));
	length = readlinkat(sys, path, target, sizeof(target) - 1);
	if (length <= 0)
		return false;
	target[length] = '\0';
	last = strrchr(target, '/');
	return snprintf(name, size, "%s", last ? last + 1 : target) < (int)size;
}

bool spread_is_due(int sys, dev_t device)
{
	AUTO(buf_done) struct buf task = BUF(64);
	struct error ignored = {0};
	char name[64], path[128];

	if (!find_device_name(sys, device, name, sizeof(name)))
		return false;
	(void)snprintf(path, sizeof(path), "fs/ext4/%s/journal_task", name);
	/* The process that writes the journal. */
	return file_read(sys, path, &task, &ignored) == 0 &&
	       strcmp(buf_text(&task), "<none>\n") == 0;
}

int spread_folder(int folder, struct error *err)
{
	int flags;

	if (ioctl(folder, FS_IOC_GETFLAGS, &flags) < 0)
		return FAIL_ERRNO(err, "read the flags of a folder");
	flags |= FS_TOPDIR_FL;
	if (ioctl(folder, FS_IOC_SETFLAGS, &flags) < 0)
		return FAIL_ERRNO(err, "set the flags of a folder");
	return 0;
}
