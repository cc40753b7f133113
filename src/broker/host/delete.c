/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/id.h"
#include "base/log.h"
#include "broker/host/disk_folder.h"
#include "broker/host/task_start.h"

int host_trash(const struct host *host, enum host_folder folder, const char *name,
               struct error *err)
{
	struct id id = id_new();

	disk_folder_release(host, folder, name);
	if (renameat(host->folders[folder], name, host->folders[FOLDER_TRASH], id.text) < 0 &&
	    errno != ENOENT)
		return FAIL_ERRNO(err, "put '%s' into the trash", name);
	return 0;
}

/* The name in FOLDER_SANDBOXES goes last: as long as it exists, another destroy finds the rest. */
int host_trash_files(const struct host *host, const char *id, struct error *err)
{
	if (host_trash(host, FOLDER_HOST_FILES, id, err) < 0)
		return -1;
	return host_trash(host, FOLDER_SANDBOXES, id, err);
}

void host_empty_trash(const struct host *host)
{
	const struct task_command command = {.kind = TASK_TRASH};
	struct error err = {0};

	if (task_run(host, &command, NULL, &err) < 0)
		log_warning("the trash is not empty", FAILURE(&err));
}
