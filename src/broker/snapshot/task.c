/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/snapshot/task.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "broker/host/disk_folder.h"
#include "broker/layers/folder.h"
#include "broker/sandbox/disk.h"
#include "broker/snapshot/snapshot.h"
#include "wire/wire.h"

int snapshot_make_next(const struct snapshot_task *task, int like, struct error *err)
{
	const struct host *host = task->owner->host;
	char origin[LAYER_STACK_TEXT_SIZE];

	if (layer_stack_origin(host->folders[FOLDER_SANDBOXES], task->sandbox_id, &task->below,
	                       origin, err) < 0)
		return -1;
	return layer_folder_make(host, FOLDER_SNAPSHOTS, task->snapshot_id,
	                         &(struct layer_folder){&task->stack, like, origin}, err);
}

/* The limit applies to the folder that the sandbox writes to from now on. The other folder must
 * have room for what the broker writes. */
static int move_limit(const struct snapshot_task *task, struct error *err)
{
	if (task->sandbox &&
	    sandbox_limit_folder(task->sandbox, FOLDER_SNAPSHOTS, task->snapshot_id, err) < 0)
		return -1;
	disk_folder_release(task->owner->host, FOLDER_SANDBOXES, task->sandbox_id);
	return 0;
}

static int mark_and_swap(const struct snapshot_task *task, struct error *err)
{
	const struct host *host = task->owner->host;
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, task->sandbox_id);
	if (symlinkat("snapshot", host->folders[FOLDER_SANDBOXES], path) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "write '%s'", path);
	return layer_folder_swap(host, task->sandbox_id, FOLDER_SNAPSHOTS, task->snapshot_id, err);
}

int snapshot_swap(const struct snapshot_task *task, struct error *err)
{
	struct error ignored = {0};

	if (move_limit(task, err) == 0 && mark_and_swap(task, err) == 0)
		return 0;
	if (task->sandbox)
		(void)!sandbox_limit_folder(task->sandbox, FOLDER_SANDBOXES, task->sandbox_id,
		                            &ignored);
	return -1;
}

static int take_stopped(struct snapshot_task *task, struct error *err)
{
	AUTO_CLOSE int upper = -1;

	if (layer_folder_open_upper(task->owner->host, FOLDER_SANDBOXES, task->sandbox_id, &upper,
	                            err) < 0 ||
	    snapshot_make_next(task, upper, err) < 0)
		return -1;
	fault_point("broker", "snapshot-folder");
	task->report.method = SNAPSHOT_RENAME;
	return snapshot_swap(task, err);
}

int snapshot_run_child(void *context)
{
	struct snapshot_task *task = context;
	struct snapshot_report *report = &task->report;
	struct wire_fds fds = {.count = 0};
	struct error err = {0};
	int status;

	(void)umask(0);
	status = task->sandbox ? snapshot_take_running(task, &report->err)
	                       : take_stopped(task, &report->err);
	fault_point("broker", "snapshot-taken");
	/* After the processes go on, because this may take long. */
	if (status == 0 && task->sync && syncfs(task->owner->host->folders[FOLDER_SNAPSHOTS]) < 0)
		(void)FAIL_ERRNO(&report->err, "bring the snapshot to the disk");
	if (task->old_root >= 0)
		fds.fds[fds.count++] = task->old_root;
	return wire_send_packet(task->report_fd,
	                        (struct span){(const char *)report, sizeof(*report)}, &fds,
	                        DEADLINE_NEVER, &err);
}
