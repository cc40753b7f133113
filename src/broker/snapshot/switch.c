/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a sandbox whose processes are held another root. The kernel does not change the layers of a
 * mounted overlay. So a second overlay with the new layers is mounted over the first. What is
 * mounted below the first (/proc, /dev, /run, /tmp …) is moved over. Then pivot_root(2) swaps them,
 * which moves every process whose root and current folder are "/". A process that uses anything
 * else of the first overlay, such as an open file, would go on using it; users.c looks for that.
 * The snapshot's layer does not depend on that check: the first overlay is made read-only, which
 * the kernel refuses while a file is open for writing. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/host/mountinfo.h"
#include "broker/layers/root.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/snapshot_mark.h"
#include "broker/snapshot/snapshot.h"
#include "broker/snapshot/task.h"

#define SUBMOUNTS_MAX 64
#define SUBMOUNT_PATH_MAX 256

struct switching {
	struct snapshot_task *task;
	const struct snapshot_maps *maps;
	const struct host *host;
	int run_folder, root_fd;
	uint64_t root_mount;
	unsigned count, moved;
	char paths[SUBMOUNTS_MAX][SUBMOUNT_PATH_MAX]; /* of what is mounted on the first root */
};

/* ---- what is mounted ---- */

static int add_mount(struct switching *s, struct span path, struct error *err)
{
	if (s->count == SUBMOUNTS_MAX || path.size >= SUBMOUNT_PATH_MAX || path.size < 2 ||
	    memchr(path.data, '\\', path.size))
		return FAIL(err, ERROR_CONFLICT, "a mount at '%.*s' cannot be moved",
		            (int)path.size, path.data);
	memcpy(s->paths[s->count], path.data, path.size);
	s->paths[s->count++][path.size] = '\0';
	return 0;
}

