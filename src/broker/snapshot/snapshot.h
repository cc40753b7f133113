/* SPDX-License-Identifier: Apache-2.0 */
/* broker/snapshot/snapshot.h — takes snapshots, in children of the broker.
 *
 * The child makes a folder DATA/snapshots/ID beside the sandbox's, with an empty upper layer and a
 * layer stack that begins with ID. Then the two folders swap names, in one step: what the sandbox
 * had on top is the snapshot, and the sandbox goes on with the empty layer on top of that.
 *
 *   rename   the sandbox is stopped: that is all
 *   switch   it runs: its processes are held, and get a root with the new layers in place of the
 * old root; see switch.c copy     it runs, and something in it would go on using the old root (an
 * open file, a current folder): the files are copied while the processes are held
 *
 * A paused sandbox stays paused. See broker/sandbox/snapshot_mark.h for what a broker that dies
 * leaves. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct broker_snapshot;
struct broker_snapshot_made;
struct events;
struct host;
struct layer_stacks;
struct pending_reply;
struct sandboxes;

struct snapshots {
	struct host *host;
	struct events *events;
	struct sandboxes *sandboxes;
	struct layer_stacks *stacks;
	struct list tasks;
	struct list ending; /* finished tasks whose children are about to end */
	void (*on_made)(void *context, const struct pending_reply *reply,
	                const struct broker_snapshot_made *m);
	void (*on_failed)(void *context, const struct pending_reply *reply,
	                  const struct error *err);
	/* A task has ended: layer stacks may have become long. */
	void (*on_task_end)(void *context);
	/* The last descriptor of an old root, now the callee's: closing it waits for the disk. */
	void (*on_old_root)(void *context, int root_fd);
	void *context;
};

void snapshots_init(struct snapshots *s, struct sandboxes *sandboxes);
void snapshots_close(struct snapshots *s);
/* Ends what is under way on this sandbox, and thaws its processes. */
void snapshots_cancel(struct snapshots *s, const char *sandbox_id);
/* BROKER_SNAPSHOT; the reply comes later unless the call fails. */
MUST_CHECK int snapshots_take(struct snapshots *s, const struct pending_reply *reply,
                              const struct broker_snapshot *request, struct error *err);
/* BROKER_RESTORE: the sandbox's files become those of the snapshot, or of its template. */
MUST_CHECK int snapshots_restore(struct snapshots *s, const struct broker_snapshot *request,
                                 struct error *err);
/* Whether a restore would work if the sandbox were stopped; it need not be. */
MUST_CHECK int snapshots_can_restore(struct snapshots *s, const struct broker_snapshot *request,
                                     struct error *err);
/* Whether a snapshot of this sandbox is being taken. */
bool snapshots_is_busy(struct snapshots *s, const char *sandbox_id);
