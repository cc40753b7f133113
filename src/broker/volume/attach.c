/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "broker/host/host.h"
#include "broker/host/mountinfo.h"
#include "broker/volume/volume.h"

/* The agent may use files of the volume for a moment. */
#define BUSY_TRIES 20
#define BUSY_PAUSE_MS 10

/* ---- as the host's root ---- */

static int open_volume(const struct host *host, const struct attachment *a, int *ret_fd,
                       struct error *err)
{
	AUTO_CLOSE int map = -1;

	if (id_map_open(a->slot, &map, err) < 0)
		return -1;
	return volume_open(host, &a->mount, map, ret_fd, err);
}

/* The process becomes root of the sandbox, without power on the host. The sandbox does not see it,
 * because its pid namespace is below the host's. */
static int become_inside(const struct attachment *a, struct error *err)
{
	AUTO_CLOSE int users = ioctl(a->mounts_fd, NS_GET_USERNS);

	if (users < 0 || setns(users, CLONE_NEWUSER) < 0 || setns(a->mounts_fd, CLONE_NEWNS) < 0)
		return FAIL_ERRNO(err, "enter the namespaces of a sandbox");
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return FAIL_ERRNO(err, "become a sandbox's root");
	(void)umask(022);
	return 0;
}

/* ---- as the sandbox's root ---- */

static int refuse_path(const struct attachment *a, struct error *err)
{
	if (errno != ELOOP && errno != ENOTDIR && errno != EXDEV && errno != EROFS)
		return FAIL_ERRNO(err, "open '%s' inside", a->mount.path);
	return FAIL(err, ERROR_CONFLICT, "'%.120s' leads through a link or a file inside",
	            a->mount.path);
}

/* Opens the folder at the first `size` bytes of the path. `make`: makes missing folders. */
static int open_mount_point(const struct attachment *a, size_t size, bool make, int *ret_fd,
                            struct error *err)
{
	const struct fd_open_options folder = {.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW,
	                                       .follow = FD_NO_SYMLINKS};
	struct span rest = {a->mount.path + 1, size > 0 ? size - 1 : 0}, word;
	AUTO_CLOSE int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[SANDBOX_MOUNT_PATH_MAX + 1];

