/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/isolation.h"

static int set_attributes(int fd, const struct layer_options *options, struct error *err)
{
	struct mount_attr attr = {.attr_set = options->attributes};
	unsigned flags = AT_EMPTY_PATH | (options->recursive ? AT_RECURSIVE : 0);

	if (options->map_fd >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)options->map_fd;
	}
	if (attr.attr_set && mount_setattr(fd, "", flags, &attr, sizeof(attr)) < 0)
		return FAIL_ERRNO(err, "set the attributes of a mount%s",
		                  options->map_fd >= 0 ? " with mapped ids" : "");
	return 0;
}

int layer_open(int folder, const char *path, const struct layer_options *options, int *ret_fd,
               struct error *err)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW |
	                 (options->recursive ? AT_RECURSIVE : 0);
	AUTO_CLOSE int fd = open_tree(folder, path, flags);

	if (fd < 0)
		return FAIL_ERRNO(err, "clone the mount of '%s'", path);
	if (set_attributes(fd, options, err) < 0)
		return FAIL_CONTEXT(err, "'%s'", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* One "key=value" or "flag" of a comma list. */
static int set_option(int fs, char *option, struct error *err)
{
	char *value = strchr(option, '=');

	if (value)
		*value++ = '\0';
	if (fsconfig(fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, option, value, 0) < 0)
		return FAIL_ERRNO(err, "set the mount option '%s'", option);
	return 0;
}

static int set_options(int fs, const char *options, struct error *err)
{
	char copy[512], *rest = copy, *option;

	if (strlen(options) >= sizeof(copy))
		return FAIL(err, ERROR_INVALID, "mount options are longer than %zu bytes",
		            sizeof(copy) - 1);
	(void)snprintf(copy, sizeof(copy), "%s", options);
	while ((option = strsep(&rest, ",")))
		if (*option && set_option(fs, option, err) < 0)
			return -1;
	return 0;
}

int layer_make(const char *type, const char *options, uint64_t attributes, int *ret_fd,
               struct error *err)
{
	AUTO_CLOSE int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return FAIL_ERRNO(err, "open the filesystem '%s'", type);
	if (set_options(fs, options, err) < 0)
		return -1;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return FAIL_ERRNO(err, "make the filesystem '%s'", type);
	fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (fd < 0)
		return FAIL_ERRNO(err, "mount the filesystem '%s'", type);
	*ret_fd = fd;
	return 0;
}

int layer_set(int fd, const struct layer_options *options, struct error *err)
{
	return set_attributes(fd, options, err);
}

/* Overlayfs takes paths; any mount has one below /proc/self/fd. No device node works on it,
 * whatever a template brings. Options that would trust the upper layer's own marks stay off. */
static int make_overlay(int lower, int upper, int *ret_fd, struct error *err)
{
	char options[256];

	(void)snprintf(options, sizeof(options),
	               "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d/upper,"
	               "workdir=/proc/self/fd/%d/work,redirect_dir=off,metacopy=off,index=off",
	               lower, upper, upper);
	return layer_make("overlay", options, MOUNT_ATTR_NODEV, ret_fd, err);
}

/* Several processes may do this at once: the name is the process's. */
static int place(int mount, int scratch, const char *what, char path[64], struct error *err)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%s.%d", what, getpid());
	(void)snprintf(path, 64, "/proc/self/fd/%d/%s", scratch, name);
	if (mkdirat(scratch, name, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make '%s'", name);
	if (move_mount(mount, "", scratch, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "place a mount at '%s'", name);
	return 0;
}

static void unplace(const char *path)
{
	(void)umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	(void)rmdir(path);
}

int layer_overlay_placed(int lower, int upper, int scratch, int *ret_fd, struct error *err)
{
	char lower_path[64], upper_path[64];
	int status;

	if (place(lower, scratch, "lower", lower_path, err) < 0)
		return -1;
	status = place(upper, scratch, "upper", upper_path, err);
	if (status == 0) {
		status = make_overlay(lower, upper, ret_fd, err);
		unplace(upper_path);
	}
	unplace(lower_path);
	return status;
}

int layer_overlay(int lower, int upper, int scratch, int *ret_fd, struct error *err)
{
	if (make_overlay(lower, upper, ret_fd, err) == 0)
		return 0;
	if (err->sys_errno != EINVAL)
		return -1;
	error_clear(err);
	return layer_overlay_placed(lower, upper, scratch, ret_fd, err);
}
