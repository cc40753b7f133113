/* SPDX-License-Identifier: Apache-2.0 */
#include "image/jail.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETUP_FAILED 125 /* exit status, as of env(1) */

static const int kept_capabilities[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                                        CAP_SETFCAP};

static bool is_kept(int capability)
{
	for (size_t i = 0; i < COUNT_OF(kept_capabilities); i++)
		if (kept_capabilities[i] == capability)
			return true;
	return false;
}

/* Drops capabilities from the bounding set, which limits programs after an exec, and from the held
 * sets, which limit work without an exec. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct kept[2] = {{0}};

	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!is_kept(i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return -1;
	for (size_t i = 0; i < COUNT_OF(kept_capabilities); i++) {
		unsigned capability = (unsigned)kept_capabilities[i];
		kept[capability / 32].effective |= 1u << capability % 32;
		kept[capability / 32].permitted |= 1u << capability % 32;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &head, kept);
}

/* Makes everything read-only except the folder, if it is writable, by a mount of its own. */
static int seal_mounts(bool has_own_folder)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
	struct mount_attr read_write = {.attr_set = MOUNT_ATTR_NODEV,
	                                .attr_clr = MOUNT_ATTR_RDONLY};

	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof(read_only)) < 0)
		return -1;
	if (!has_own_folder)
		return 0;
	return mount_setattr(AT_FDCWD, JAIL_FOLDER, 0, &read_write, sizeof(read_write));
}

static int place_folder(int tree_fd)
{
	if (move_mount(tree_fd, "", AT_FDCWD, JAIL_FOLDER, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	/* Mounts in the copy must not appear in the original folder. */
	if (mount(NULL, JAIL_FOLDER, NULL, MS_PRIVATE, NULL) < 0)
		return -1;
	return chdir(JAIL_FOLDER);
}

/* Moves the descriptors to their numbers and closes all others. A wanted number may be in use by
 * another of them, so all are moved away first. */
static int place_descriptors(const struct jail *jail, int read_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int output_fd = fcntl(jail->output_fd, F_DUPFD_CLOEXEC, 10);
	int source_fd = jail->source_fd < 0 ? -1 : fcntl(jail->source_fd, F_DUPFD_CLOEXEC, 10);
	int folder_fd = read_fd < 0 ? -1 : fcntl(read_fd, F_DUPFD_CLOEXEC, 10);

	if (null_fd < 0 || output_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
	    dup2(output_fd, STDOUT_FILENO) < 0 || dup2(output_fd, STDERR_FILENO) < 0)
		return -1;
	if (jail->source_fd < 0)
		return close_range(JAIL_SOURCE_FD, ~0U, 0);
	if (source_fd < 0 || dup2(source_fd, JAIL_SOURCE_FD) < 0)
		return -1;
	if (read_fd < 0)
		return close_range(JAIL_READ_FD, ~0U, 0);
	if (folder_fd < 0 || dup2(folder_fd, JAIL_READ_FD) < 0)
		return -1;
	return close_range(JAIL_READ_FD + 1, ~0U, 0);
}

static int set_up_jail(const struct jail *jail, int tree_fd, int read_fd)
{
	if (dup2(jail->output_fd, STDERR_FILENO) < 0 ||
	    (jail->network_fd > 0 && setns(jail->network_fd, CLONE_NEWNET) < 0) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (tree_fd >= 0 && place_folder(tree_fd) < 0)
		return -1;
	if (place_descriptors(jail, read_fd) < 0)
		return -1;
	/* /proc of the new pid namespace: /dev/fd leads through it. */
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -1;
	if (!jail->strict)
		return 0;
	return seal_mounts(tree_fd >= 0 && !jail->read_only) < 0 ? -1 : drop_capabilities();
}

/* Process 1 of the namespace only reaps children, because programs do not expect to be process 1.
 * */
static int reap_until(pid_t main_pid)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno != EINTR)
			return SETUP_FAILED;
		if (pid == main_pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

static int run_inside(const struct jail *jail, int tree_fd, int read_fd)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || set_up_jail(jail, tree_fd, read_fd) < 0) {
		fprintf(stderr, "error: set up the jail: %s\n", strerror(errno));
		return SETUP_FAILED;
	}
	pid_t pid = fork();
	if (pid < 0)
		return SETUP_FAILED;
	if (pid == 0)
		_exit(jail->run(jail->context));
	return reap_until(pid);
}

/* A detached read-only mount of the folder, without the mounts below it. */
static int open_read_only(int folder_fd, int *ret_fd, struct error *err)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV |
	                                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC};
	AUTO_CLOSE int fd =
	        open_tree(folder_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
		return FAIL_ERRNO(err, "make a read-only mount of a folder");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int jail_start(const struct jail *jail, pid_t *ret_pid, struct error *err)
{
	struct clone_args args = {
	        .flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC,
	        .exit_signal = SIGCHLD,
	};

	AUTO_CLOSE int tree_fd = -1, read_fd = -1;

	/* Opened before the clone: afterwards the descriptor would lead into another mount
	 * namespace. */
	if (jail->folder_fd >= 0) {
		tree_fd = open_tree(jail->folder_fd, "",
		                    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
		if (tree_fd < 0)
			return FAIL_ERRNO(err, "make a mount for the builder");
	}
	if (jail->read_fd > 0 && open_read_only(jail->read_fd, &read_fd, err) < 0)
		return -1;
	if (!jail->network && jail->network_fd <= 0)
		args.flags |= CLONE_NEWNET;
	/* As fork(2), with new namespaces: this program has one thread. */
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return FAIL_ERRNO(err, "make namespaces for the builder");
	if (pid == 0)
		_exit(run_inside(jail, tree_fd, read_fd));
	*ret_pid = (pid_t)pid;
	return 0;
}
