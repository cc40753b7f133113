/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/confine.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/layer.h"

/* Where the process is while it makes a view, and was before. */
struct view_maker {
	int home, folder; /* the namespace and the working folder of before */
	int view;
};

static void leave_view(struct view_maker *m, int *status, struct error *err)
{
	if (m->view >= 0 && (setns(m->home, CLONE_NEWNS) < 0 || fchdir(m->folder) < 0))
		*status = FAIL_ERRNO(err, "leave a view");
	if (*status < 0)
		auto_close(&m->view);
	auto_close(&m->home);
	auto_close(&m->folder);
}

/* No mount or unmount in a view may reach the host. */
static int begin_view(struct view_maker *m, struct error *err)
{
	*m = (struct view_maker){.home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
	                         .folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
	                         .view = -1};
	if (m->home < 0 || m->folder < 0 || unshare(CLONE_NEWNS) < 0)
		return FAIL_ERRNO(err, "make a mount namespace");
	m->view = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (m->view < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return FAIL_ERRNO(err, "keep a view apart");
	return 0;
}

static int become_root(int tree, const char *path, struct error *err)
{
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 || chdir(path) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		return FAIL_ERRNO(err, "make '%s' the root", path);
	return 0;
}

int view_of_folder(int folder, const char *path, int *ret_fd, struct error *err)
{
	const struct layer_options options = {.attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
	                                                    MOUNT_ATTR_NOEXEC,
	                                      .map_fd = -1};
	AUTO_CLOSE int tree = -1;
	struct view_maker m;
	int status;

	if (layer_open(folder, "", &options, &tree, err) < 0)
		return -1;
	status = begin_view(&m, err) < 0 ? -1 : become_root(tree, path, err);
	leave_view(&m, &status, err);
	if (status == 0)
		*ret_fd = m.view;
	return status;
}

static int refuse_writing(struct error *err)
{
	const struct layer_options options = {.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
	                                      .map_fd = -1,
	                                      .recursive = true};
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? FAIL_ERRNO(err, "open '/'") : layer_set(root, &options, err);
}

int view_of_host(int *ret_fd, struct error *err)
{
	struct view_maker m;
	int status = begin_view(&m, err) < 0 ? -1 : refuse_writing(err);

	leave_view(&m, &status, err);
	if (status == 0)
		*ret_fd = m.view;
	return status;
}

int view_enter(int view, struct error *err)
{
	return setns(view, CLONE_NEWNS) < 0 ? FAIL_ERRNO(err, "enter a view") : 0;
}

/* What is not in the bounding set is gone with execve. */
int confine_bounding_set(uint64_t kept, struct error *err)
{
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(kept >> i & 1) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return FAIL_ERRNO(err, "drop capability %d", i);
	return 0;
}

int confine_capabilities(uint64_t kept, struct error *err)
{
	if (confine_bounding_set(kept, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return FAIL_ERRNO(err, "set no_new_privs");
	return 0;
}
