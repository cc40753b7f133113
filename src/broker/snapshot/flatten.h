/* SPDX-License-Identifier: Apache-2.0 */
/* broker/snapshot/flatten.h — makes long layer stacks shorter, in the background.
 *
 * A task with the lowest priority merges all layers but the top one of a stack that has more than
 * FLATTEN_LONG. Then the merged layer replaces them in every stack. It means the same, so nothing
 * inside a sandbox can tell the difference. A running sandbox keeps the layers that it has mounted
 * until it ends or gets another root: a link "layers" in its run folder keeps them in use.
 *
 * The merged layer is made under a new name. An unfinished one is in no stack, so it is swept. */
#pragma once

#include "base/map.h"
#include "broker/host/task_start.h"
#include "broker/layers/stack.h"

#define FLATTEN_LONG 10

struct flattening {
	struct sandboxes *sandboxes;
	struct snapshots *snapshots;
	struct broker_task task;
	bool is_running;
	char merged[ID_SIZE + 1];
	struct layer_stack stack; /* what is being merged */
	struct map tried;         /* the topmost layers of what was merged */
	/* A sandbox that was starting, ending or busy, and so kept its long stack; "": none. All
	 * stacks are checked again when any sandbox starts or ends. */
	char postponed[ID_SIZE + 1];
	bool is_due;
};

void flattening_init(struct flattening *f, struct sandboxes *sandboxes,
                     struct snapshots *snapshots);
void flattening_close(struct flattening *f);
/* Starts to merge the next long stack, if there is one and no merge is under way. */
void flattening_check(struct flattening *f);
/* A sandbox has started or ended: sets `is_due` when a check may find more. */
void flattening_on_change(struct flattening *f);
