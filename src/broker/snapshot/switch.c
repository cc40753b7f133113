/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a sandbox whose processes are held another root. The kernel does not change the layers of a
 * mounted overlay. So a second overlay with the new layers takes the place of the first, and with
 * it every process whose root and current folder are "/" (launch/switch.c). A process that uses
 * anything else of the first overlay, such as an open file, would go on using it; users.c looks for
 * that. The snapshot's layer does not depend on that check: the first overlay is made read-only,
 * which the kernel refuses while a file is open for writing. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/launcher.h"
#include "broker/host/mountinfo.h"
#include "broker/layers/root.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/snapshot_mark.h"
#include "broker/snapshot/snapshot.h"
#include "broker/snapshot/task.h"
#include "wire/broker_kind.h"
#include "wire/task.h"

struct wire_fds;

struct switching {
	struct snapshot_task *task;
	const struct snapshot_maps *maps;
	const struct host *host;
	int run_folder, root_fd;
	uint64_t root_mount;
	struct launch_replace mounts; /* what is mounted on the first root */
};

static int add_mount(struct switching *s, struct span path, struct error *err)
{
	if (s->mounts.count == LAUNCH_SUBMOUNTS_MAX || path.size >= LAUNCH_SUBMOUNT_MAX ||
	    path.size < 2 || memchr(path.data, '\\', path.size))
		return FAIL(err, ERROR_CONFLICT, "a mount at '%.*s' cannot be moved",
		            (int)path.size, path.data);
	memcpy(s->mounts.paths[s->mounts.count], path.data, path.size);
	s->mounts.paths[s->mounts.count++][path.size] = '\0';
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

static int write_mark(const struct switching *s, const char *text, struct error *err)
{
	static const char next[] = SNAPSHOT_MARK ".next";

	if (symlinkat(text, s->run_folder, next) < 0 ||
	    renameat(s->run_folder, next, s->run_folder, SNAPSHOT_MARK) < 0)
		return FAIL_ERRNO(err, "mark the snapshot");
	return 0;
}

static int open_new_root(struct switching *s, struct error *err)
{
	const struct root_options options = {
	        .template_name = s->task->sandbox->template_name,
	        .stack = &s->task->stack,
	        .upper_fd = -1,
	        .upper_folder = FOLDER_SANDBOXES,
	        .upper_name = s->task->sandbox_id,
	        .ids_fd = s->maps->ids_fd,
	        .stored_fd = s->maps->stored_fd,
	};

	struct root_mounts mounts;

	if (host_root_open(s->host, &options, &mounts, err) < 0)
		return -1;
	s->root_fd = mounts.root;
	return 0;
}

/* Without an answer the sandbox may be between two roots, too. */
static void note_break(struct switching *s, const struct launch_answer *answer,
                       const struct error *err)
{
	if (answer->is_broken || err->code == ERROR_UNAVAILABLE)
		s->task->is_broken = true;
}

/* ERROR_CONFLICT: a file is open for writing. */
static int set_read_only(struct switching *s, bool read_only, struct error *err)
{
	const struct launch_read_only request = {.read_only = read_only};
	const struct wire_fds fds = {.fds = {s->task->sandbox->mounts_fd}, .count = 1};
	struct launcher_result got;
	int status = launcher_call(s->host, LAUNCH_READ_ONLY, &request, &fds, &got, err);

	note_break(s, &got.answer, err);
	return status;
}

/* All or nothing, unless is_broken is set. */
static int replace_root(struct switching *s, struct error *err)
{
	const struct wire_fds fds = {.fds = {s->task->sandbox->mounts_fd, s->root_fd}, .count = 2};
	struct launcher_result got;

	/* The last process to close an overlay waits until the kernel has written the disk, so the
	 * old one comes back open. */
	if (launcher_call(s->host, LAUNCH_REPLACE, &s->mounts, &fds, &got, err) == 0) {
		s->task->old_root = got.fds.fds[0];
		return 0;
	}
	note_break(s, &got.answer, err);
	return -1;
}

static int switch_root(struct switching *s, struct error *err)
{
	struct error second = {0};
	bool is_swapped;

	if (set_read_only(s, true, err) < 0)
		return -1;
	fault_point("broker", "snapshot-closed");
	is_swapped = snapshot_swap(s->task, err) == 0;
	fault_point("broker", "snapshot-swapped");
	if (is_swapped && open_new_root(s, err) == 0 && replace_root(s, err) == 0)
		return 0;
	if (s->task->is_broken)
		return -1;
	if ((is_swapped && snapshot_swap(s->task, &second) < 0) ||
	    set_read_only(s, false, &second) < 0) {
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
	if (task->sandbox->kind == BROKER_GVISOR)
		return FAIL(err, ERROR_CONFLICT, "gVisor keeps files of the root open");
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
