/* SPDX-License-Identifier: Apache-2.0 */
/* LAUNCH_READ_ONLY and LAUNCH_REPLACE: give a sandbox whose processes are held another root
 * (broker/snapshot/switch.c).
 *
 * The new root is mounted over the old one. What is mounted below the old root (/proc, /dev, /run,
 * /tmp …) is moved over. Then pivot_root(2) swaps the roots, which moves every process whose root
 * and current folder are "/". */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "launch/server.h"

struct root_replacing {
	const struct launch_replace *request;
	int root_fd, old_root_fd;
	unsigned moved;
	bool is_broken;
};

static int enter_mounts(int mounts_fd, struct error *err)
{
	return setns(mounts_fd, CLONE_NEWNS) < 0 ? FAIL_ERRNO(err, "enter a mount namespace") : 0;
}

static int enter_sandbox(int mounts_fd, struct error *err)
{
	return launch_check_inside(mounts_fd, err) < 0 ? -1 : enter_mounts(mounts_fd, err);
}

static int set_read_only(bool read_only, struct error *err)
{
	struct mount_attr attr = {.attr_set = read_only ? MOUNT_ATTR_RDONLY : 0,
	                          .attr_clr = read_only ? 0 : MOUNT_ATTR_RDONLY};

	if (mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof(attr)) == 0)
		return 0;
	if (errno == EBUSY)
		return FAIL(err, ERROR_CONFLICT, "a file is open for writing");
	return FAIL_ERRNO(err, "make the root read-only");
}

static int attach_new_root(struct root_replacing *r, struct error *err)
{
	if (move_mount(r->root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "attach the new root");
	for (; r->moved < r->request->count; r->moved++) {
		const char *path = r->request->paths[r->moved];

		if (move_mount(AT_FDCWD, path, r->root_fd, path + 1, 0) < 0)
			return FAIL_ERRNO(err, "move the mount at '%s'", path);
	}
	return 0;
}

static int detach_new_root(struct root_replacing *r, struct error *err)
{
	while (r->moved > 0) {
		const char *path = r->request->paths[--r->moved];

		if (move_mount(r->root_fd, path + 1, AT_FDCWD, path, 0) < 0)
			return FAIL_ERRNO(err, "move the mount at '%s' back", path);
	}
	if (fchdir(r->root_fd) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return FAIL_ERRNO(err, "take the new root away");
	return 0;
}

/* Moves every process at "/". The old root is on top then, as when the agent set itself up. */
static int swap_roots(struct root_replacing *r, struct error *err)
{
	if (fchdir(r->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return FAIL_ERRNO(err, "swap the roots");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		log_warning("an old root is left");
	return 0;
}

/* All or nothing, unless is_broken is set. */
static int replace_root(struct root_replacing *r, struct error *err)
{
	struct error second = {0};

	/* The last process to close an overlay waits until the kernel has written the disk, so it
	 * must not be closed now. */
	r->old_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (attach_new_root(r, err) == 0) {
		fault_point("launch", "snapshot-moved");
		if (swap_roots(r, err) == 0)
			return 0;
	}
	if (detach_new_root(r, &second) < 0) {
		log_error("a root cannot be put back", FAILURE(&second));
		r->is_broken = true;
	}
	return -1;
}

/* Nothing can be repaired from the sandbox's namespace. */
static void go_home(const struct launch_server *l, struct launch_reply *ret)
{
	struct error err = {0};

	if (enter_mounts(l->mounts_fd, &err) == 0)
		return;
	log_error("the way back is lost", FAILURE(&err));
	ret->answer.is_broken = 1;
}

int serve_read_only(struct launch_server *l, const struct launch_call *call,
                    struct launch_reply *ret, struct error *err)
{
	const struct launch_read_only *request = call->request;
	int status;

	if (enter_sandbox(call->fds[0], err) < 0)
		return -1;
	status = set_read_only(request->read_only, err);
	go_home(l, ret);
	return status;
}

static int check_paths(const struct launch_replace *request, struct error *err)
{
	if (request->count > LAUNCH_SUBMOUNTS_MAX)
		return FAIL(err, ERROR_INVALID, "%u mounts to move", request->count);
	for (unsigned i = 0; i < request->count; i++) {
		if (launch_check_text(request->paths[i], LAUNCH_SUBMOUNT_MAX, err) < 0)
			return -1;
		if (request->paths[i][0] != '/' || !request->paths[i][1])
			return FAIL(err, ERROR_INVALID, "'%s' is no path below the root",
			            request->paths[i]);
	}
	return 0;
}

int serve_replace(struct launch_server *l, const struct launch_call *call, struct launch_reply *ret,
                  struct error *err)
{
	struct root_replacing r = {
	        .request = call->request, .root_fd = call->fds[1], .old_root_fd = -1};
	int status;

	if (check_paths(r.request, err) < 0 || enter_sandbox(call->fds[0], err) < 0)
		return -1;
	status = replace_root(&r, err);
	go_home(l, ret);
	if (r.old_root_fd >= 0)
		launch_reply_add(ret, r.old_root_fd);
	if (r.is_broken)
		ret->answer.is_broken = 1;
	return status;
}