	if (fd < 0)
		return FAIL_ERRNO(err, "open the root of a sandbox");
	while (rest.size > 0) {
		struct error failure = {0};
		int next;

		(void)span_split(&rest, '/', &word);
		(void)snprintf(name, sizeof(name), "%.*s", (int)word.size, word.data);
		if (make && mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
			return refuse_path(a, err);
		if (fd_open_beneath(fd, name, &folder, &next, &failure) < 0) {
			errno = failure.sys_errno;
			return refuse_path(a, err);
		}
		(void)close(fd);
		fd = next;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static bool is_same_folder(int fd, const struct stat *volume)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_dev == volume->st_dev &&
	       status.st_ino == volume->st_ino;
}

static bool is_attached(const struct attachment *a, const struct stat *volume)
{
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	return open_mount_point(a, strlen(a->mount.path), false, &fd, &ignored) == 0 &&
	       is_same_folder(fd, volume);
}

/* ---- where it is ---- */

#define NOWHERE (-1)

struct attached_volume {
	int64_t mount;
	bool is_read_only, is_whole; /* no folder of it */
};

/* A sandbox has a volume once and mounts nothing itself, so the volume identifies its mount,
 * whatever the mounted folder is called by now. An image is mounted once more as a whole, so that
 * nothing is made in it; that does not hold the existing mount. */
static int find_volume_folder(const struct host *host, const struct attachment *a, int *ret_image,
                              struct mount_folder *ret, struct error *err)
{
	const struct volume_backing *backing;
	struct attachment whole = *a;
	AUTO_CLOSE int files = -1;
	char path[ID_SIZE + 16];
	struct stat status;

	if (volume_backing_find(host, a->mount.id, &backing, err) < 0)
		return -1;
	if (backing->opens_slowly) {
		whole.mount.subpath[0] = '\0';
		if (open_volume(host, &whole, ret_image, err) < 0)
			return -1;
		if (fstat(*ret_image, &status) < 0)
			return FAIL_ERRNO(err, "look at a volume");
		(void)snprintf(ret->device, sizeof(ret->device), "%u:%u", major(status.st_dev),
		               minor(status.st_dev));
		return 0;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", a->mount.id, backing->content);
	files = openat(host->folders[FOLDER_VOLUMES], path,
	               O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (files < 0)
		return FAIL_ERRNO(err, "open volume '%s'", a->mount.id);
	return mount_folder_of(files, ret, err);
}

/* *ret_image: the whole image, as it would be attached; -1 for a volume in a folder. */
static int find_attached(const struct host *host, const struct attachment *a, int *ret_image,
                         struct attached_volume *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(MOUNTINFO_MAX);
	AUTO(mount_folder_done) struct mount_folder place;
	struct mount_row row;
	struct span rest;

	mount_folder_init(&place);
	if (find_volume_folder(host, a, ret_image, &place, err) < 0 ||
	    mountinfo_read(a->pid, &text, err) < 0)
		return -1;
	*ret = (struct attached_volume){.mount = NOWHERE};
	rest = buf_span(&text);
	while (mountinfo_next(&rest, &row)) {
		if (!mount_folder_has(&place, &row))
			continue;
		*ret = (struct attached_volume){row.id, row.is_read_only,
		                                mount_folder_is(&place, &row)};
		break;
	}
	return 0;
}

static bool is_root_of_mount(int fd, int64_t mount)
{
	struct statx status;

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0 &&
	       (status.stx_mask & STATX_MNT_ID) && status.stx_mnt_id == (uint64_t)mount &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int refuse_moved(const struct attachment *a, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE, "the volume at '%.120s' was moved inside",
	          a->mount.path);
	return FAIL_HINT(err, "move it back, or stop the sandbox first");
}

/* ---- in ---- */

/* A caller repeats the request when it has not received the reply. By now the volume's folder and
 * the mount point may have other names; a second mount over or beside the first one would never be
 * found. */
static int check_attached(const struct attachment *a, const struct attached_volume *there,
                          struct error *err)
{
	AUTO_CLOSE int place = -1;
	struct error elsewhere = {0};

	if (open_mount_point(a, strlen(a->mount.path), false, &place, &elsewhere) < 0 ||
	    !is_root_of_mount(place, there->mount))
		return refuse_moved(a, err);
	if (there->is_read_only == a->mount.is_read_only && there->is_whole == !a->mount.subpath[0])
		return 0;
	error_set(err, ERROR_CONFLICT, 0, HERE, "the volume is at '%.120s' already, %s%s",
	          a->mount.path, there->is_whole ? "the whole of it" : "a folder of it",
	          there->is_read_only ? ", read-only" : "");
	return FAIL_HINT(err, "detach it first");
}

int attach_volume(const struct host *host, const struct attachment *a, struct error *err)
{
	AUTO_CLOSE int whole = -1, volume = -1, place = -1;
	struct attached_volume there;
	struct stat status;

	if (find_attached(host, a, &whole, &there, err) < 0)
		return -1;
	if (there.mount != NOWHERE)
		return become_inside(a, err) < 0 ? -1 : check_attached(a, &there, err);
	/* After the check above, because this makes a missing folder of the volume. */
	if (whole >= 0 && !a->mount.subpath[0])
		volume = TAKE_FD(whole);
	if (volume < 0 && open_volume(host, a, &volume, err) < 0)
		return -1;
	if (fstat(volume, &status) < 0)
		return FAIL_ERRNO(err, "look at a volume");
	if (become_inside(a, err) < 0 ||
	    open_mount_point(a, strlen(a->mount.path), true, &place, err) < 0)
		return -1;
	fault_point("broker", "volume-place");
	if (move_mount(volume, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
	    0)
		return FAIL_ERRNO(err, "attach a volume at '%s'", a->mount.path);
	fault_point("broker", "volume-attached");
	if (is_attached(a, &status))
		return 0;
	/* Code inside has moved the folder meanwhile, and the volume with it. */
	if (fchdir(volume) < 0 || umount2(".", MNT_DETACH) < 0)
		return FAIL_ERRNO(err, "take back a volume from '%s'", a->mount.path);
	return FAIL(err, ERROR_CONFLICT, "'%.120s' was moved inside while the volume was attached",
	            a->mount.path);
}

/* ---- out ---- */

static int refuse_busy(const struct attachment *a, struct error *err)
{
	error_set(err, ERROR_CONFLICT, EBUSY, HERE,
	          "something inside uses the volume at '%.120s': a file of it is open, or it is "
	          "somebody's current folder",
	          a->mount.path);
	return FAIL_HINT(err,
	                 "end that first, or say force=true: what is open stays so until closed");
}

/* The mount is removed by its name in a folder that is held open: the kernel lets no process
 * rename or remove a mount point. */
static int unmount_volume(const struct attachment *a, int parent, const char *name,
                          struct error *err)
{
	int flags = UMOUNT_NOFOLLOW | (a->forced ? MNT_DETACH : 0);

	if (fchdir(parent) < 0)
		return FAIL_ERRNO(err, "enter the folder of '%s'", a->mount.path);
	for (unsigned i = 0; umount2(name, flags) < 0; i++) {
		if (errno != EBUSY)
			return FAIL_ERRNO(err, "detach a volume from '%s'", a->mount.path);
		if (i == BUSY_TRIES)
			return refuse_busy(a, err);
		(void)poll(NULL, 0, BUSY_PAUSE_MS);
	}
	fault_point("broker", "volume-detached");
	return 0;
}

static int open_parent(const struct attachment *a, const char *name, int64_t mount, int *ret_fd,
                       struct error *err)
{
	const struct fd_open_options folder = {.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW,
	                                       .follow = FD_NO_SYMLINKS};
	AUTO_CLOSE int parent = -1, fd = -1;

	if (open_mount_point(a, (size_t)(name - a->mount.path) - 1, false, &parent, err) < 0 ||
	    fd_open_beneath(parent, name, &folder, &fd, err) < 0)
		return -1;
	if (!is_root_of_mount(fd, mount))
		return FAIL(err, ERROR_CONFLICT, "something else is at '%s'", a->mount.path);
	*ret_fd = TAKE_FD(parent);
	return 0;
}

int detach_volume(const struct host *host, const struct attachment *a, struct error *err)
{
	const char *name = strrchr(a->mount.path, '/') + 1;
	AUTO_CLOSE int image = -1, parent = -1;
	struct error elsewhere = {0};
	struct attached_volume there;

	if (find_attached(host, a, &image, &there, err) < 0)
		return -1;
	if (there.mount == NOWHERE)
		return 0;
	if (become_inside(a, err) < 0)
		return -1;
	if (open_parent(a, name, there.mount, &parent, &elsewhere) < 0)
		return refuse_moved(a, err);
	return unmount_volume(a, parent, name, err);
}
