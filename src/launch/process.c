/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker asks about processes, agents above all. */
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "launch/server.h"

int launch_check_inside(int namespace_fd, struct error *err)
{
	AUTO_CLOSE int users = ioctl(namespace_fd, NS_GET_USERNS);
	struct stat own, other;

	if (users < 0 || fstat(users, &other) < 0 || stat("/proc/self/ns/user", &own) < 0)
		return FAIL_ERRNO(err, "find the owner of a namespace");
	return own.st_dev != other.st_dev || own.st_ino != other.st_ino
	               ? 0
	               : FAIL(err, ERROR_INVALID, "a namespace of the host");
}

static int set_hostname(const char *name, struct error *err)
{
	AUTO_CLOSE int names = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	if (names < 0)
		return FAIL_ERRNO(err, "open the names of '%s'", name);
	if (launch_check_inside(names, err) < 0)
		return -1;
	return sethostname(name, strlen(name)) < 0 ? FAIL_ERRNO(err, "set the host name '%s'", name)
	                                           : 0;
}

/* The agent has given up the right to do this itself. */
int serve_hostname(struct launch_server *l, const struct launch_call *call,
                   UNUSED struct launch_reply *ret, struct error *err)
{
	const struct launch_hostname *request = call->request;
	int status;

	if (launch_check_text(request->name, sizeof(request->name), err) < 0)
		return -1;
	if (setns(call->fds[0], CLONE_NEWUTS) < 0)
		return FAIL_ERRNO(err, "enter the names of '%s'", request->name);
	status = set_hostname(request->name, err);
	if (setns(l->names_fd, CLONE_NEWUTS) < 0)
		abort(); /* else the next host name would be set in this sandbox */
	return status;
}

/* Waits for nothing: the process has ended. */
int serve_wait(UNUSED struct launch_server *l, const struct launch_call *call,
               struct launch_reply *ret, struct error *err)
{
	siginfo_t info = {0};

	if (waitid(P_PIDFD, (id_t)call->fds[0], &info, WEXITED | WNOHANG) < 0 && errno != ECHILD)
		return FAIL_ERRNO(err, "wait for a process");
	ret->answer.ended.pid = info.si_pid;
	ret->answer.ended.code = info.si_code;
	ret->answer.ended.status = info.si_status;
	return 0;
}

int serve_process(UNUSED struct launch_server *l, const struct launch_call *call,
                  struct launch_reply *ret, struct error *err)
{
	static const struct {
		const char *name;
		int flags;
	} files[LAUNCH_FILE_COUNT] = {
	        [LAUNCH_FILE_ROOT] = {"root", O_PATH | O_DIRECTORY},
	        [LAUNCH_FILE_USER_NAMESPACE] = {"ns/user", O_RDONLY},
	        [LAUNCH_FILE_MOUNT_NAMESPACE] = {"ns/mnt", O_RDONLY},
	        [LAUNCH_FILE_NETWORK_NAMESPACE] = {"ns/net", O_RDONLY},
	};
	const struct launch_process *request = call->request;
	char path[64];
	int fd;

	if (request->pid <= 0 || request->file >= LAUNCH_FILE_COUNT)
		return FAIL(err, ERROR_INVALID, "a request for a process is malformed");
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", request->pid, files[request->file].name);
	fd = open(path, files[request->file].flags | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(err, "open '%s'", path);
	launch_reply_add(ret, fd);
	return 0;
}
