/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/host_failure.h"

#include <stddef.h>

#include "provider/host_limits.h"

static const struct host_failure failures[] = {
        {0, ERROR_NO_SPACE, "disk_full",
         "free room on the file system of the data folder: delete sandboxes, snapshots or backups"},
        {EMFILE, ERROR_NONE, "descriptors",
         "raise the limit of open files: LimitNOFILE=65536 in the unit, or ulimit -n 65536"},
        {ENFILE, ERROR_NONE, "descriptors",
         "raise fs.file-max: the whole machine has too many open files"},
        {EROFS, ERROR_NONE, "read_only",
         "mount writable what the reason names: /sys/fs/cgroup, or the data folder"},
        {EPERM, ERROR_NONE, "rights",
         "start the server as root with every capability; a container needs --privileged"},
        {EACCES, ERROR_NONE, "rights",
         "start the server as root, and let it reach what the reason names"},
        {ENOMEM, ERROR_NONE, "memory",
         "the machine, or the group of the server, has too little free memory: stop sandboxes"},
        {EAGAIN, ERROR_NONE, "processes",
         "raise the limit of processes: TasksMax=infinity in the unit, and kernel.pid_max"},
        {0, ERROR_TIMEOUT, "timeout",
         "a step hangs or the machine is too slow: look at its load and at the server's log"},
        {0, ERROR_UNAVAILABLE, "unavailable",
         "the broker is away or busy; if that lasts, look at the server's log"},
};

const struct host_failure *host_failure_find(const struct error *err)
{
	for (unsigned i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		const struct host_failure *f = &failures[i];

		if (f->sys_errno != 0 ? f->sys_errno == err->sys_errno : f->code == err->code)
			return f;
	}
	return NULL;
}

void host_failure_explain(struct error *err)
{
	const struct host_failure *f = host_failure_find(err);

	if (!f || f->sys_errno == 0)
		return;
	err->code = ERROR_UNAVAILABLE;
	host_limits_explain(err);
	if (err->hint[0] == '\0')
		error_hint(err, "%s", f->cure);
}
