/* SPDX-License-Identifier: Apache-2.0 */
/* broker/flatten.h — long layer stacks get shorter, in the background. Private to this folder.
 *
 * A layer stack of more than CHAIN_LONG layers has all but its top one merged into one, by a child
 * with the lowest priority; then every layer stack that has these layers has that one instead. What
 * is merged means the same as they do, so that nothing inside a sandbox tells the difference. A
 * sandbox that runs goes on with the layers that it has mounted, which are in use until it ends or
 * takes another root: a link "layers" in its run folder says so.
 *
 * The merged layer is made under a name that nobody knows; what is not finished is nobody's. */
#pragma once

#include "broker/box.h"
#include "broker/snapshot.h"

#define LAYER_STACK_LONG 10
#define MOUNTED_LINK "layers"

struct flattening {
	struct sandboxes *sandboxes;
	struct snapshots *snapshots;
	struct broker_child child;
	bool is_running;
	char merged[ID_SIZE + 1];
	struct layer_stack stack; /* what is being merged */
	struct map tried;         /* the topmost layer of those */
	/* The sandbox that was just starting, ending or busy, and has its long layer stack still;
	 * "": none. All are looked at again after any has become something else. */
	char put_off[ID_SIZE + 1];
	bool is_due;
};

void flattening_init(struct flattening *f, struct sandboxes *sandboxes,
                     struct snapshots *snapshots);
void flattening_close(struct flattening *f);
/* Begins with the next long layer stack, if there is one and nothing is under way. */
void flattening_look(struct flattening *f);
/* A sandbox runs now, or has ended: `is_due` when that may let a look find more. */
void flattening_on_change(struct flattening *f);
/* The sandbox has another root now, or none. `run_folder`: FOLDER_RUN_SANDBOXES/ID, or -1. */
void flattening_unpin(struct layer_stacks *c, const char *sandbox_id);
