/* SPDX-License-Identifier: Apache-2.0 */
/* LAUNCH_ATTACH and LAUNCH_DETACH: a volume at a path of a running sandbox.
 *
 * The process becomes root of the sandbox's user namespace in its mount namespace, and walks to the
 * path as any process inside could: one step at a time, without following a link. Code inside can
 * move that path meanwhile, and so attach the volume to another folder of its own; that is checked
 * afterwards. Nothing outside the sandbox can be reached. */
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
#include <unistd.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/fd.h"
#include "launch/server.h"

/* The agent may use files of the volume for a moment. */
#define BUSY_TRIES 20
#define BUSY_PAUSE_MS 10

/* The process becomes root of the sandbox, without power on the host. The sandbox does not see it,
 * because its pid namespace is below the host's. */
static int become_inside(int mounts_fd, struct error *err)
{
	AUTO_CLOSE int users = ioctl(mounts_fd, NS_GET_USERNS);

	if (users < 0 || setns(users, CLONE_NEWUSER) < 0 || setns(mounts_fd, CLONE_NEWNS) < 0)
		return FAIL_ERRNO(err, "enter the namespaces of a sandbox");
	if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return FAIL_ERRNO(err, "become a sandbox's root");
	(void)umask(022);
	return 0;
}

static int check_path(const struct launch_attach *a, struct error *err)
{
	if (launch_check_text(a->path, sizeof(a->path), err) < 0)
		return -1;
	return a->path[0] == '/' && a->path[1]
	               ? 0
	               : FAIL(err, ERROR_INVALID, "'%.120s' is no path below the root", a->path);
}

static int refuse_path(const struct launch_attach *a, struct error *err)
{
	if (errno != ELOOP && errno != ENOTDIR && errno != EXDEV && errno != EROFS)
		return FAIL_ERRNO(err, "open '%s' inside", a->path);
	return FAIL(err, ERROR_CONFLICT, "'%.120s' leads through a link or a file inside", a->path);
}

/* Opens the folder at the first `size` bytes of the path. `make`: makes missing folders. */
static int open_mount_point(const struct launch_attach *a, size_t size, bool make, int *ret_fd,
                            struct error *err)
{
	const struct fd_open_options folder = {.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW};
	struct span rest = {a->path + 1, size > 0 ? size - 1 : 0}, word;
	AUTO_CLOSE int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[sizeof(a->path)];

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

static bool is_attached(const struct launch_attach *a, const struct stat *volume)
{
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	return open_mount_point(a, strlen(a->path), false, &fd, &ignored) == 0 &&
	       is_same_folder(fd, volume);
}

static bool is_root_of_mount(int fd, int64_t mount)
{
	struct statx status;

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0 &&
	       (status.stx_mask & STATX_MNT_ID) && status.stx_mnt_id == (uint64_t)mount &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static int refuse_moved(const struct launch_attach *a, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE, "the volume at '%.120s' was moved inside", a->path);
	return FAIL_HINT(err, "move it back, or stop the sandbox first");
}

/* A caller repeats the request when it has not received the reply. By now the volume's folder and
 * the mount point may have other names; a second mount over or beside the first one would never be
 * found. */
static int check_attached(const struct launch_attach *a, struct error *err)
{
	struct error elsewhere = {0};
	AUTO_CLOSE int place = -1;

	if (open_mount_point(a, strlen(a->path), false, &place, &elsewhere) < 0 ||
	    !is_root_of_mount(place, a->mount))
		return refuse_moved(a, err);
	return 0;
}

static int attach_volume(const struct launch_attach *a, int volume, struct error *err)
{
	AUTO_CLOSE int place = -1;
	struct stat status;

	if (fstat(volume, &status) < 0)
		return FAIL_ERRNO(err, "look at a volume");
	if (open_mount_point(a, strlen(a->path), true, &place, err) < 0)
		return -1;
	fault_point("launch", "volume-place");
	if (move_mount(volume, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
	    0)
		return FAIL_ERRNO(err, "attach a volume at '%s'", a->path);
	fault_point("launch", "volume-attached");
	if (is_attached(a, &status))
		return 0;
	/* Code inside has moved the folder meanwhile, and the volume with it. */
	if (fchdir(volume) < 0 || umount2(".", MNT_DETACH) < 0)
		return FAIL_ERRNO(err, "take back a volume from '%s'", a->path);
	return FAIL(err, ERROR_CONFLICT, "'%.120s' was moved inside while the volume was attached",
	            a->path);
}

int serve_attach(UNUSED struct launch_server *l, const struct launch_call *call,
                 UNUSED struct launch_reply *ret, struct error *err)
{
	const struct launch_attach *a = call->request;

	if (check_path(a, err) < 0 || become_inside(call->fds[0], err) < 0)
		return -1;
	return call->fd_count == 1 ? check_attached(a, err) : attach_volume(a, call->fds[1], err);
}

static int refuse_busy(const struct launch_attach *a, struct error *err)
{
	error_set(err, ERROR_CONFLICT, EBUSY, HERE,
	          "something inside uses the volume at '%.120s': a file of it is open, or it is "
	          "the current folder of a process",
	          a->path);
	return FAIL_HINT(err,
	                 "end that first, or say force=true: what is open stays so until closed");
}

/* The mount is removed by its name in a folder that is held open: the kernel lets no process
 * rename or remove a mount point. */
static int unmount_volume(const struct launch_attach *a, int parent, const char *name,
                          struct error *err)
{
	int flags = UMOUNT_NOFOLLOW | (a->forced ? MNT_DETACH : 0);

	if (fchdir(parent) < 0)
		return FAIL_ERRNO(err, "enter the folder of '%s'", a->path);
	for (unsigned i = 0; umount2(name, flags) < 0; i++) {
		if (errno != EBUSY)
			return FAIL_ERRNO(err, "detach a volume from '%s'", a->path);
		if (i == BUSY_TRIES)
			return refuse_busy(a, err);
		(void)poll(NULL, 0, BUSY_PAUSE_MS);
	}
	fault_point("launch", "volume-detached");
	return 0;
}

static int open_parent(const struct launch_attach *a, const char *name, int *ret_fd,
                       struct error *err)
{
	const struct fd_open_options folder = {.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW};
	AUTO_CLOSE int parent = -1, fd = -1;

	if (open_mount_point(a, (size_t)(name - a->path) - 1, false, &parent, err) < 0 ||
	    fd_open_beneath(parent, name, &folder, &fd, err) < 0)
		return -1;
	if (!is_root_of_mount(fd, a->mount))
		return FAIL(err, ERROR_CONFLICT, "something else is at '%s'", a->path);
	*ret_fd = TAKE_FD(parent);
	return 0;
}

int serve_detach(UNUSED struct launch_server *l, const struct launch_call *call,
                 UNUSED struct launch_reply *ret, struct error *err)
{
	const struct launch_attach *a = call->request;
	struct error elsewhere = {0};
	AUTO_CLOSE int parent = -1;
	const char *name;

	if (check_path(a, err) < 0 || become_inside(call->fds[0], err) < 0)
		return -1;
	name = strrchr(a->path, '/') + 1;
	if (open_parent(a, name, &parent, &elsewhere) < 0)
		return refuse_moved(a, err);
	return unmount_volume(a, parent, name, err);
}
