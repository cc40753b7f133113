/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker asks about processes, agents above all. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/server.h"

/* The agent has given up the right to do this itself. */
int serve_hostname(struct launch_server *l, const struct launch_call *call,
                   UNUSED struct launch_reply *ret, struct error *err)
{
	const struct launch_hostname *request = call->request;
	int status = 0;

	if (launch_check_text(request->name, sizeof(request->name), err) < 0)
		return -1;
	if (setns(call->fds[0], CLONE_NEWUTS) < 0)
		return FAIL_ERRNO(err, "enter the names of '%s'", request->name);
	if (sethostname(request->name, strlen(request->name)) < 0)
		status = FAIL_ERRNO(err, "set the host name '%s'", request->name);
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
