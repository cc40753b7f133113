/* SPDX-License-Identifier: Apache-2.0 */
/* broker/snapshot.h — takes snapshots, in children of the broker. Private to this folder.
 *
 * A folder DATA/snapshots/ID with an empty upper layer and a layer stack that begins with ID is
 * made beside the sandbox's, and then the two swap names, which is one step that is done or not:
 * what the sandbox had on top is the snapshot, and it goes on with the empty one on top of that.
 *
 *   rename   it is stopped: that is all
 *   switch   it runs: its processes stand still meanwhile, and get a root of the new layers in
 *            place of the old one, see snapshot_switch.c
 *   copy     it runs, and something in it would go on with the old root (an open file, a folder
 *            that a process is in): the files are copied while all stands still
 *
 * One that is paused already stays so. While processes are held there is a link "snapshot" in the
 * run folder, so that the next broker lets them go. In the millisecond of a switch it says so:
 * whose broker dies just then has its processes ended by the next one, and loses no file. */
#pragma once

#include "broker/box.h"
#include "broker/chains.h"

#define SNAPSHOT_MARK "snapshot"
#define SNAPSHOT_FROZEN "frozen"
#define SNAPSHOT_PAUSED "paused" /* by somebody else, and stays so */
#define SNAPSHOT_SWITCHING "switching"

enum snapshot_method { SNAPSHOT_RENAME, SNAPSHOT_SWITCH, SNAPSHOT_COPY };

/* What the child sends. */
struct snapshot_report {
	struct error err; /* ERROR_NONE = made */
	struct error because;
	uint32_t method; /* enum snapshot_method */
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
	char sandbox_id[ID_SIZE + 1], snapshot_id[ID_SIZE + 1];
	struct layer_stack below;      /* of the sandbox, at the start */
	struct layer_stack stack;      /* and after it */
	const struct sandbox *sandbox; /* NULL: it is stopped. For the child only */
	struct snapshot_report report;
	/* In the child: */
	bool is_broken; /* between two roots, and no way back */
	int old_root;   /* held, so that the sync of its unmount comes later; or -1 */
};

struct snapshots {
	struct host *host;
	struct events *events;
	struct sandboxes *sandboxes;
	struct layer_stacks *stacks;
	struct list tasks;
	struct list ending; /* settled, and their children are about to end */
	void (*on_made)(void *context, const struct pending_reply *reply,
	                const struct broker_snapshot_made *m);
	void (*on_failed)(void *context, const struct pending_reply *reply,
	                  const struct error *err);
	/* One of them has been taken: layer stacks may have become long. */
	void (*on_settled)(void *context);
	/* The last of an old root: who lets go of it waits for the disk. The callee's. */
	void (*on_old_root)(void *context, int root_fd);
	void *context;
};

void snapshots_init(struct snapshots *s, struct sandboxes *sandboxes);
/* Ends what is under way, of one sandbox or all, and lets go who is held. */
void snapshots_cancel(struct snapshots *s, const char *sandbox_id);
void snapshots_close(struct snapshots *s);
/* BROKER_SNAPSHOT; the answer comes later unless it fails. */
MUST_CHECK int snapshots_take(struct snapshots *s, const struct pending_reply *reply,
                              const struct broker_snapshot *request, struct error *err);
/* BROKER_RESTORE: the sandbox's files become those of the snapshot, or of its template. */
MUST_CHECK int snapshots_restore(struct snapshots *s, const struct broker_snapshot *request,
                                 struct error *err);
/* Whether it could be done were the sandbox stopped, which it need not be. */
MUST_CHECK int snapshots_can_restore(struct snapshots *s, const struct broker_snapshot *request,
                                     struct error *err);
/* Whether a sandbox has its files in a layer: ERROR_UNSUPPORTED when it has a disk of its own,
 * ERROR_NOT_FOUND when there are none. */
MUST_CHECK int snapshot_check_files(const struct host *host, const char *sandbox_id,
                                    struct error *err);
/* Whether one of this sandbox is being taken. */
bool snapshots_is_busy(struct snapshots *s, const char *sandbox_id);
/* Of a sandbox whose snapshot was cut short, by its run folder: lets it go, or, when it was between
 * two roots, ends it: false. */
bool snapshot_release(struct sandbox *sandbox, int run_folder);

/* ---- for the files of this part ---- */

/* DATA/prewarmed sandboxes or snapshots/NAME with empty upper and work. */
struct snapshot_folder {
	const struct layer_stack *stack;
	int like; /* a folder whose owner and mode the upper layer gets; -1: a new one's */
	const char *origin; /* see layer_stack_origin; NULL: it becomes no sandbox's */
	bool is_linked; /* it gets files of other layers by links: it has no project of its own */
};
MUST_CHECK int snapshot_make_folder(const struct host *host, enum host_folder which,
                                    const char *name, const struct snapshot_folder *with,
                                    struct error *err);
/* The same, to become that of the job's sandbox: DATA/snapshots/SNAPSHOT. */
MUST_CHECK int snapshot_make_next(const struct snapshot_task *task, int like, struct error *err);
/* In snapshot_hold.c, in the child: holds the processes, takes the snapshot, lets them go. */
MUST_CHECK int snapshot_take_running(struct snapshot_task *task, struct error *err);
/* Makes it the snapshot: swaps the two folders. */
MUST_CHECK int snapshot_swap(const struct snapshot_task *task, struct error *err);

/* In snapshot_users.c: whether anything but "/" of the sandbox's root is in use. Fails with
 * ERROR_CONFLICT, naming the first; `ret_mount` is the number of the root's mount. */
MUST_CHECK int snapshot_check_users(const struct sandbox *sandbox, uint64_t *ret_mount,
                                    struct error *err);
/* In snapshot_switch.c. ERROR_CONFLICT: it cannot be done, and nothing has changed. */
struct snapshot_maps {
	int ids_fd, stored_fd; /* user namespaces, see struct root_options */
	int home_fd;           /* the broker's mount namespace */
};
MUST_CHECK int snapshot_switch(struct snapshot_task *task, const struct snapshot_maps *maps,
                               int run_folder, struct error *err);
/* In snapshot_copy.c: all that is in the folder `from`, into the empty folder `to`, until the
 * deadline. */
MUST_CHECK int snapshot_copy(int from, int to, int64_t deadline, struct error *err);
