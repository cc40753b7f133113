/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static int mount_fs(int fs, const char *type, unsigned attributes, int *ret_fd, struct error *err)
{
	int fd;

	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return FAIL_ERRNO(err, "make the filesystem '%s'", type);
	fd = fsmount(fs, FSMOUNT_CLOEXEC, attributes);
	if (fd < 0)
		return FAIL_ERRNO(err, "mount the filesystem '%s'", type);
	*ret_fd = fd;
	return 0;
}

int layer_make(const char *type, const char *options, uint64_t attributes, int *ret_fd,
               struct error *err)
{
	AUTO_CLOSE int fs = fsopen(type, FSOPEN_CLOEXEC);

	if (fs < 0)
		return FAIL_ERRNO(err, "open the filesystem '%s'", type);
	if (set_options(fs, options, err) < 0)
		return -1;
	return mount_fs(fs, type, (unsigned)attributes, ret_fd, err);
}

int layer_set(int fd, const struct layer_options *options, struct error *err)
{
	return set_attributes(fd, options, err);
}

/* Overlayfs takes paths; any mount has a path below /proc/self/fd. No device node of a template
 * works on this mount. Options that trust marks in the upper layer stay off. */
static int set_upper(int fs, int upper, struct error *err)
{
	char options[160];

	(void)snprintf(options, sizeof(options),
	               "upperdir=/proc/self/fd/%d/upper,workdir=/proc/self/fd/%d/work", upper,
	               upper);
	if (upper >= 0 && set_options(fs, options, err) < 0)
		return -1;
	return set_options(fs, "redirect_dir=off,metacopy=off,index=off", err);
}

/* A value has 255 bytes at most, which is about a dozen layers. */
static int set_lowers_at_once(int fs, const struct overlay_options *o, struct error *err)
{
	char option[256] = "lowerdir=";
	size_t size = strlen(option);

	for (unsigned i = 0; i < o->lower_count; i++) {
		int more = snprintf(option + size, sizeof(option) - size, "%s/proc/self/fd/%d",
		                    i > 0 ? ":" : "", o->lowers[i]);

		size += (size_t)more;
		if (size >= sizeof(option))
			return FAIL(err, ERROR_UNSUPPORTED,
			            "an overlay of %u layers needs Linux 6.7", o->lower_count);
	}
	return set_option(fs, option, err);
}

/* Since Linux 6.7. */
static int append_lower(int fs, int lower, struct error *err)
{
	char option[64];

	(void)snprintf(option, sizeof(option), "lowerdir+=/proc/self/fd/%d", lower);
	return set_option(fs, option, err);
}

static int set_lowers(int fs, const struct overlay_options *o, struct error *err)
{
	if (o->lower_count == 1 || append_lower(fs, o->lowers[0], err) < 0) {
		error_clear(err);
		return set_lowers_at_once(fs, o, err);
	}
	for (unsigned i = 1; i < o->lower_count; i++)
		if (append_lower(fs, o->lowers[i], err) < 0)
			return -1;
	return 0;
}

static int make_overlay(const struct overlay_options *o, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0)
		return FAIL_ERRNO(err, "open the filesystem 'overlay'");
	if (set_lowers(fs, o, err) < 0 || set_upper(fs, o->upper, err) < 0)
		return -1;
	return mount_fs(fs, "overlay", MOUNT_ATTR_NODEV, ret_fd, err);
}

/* Several processes may do this at once, so the name contains the process's number. */
static void place_path(char path[64], int scratch, unsigned number)
{
	(void)snprintf(path, 64, "/proc/self/fd/%d/%d.%u", scratch, getpid(), number);
}

static int place_layer(int mount, int scratch, unsigned number, struct error *err)
{
	char path[64];

	place_path(path, scratch, number);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make a place for layer %u", number);
	if (move_mount(mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "place layer %u", number);
	return 0;
}

static void remove_placed_layer(int scratch, unsigned number)
{
	char path[64];

	place_path(path, scratch, number);
	(void)umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
	(void)rmdir(path);
}

int layer_overlay_placed(const struct overlay_options *options, int *ret_fd, struct error *err)
{
	unsigned placed = 0;
	int status = 0;

	while (status == 0 && placed < options->lower_count) {
		status = place_layer(options->lowers[placed], options->scratch, placed, err);
		placed++;
	}
	if (status == 0 && options->upper >= 0)
		status = place_layer(options->upper, options->scratch, placed++, err);
	if (status == 0)
		status = make_overlay(options, ret_fd, err);
	while (placed > 0)
		remove_placed_layer(options->scratch, --placed);
	return status;
}

int layer_overlay(const struct overlay_options *options, int *ret_fd, struct error *err)
{
	if (options->lower_count == 0 || options->lower_count > OVERLAY_LOWERS_MAX)
		return FAIL(err, ERROR_LIMIT, "an overlay of %u layers: 1 to %d are possible",
		            options->lower_count, OVERLAY_LOWERS_MAX);
	if (make_overlay(options, ret_fd, err) == 0)
		return 0;
	if (err->sys_errno != EINVAL)
		return -1;
	error_clear(err);
	return layer_overlay_placed(options, ret_fd, err);
}