static int list_mounts(struct switching *s, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(MOUNTINFO_MAX);
	struct mount_row row;
	struct span rest;

	if (mountinfo_read(s->task->sandbox->pid, &text, err) < 0)
		return -1;
	rest = buf_span(&text);
	while (mountinfo_next(&rest, &row)) {
		if ((uint64_t)row.parent == s->root_mount && add_mount(s, row.point, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- steps ---- */

static int enter_mounts(int mounts_fd, struct error *err)
{
	return setns(mounts_fd, CLONE_NEWNS) < 0 ? FAIL_ERRNO(err, "enter a mount namespace") : 0;
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

static int write_mark(const struct switching *s, const char *text, struct error *err)
{
	static const char next[] = SNAPSHOT_MARK ".next";

	if (symlinkat(text, s->run_folder, next) < 0 ||
	    renameat(s->run_folder, next, s->run_folder, SNAPSHOT_MARK) < 0)
		return FAIL_ERRNO(err, "mark the snapshot");
	return 0;
}

/* The child is about to exit. */
static void leave_open(UNUSED void *context, UNUSED int fd)
{
}

static int open_new_root(struct switching *s, struct error *err)
{
	const struct root_options options = {
	        .template_name = s->task->sandbox->template_name,
	        .stack = &s->task->stack,
	        .upper_fd = s->host->folders[FOLDER_SANDBOXES],
	        .upper_name = s->task->sandbox_id,
	        .ids_fd = s->maps->ids_fd,
	        .stored_fd = s->maps->stored_fd,
	        .let_go = leave_open,
	};

	return host_root_open(s->host, &options, &s->root_fd, err);
}

static int attach_new_root(struct switching *s, struct error *err)
{
	if (move_mount(s->root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "attach the new root");
	for (; s->moved < s->count; s->moved++) {
		const char *path = s->paths[s->moved];

		if (move_mount(AT_FDCWD, path, s->root_fd, path + 1, 0) < 0)
			return FAIL_ERRNO(err, "move the mount at '%s'", path);
	}
	return 0;
}

static int detach_new_root(struct switching *s, struct error *err)
{
	while (s->moved > 0) {
		const char *path = s->paths[--s->moved];

		if (move_mount(s->root_fd, path + 1, AT_FDCWD, path, 0) < 0)
			return FAIL_ERRNO(err, "move the mount at '%s' back", path);
	}
	if (fchdir(s->root_fd) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return FAIL_ERRNO(err, "take the new root away");
	return 0;
}

/* Moves every process at "/". The old root is on top then, as when the agent set itself up. */
static int swap_roots(struct switching *s, struct error *err)
{
	if (fchdir(s->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return FAIL_ERRNO(err, "swap the roots");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		log_warning("an old root is left", TEXT("sandbox", s->task->sandbox_id));
	return 0;
}

/* Runs in the sandbox's mount namespace. All or nothing, unless is_broken is set. */
static int replace_root(struct switching *s, struct error *err)
{
	struct error second = {0};

	/* The last process to close an overlay waits until the kernel has written the disk, so it
	 * must not be closed now. */
	s->task->old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (attach_new_root(s, err) == 0) {
		fault_point("broker", "snapshot-moved");
		if (swap_roots(s, err) == 0)
			return 0;
	}
	if (detach_new_root(s, &second) < 0) {
		log_error("a root cannot be put back", FAILURE(&second));
		s->task->is_broken = true;
	}
	return -1;
}

static int run_in_sandbox(struct switching *s, int (*act)(struct switching *s, struct error *err),
                          struct error *err)
{
	struct error second = {0};
	int status;

	if (enter_mounts(s->task->sandbox->mounts_fd, err) < 0)
		return -1;
	status = act(s, err);
	if (enter_mounts(s->maps->home_fd, &second) == 0)
		return status;
	/* Nothing can be repaired from the sandbox's namespace. */
	log_error("the way back is lost", FAILURE(&second));
	s->task->is_broken = true;
	return status;
}

static int close_root(UNUSED struct switching *s, struct error *err)
{
	return set_read_only(true, err);
}

static int reopen_root(UNUSED struct switching *s, struct error *err)
{
	return set_read_only(false, err);
}

static int switch_root(struct switching *s, struct error *err)
{
	struct error second = {0};
	bool is_swapped;

	if (run_in_sandbox(s, close_root, err) < 0)
		return -1;
	fault_point("broker", "snapshot-closed");
	is_swapped = snapshot_swap(s->task, err) == 0;
	fault_point("broker", "snapshot-swapped");
	if (is_swapped && open_new_root(s, err) == 0 && run_in_sandbox(s, replace_root, err) == 0)
		return 0;
	if (s->task->is_broken)
		return -1;
	if ((is_swapped && snapshot_swap(s->task, &second) < 0) ||
	    run_in_sandbox(s, reopen_root, &second) < 0) {
		log_error("layers cannot be put back", FAILURE(&second));
		s->task->is_broken = true;
	}
	return -1;
}

int snapshot_switch(struct snapshot_task *task, const struct snapshot_maps *maps, int run_folder,
                    struct error *err)
{
	struct switching s = {.task = task,
	                      .maps = maps,
	                      .host = task->owner->host,
	                      .run_folder = run_folder,
	                      .root_fd = -1};
	struct task_result users;
	struct error second = {0};
	int status;

	if (!*task->sandbox->template_name)
		return FAIL(err, ERROR_CONFLICT, "an older version of the broker started it");
	if (task_ask(&task->users, &users, err) < 0)
		return -1;
	s.root_mount = users.root_mount;
	if (list_mounts(&s, err) < 0 || write_mark(&s, SNAPSHOT_SWITCHING, err) < 0)
		return -1;
	status = switch_root(&s, err);
	if (!task->is_broken &&
	    write_mark(&s, task->sandbox->paused ? SNAPSHOT_PAUSED : SNAPSHOT_FROZEN, &second) < 0)
		log_error("a snapshot is marked wrongly", FAILURE(&second));
	fd_forget(&s.root_fd);
	return status;
}
