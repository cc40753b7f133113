/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "isolation/confine.h"
#include "launch/server.h"

#define FILES_MAX 65536 /* open files of the broker: for ten thousand sandboxes */

/* Files of sandboxes belong to ids that no user has; agents of BROKER_HOST run as atolld's user;
 * links and flows are of the host's network. */
#define BROKER_CAPABILITIES                                                                        \
	(CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_CHOWN) |                            \
	 CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_FSETID) | CAPABILITY_BIT(CAP_KILL) |      \
	 CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_NET_ADMIN))

enum { ARGUMENT_DATA = 1, ARGUMENT_AGENT, ARGUMENT_TASK, ARGUMENT_IMAGE, ARGUMENT_BROKER };

/* Mounts of the host still arrive in this namespace, mounts made here never leave it, and all of
 * them end with the broker, this program and their children. */
static int enter_mounts(struct error *err)
{
	if (unshare(CLONE_NEWNS) < 0) {
		(void)FAIL_ERRNO(err, "make a mount namespace");
		error_hint(err, "start the server as root with CAP_SYS_ADMIN and every other "
		                "capability; a container needs --privileged");
		return -1;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) {
		int why = errno;

		(void)FAIL_ERRNO(err, "keep the host's mounts apart");
		if (why == EINVAL)
			error_hint(err, "'/' is not a mount here, as in a chroot: run Atoll outside"
			                " of it");
		return -1;
	}
	return 0;
}

static int open_file(const char *path, int flags, int *ret_fd, struct error *err)
{
	*ret_fd = open(path, flags | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", path) : 0;
}

static int open_views(struct launch_server *l, struct error *err)
{
	AUTO_CLOSE int proc = -1;

	if (open_file("/proc", O_PATH | O_DIRECTORY, &proc, err) < 0)
		return -1;
	if (view_of_folder(l->data_fd, l->data_path, &l->views[LAUNCH_VIEW_DATA], err) < 0 ||
	    view_of_folder(proc, "/proc", &l->views[LAUNCH_VIEW_PROCESSES], err) < 0 ||
	    view_of_host(&l->views[LAUNCH_VIEW_HOST], err) < 0)
		return FAIL_CONTEXT(err, "make the views of tasks");
	return 0;
}

static int open_parts(struct launch_server *l, char **argv, struct error *err)
{
	if (!realpath(argv[ARGUMENT_DATA], l->data_path))
		return FAIL_ERRNO(err, "find the data folder '%s'", argv[ARGUMENT_DATA]);
	if (open_file(l->data_path, O_RDONLY | O_DIRECTORY, &l->data_fd, err) < 0 ||
	    open_file(argv[ARGUMENT_AGENT], O_RDONLY, &l->agent_fd, err) < 0 ||
	    open_file(argv[ARGUMENT_TASK], O_RDONLY, &l->task_fd, err) < 0 ||
	    open_file("/proc/self/ns/uts", O_RDONLY, &l->names_fd, err) < 0 ||
	    open_file("/proc/self/ns/mnt", O_RDONLY, &l->mounts_fd, err) < 0 ||
	    open_file("/proc/self/ns/net", O_RDONLY, &l->network_fd, err) < 0)
		return -1;
	l->image_path = argv[ARGUMENT_IMAGE];
	return open_views(l, err);
}

/* Needs CAP_SYS_RESOURCE, which a container may lack; the broker tells when the limit is low. */
static void raise_file_limit(void)
{
	const struct rlimit more = {FILES_MAX, FILES_MAX};
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < FILES_MAX)
		(void)setrlimit(RLIMIT_NOFILE, &more);
}

/* Another session, so that no signal from a terminal ends it before the broker. */
static NORETURN void run_server(struct launch_server *l, int channel_fd, pid_t broker)
{
	struct error err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != broker)
		_exit(EXIT_FAILURE);
	(void)setsid();
	(void)umask(0);
	l->channel_fd = channel_fd;
	if (launch_serve(l, &err) == 0)
		_exit(EXIT_SUCCESS);
	log_error("atoll-launch ends", FAILURE(&err));
	_exit(EXIT_FAILURE);
}

/* Returns only after a failure. */
static int become_broker(int channel_fd, char **argv, struct error *err)
{
	if (confine_bounding_set(BROKER_CAPABILITIES, err) < 0)
		return -1;
	if (channel_fd == LAUNCH_FD ? fcntl(LAUNCH_FD, F_SETFD, 0) < 0
	                            : dup2(channel_fd, LAUNCH_FD) < 0)
		return FAIL_ERRNO(err, "hand on the channel");
	(void)execv(argv[ARGUMENT_BROKER], argv + ARGUMENT_BROKER);
	return FAIL_ERRNO(err, "start '%s'", argv[ARGUMENT_BROKER]);
}

static int split_processes(struct launch_server *l, char **argv, struct error *err)
{
	pid_t self = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	pid = fork();
	if (pid < 0)
		return FAIL_ERRNO(err, "fork");
	if (pid == 0) {
		(void)close(ends[0]);
		run_server(l, ends[1], self);
	}
	(void)close(ends[1]);
	return become_broker(ends[0], argv, err);
}

int launch_main(int argc, char **argv)
{
	struct launch_server l = {
	        .data_fd = -1, .proc_fd = -1, .held_fd = -1, .views = {-1, -1, -1}};
	struct error err = {0};

	log_open("atoll-launch", LOG_INFO);
	if (argc <= ARGUMENT_BROKER)
		error_set(&err, ERROR_INVALID, 0, HERE,
		          "usage: atoll-launch DATA AGENT TASK IMAGE BROKER [ARGUMENT…]");
	else if (geteuid() != 0)
		error_set(&err, ERROR_FORBIDDEN, 0, HERE, "the broker needs root");
	else if (enter_mounts(&err) == 0 && open_parts(&l, argv, &err) == 0) {
		raise_file_limit();
		(void)!split_processes(&l, argv, &err);
	}
	log_error("broker ends", FAILURE(&err), TEXT("hint", err.hint));
	return EXIT_FAILURE;
}
