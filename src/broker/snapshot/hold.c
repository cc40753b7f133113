/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a snapshot of a running sandbox, in a child of the broker. It does as little as possible
 * while the processes are held. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "broker/host/host.h"
#include "broker/host/launcher.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/snapshot_mark.h"
#include "broker/snapshot/snapshot.h"
#include "broker/snapshot/task.h"

struct wire_fds;

#define COPY_MAX_MS 5000
#define HOLD_MAX_MS 2000
#define HOLD_YIELDS 16 /* what sleeps is held in less time than a pause takes */
#define HOLD_PAUSE_NS 50000
#define HOLD_MOMENT_NS 1000000
#define HOLD_ASK_EVERY 16
#define HOLD_THAW_EVERY 512

struct holding {
	struct snapshot_task *task;
	const struct host *host;
	struct snapshot_maps maps;
	int run_folder, upper;
};

static int open_ids(const struct host *host, const struct sandbox *sandbox, int *ret_fd,
                    struct error *err)
{
	const struct launch_process request = {.pid = sandbox->pid,
	                                       .file = LAUNCH_FILE_USER_NAMESPACE};

	return launcher_open_fd(host, LAUNCH_PROCESS, &request, NULL, ret_fd, err);
}

static int open_folder(const struct host *host, enum host_folder which, const char *path,
                       int *ret_fd, struct error *err)
{
	*ret_fd =
	        openat(host->folders[which], path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", path) : 0;
}

static int open_stored(const struct host *host, const struct sandbox *sandbox, int *ret_fd,
                       struct error *err)
{
	const struct launch_id_map request = {.slot = sandbox->slot};

	if (sandbox->stored_fd < 0)
		return launcher_open_fd(host, LAUNCH_ID_MAP, &request, NULL, ret_fd, err);
	*ret_fd = sandbox->stored_fd;
	return 0;
}

static int begin_look(struct holding *h, struct error *err)
{
	const struct sandbox *sandbox = h->task->sandbox;
	char path[64], group[GROUP_NAME_SIZE], pid[16], inode[24];
	struct task_command command = {.kind = TASK_USERS, .count = 2, .words = {pid, inode}};
	AUTO_CLOSE int processes = -1;
	struct stat mounts;

	if (fstat(sandbox->mounts_fd, &mounts) < 0)
		return FAIL_ERRNO(err, "look at the mount namespace");
	host_group_name(sandbox->slot, group);
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	processes = openat(h->host->cgroups->roots[0], path, O_RDONLY | O_CLOEXEC);
	if (processes < 0)
		return FAIL_ERRNO(err, "list the processes of '%s'", sandbox->id);
	(void)snprintf(pid, sizeof(pid), "%d", sandbox->pid);
	(void)snprintf(inode, sizeof(inode), "%ju", (uintmax_t)mounts.st_ino);
	command.input_fd = processes;
	return task_begin(h->host, &command, &h->task->users, err);
}

static int begin_copy(struct holding *h, struct error *err)
{
	char from[64], to[64], time[16];
	const struct task_command command = {
	        .kind = TASK_COPY, .count = 3, .words = {from, to, time}};

	(void)snprintf(from, sizeof(from), "sandboxes/%s/upper", h->task->sandbox_id);
	(void)snprintf(to, sizeof(to), "snapshots/%s/upper", h->task->snapshot_id);
	(void)snprintf(time, sizeof(time), "%d", COPY_MAX_MS);
	return task_begin(h->host, &command, &h->task->copy, err);
}

/* Does all that can be done before the processes are held. */
static int prepare_snapshot(struct holding *h, struct error *err)
{
	struct snapshot_task *task = h->task;
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", task->sandbox_id);
	if (open_ids(h->host, task->sandbox, &h->maps.ids_fd, err) < 0 ||
	    open_stored(h->host, task->sandbox, &h->maps.stored_fd, err) < 0 ||
	    open_folder(h->host, FOLDER_SANDBOXES, path, &h->upper, err) < 0 ||
	    open_folder(h->host, FOLDER_RUN_SANDBOXES, task->sandbox_id, &h->run_folder, err) < 0 ||
	    begin_look(h, err) < 0)
		return -1;
	if (symlinkat(task->sandbox->paused ? SNAPSHOT_PAUSED : SNAPSHOT_FROZEN, h->run_folder,
	              SNAPSHOT_MARK) < 0)
		return FAIL_ERRNO(err, "mark the snapshot");
	fault_point("broker", "snapshot-marked");
	if (snapshot_make_next(task, h->upper, err) < 0 || begin_copy(h, err) < 0 ||
	    task_wait_ready(&task->users, err) < 0)
		return -1;
	return task_wait_ready(&task->copy, err);
}

/* Copies the files: the layers are not swapped, and the new layer lies beside the sandbox's, on the
 * same stack. */
static int copy_layer(struct holding *h, struct error *err)
{
	const struct snapshot_task *task = h->task;
	int snapshots = h->host->folders[FOLDER_SNAPSHOTS];
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, task->snapshot_id);
	if (unlinkat(snapshots, path, 0) < 0)
		return FAIL_ERRNO(err, "replace '%s'", path);
	if (layer_stack_write(snapshots, path, &task->below, err) < 0)
		return -1;
	if (task_ask(&h->task->copy, NULL, err) < 0)
		return -1;
	fault_point("broker", "snapshot-copied");
	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, task->snapshot_id);
	return symlinkat("snapshot", snapshots, path) < 0 ? FAIL_ERRNO(err, "write '%s'", path) : 0;
}

