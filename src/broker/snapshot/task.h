/* SPDX-License-Identifier: Apache-2.0 */
/* broker/snapshot/task.h — one snapshot that is being taken: the record, and the steps of its
 * child. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "broker/host/task_start.h"
#include "broker/layers/stack.h"

struct sandbox;
struct snapshots;

enum snapshot_method { SNAPSHOT_RENAME, SNAPSHOT_SWITCH, SNAPSHOT_COPY };

/* The child's report. */
struct snapshot_report {
	struct error err;     /* ERROR_NONE: made */
	struct error because; /* why the files had to be copied */
	uint32_t method;      /* enum snapshot_method */
	uint64_t frozen_us;
};

struct snapshot_task {
	struct list item;
	struct snapshots *owner;
	struct broker_child child;
	struct fd_watch reports;
	int report_fd;
	struct pending_reply reply;
	int64_t begun_us;
	bool sync;
	char sandbox_id[ID_SIZE + 1];
	char snapshot_id[ID_SIZE + 1];
	struct layer_stack below;      /* of the sandbox, at the start */
	struct layer_stack stack;      /* of the sandbox, after the snapshot */
	const struct sandbox *sandbox; /* NULL: it is stopped. For the child only */
	struct snapshot_report report;
	/* In the child: */
	bool is_broken; /* between two roots, and no way back */
	int old_root;   /* held, so that the sync of its unmount comes later; or -1 */
	/* Processes that wait until the sandbox is held, because starting them takes longer than
	 * what they do: the look whether anything of the root but "/" is in use, and the copy. */
	struct task_process users, copy;
};

/* The child's whole life; `context` is the task. */
int snapshot_run_child(void *context);
/* Makes DATA/snapshots/SNAPSHOT, which will become the folder of the task's sandbox. */
MUST_CHECK int snapshot_make_next(const struct snapshot_task *task, int like, struct error *err);
/* Swaps the two folders: the sandbox's becomes the snapshot. */
MUST_CHECK int snapshot_swap(const struct snapshot_task *task, struct error *err);
/* hold.c: holds the processes, takes the snapshot, lets the processes go. */
MUST_CHECK int snapshot_take_running(struct snapshot_task *task, struct error *err);

struct snapshot_maps {
	int ids_fd, stored_fd; /* user namespaces, see struct root_options */
};
/* switch.c. ERROR_CONFLICT: it cannot be done, and nothing has changed. */
MUST_CHECK int snapshot_switch(struct snapshot_task *task, const struct snapshot_maps *maps,
                               int run_folder, struct error *err);