static int take_held(struct holding *h, struct error *err)
{
	struct snapshot_task *task = h->task;

	fault_point("broker", "snapshot-frozen");
	task->report.method = SNAPSHOT_SWITCH;
	if (snapshot_switch(task, &h->maps, h->run_folder, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	task->report.method = SNAPSHOT_COPY;
	task->report.because = *err;
	error_clear(err);
	if (copy_layer(h, err) == 0)
		return 0;
	if (err->code == ERROR_TIMEOUT)
		error_hint(err, "%s; end that, or stop the sandbox: then nothing has to be copied",
		           task->report.because.text);
	return -1;
}

/* cgroup v1 misses processes that are being forked, and would wait for them forever. Asking again
 * helps, and thawing everything for a moment always helps. */
static int retry_freeze(struct cgroup_host *cgroups, const char *group, unsigned count,
                        struct error *err)
{
	const struct timespec moment = {.tv_nsec = HOLD_MOMENT_NS};

	if (count % HOLD_THAW_EVERY == 0) {
		if (cgroups->ops->freeze(cgroups, group, false, err) < 0)
			return -1;
		(void)nanosleep(&moment, NULL);
	}
	return count % HOLD_ASK_EVERY == 0 ? cgroups->ops->freeze(cgroups, group, true, err) : 0;
}

static int hold_processes(struct cgroup_host *cgroups, const char *group, struct error *err)
{
	const struct timespec pause = {.tv_nsec = HOLD_PAUSE_NS};
	int64_t deadline = deadline_after(HOLD_MAX_MS);
	struct error ignored = {0};
	enum cgroup_rest rest = CGROUP_THAWED;

	if (cgroups->ops->freeze(cgroups, group, true, err) < 0)
		return -1;
	for (unsigned count = 1; clock_monotonic_ms() <= deadline; count++) {
		if (cgroups->ops->rest(cgroups, group, &rest, err) < 0)
			return -1;
		if (rest == CGROUP_FROZEN)
			return 0;
		if (count <= HOLD_YIELDS) {
			(void)sched_yield();
			continue;
		}
		(void)nanosleep(&pause, NULL);
		if (retry_freeze(cgroups, group, count, err) < 0)
			return -1;
	}
	(void)!cgroups->ops->freeze(cgroups, group, false, &ignored);
	return FAIL(err, ERROR_TIMEOUT, "the sandbox's processes do not stand still");
}

static int hold_and_take(struct holding *h, struct error *err)
{
	struct cgroup_host *cgroups = h->task->owner->host->cgroups;
	int64_t begun_ns = clock_monotonic_ns();
	struct error second = {0};
	char group[GROUP_NAME_SIZE];
	int status;

	host_group_name(h->task->sandbox->slot, group);
	/* Without this each pause would be twice as long. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	if (hold_processes(cgroups, group, err) < 0)
		return -1;
	status = take_held(h, err);
	/* Between two roots no process may run; the broker kills them. */
	if (h->task->is_broken)
		return -1;
	if (cgroups->ops->freeze(cgroups, group, false, &second) < 0 && status == 0) {
		*err = second;
		status = -1;
	}
	h->task->report.frozen_us = (uint64_t)(clock_monotonic_ns() - begun_ns) / 1000;
	fault_point("broker", "snapshot-thawed");
	return status;
}

int snapshot_take_running(struct snapshot_task *task, struct error *err)
{
	struct holding h = {.task = task,
	                    .host = task->owner->host,
	                    .maps = {-1, -1},
	                    .run_folder = -1,
	                    .upper = -1};

	int status;

	/* The child exits soon, which closes the descriptors. */
	if (prepare_snapshot(&h, err) < 0)
		return -1;
	status = task->sandbox->paused ? take_held(&h, err) : hold_and_take(&h, err);
	if (!task->is_broken)
		(void)unlinkat(h.run_folder, SNAPSHOT_MARK, 0);
	return status;
}
