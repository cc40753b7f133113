/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/stacks.h — all layers, and the stacks that use them.
 *
 *   DATA/snapshots/ID/{upper,chain,kept}   a layer: what a sandbox had on top when it was taken
 *   DATA/sandboxes/ID/chain                the layers below a sandbox's own files
 *   DATA/sandboxes/ID/origin               the layers that it was created on, once it has a
 * snapshot DATA/run/sandboxes/ID/layers           the layers that it has mounted, if they were
 * merged since
 *
 * "kept" marks a layer as a snapshot that may still be asked for. A layer without the mark lives as
 * long as a stack names it, and is deleted at once, or at the next start, when none does. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/map.h"

#define MOUNTED_LINK "layers"

struct error;
struct host;

struct layer_stacks {
	struct host *host;
	struct map layers; /* id -> struct layer */
	struct map users; /* id of a sandbox or of a task -> struct layer_stack; never empty ones */
	bool is_incomplete; /* a stack could not be read: no layer is swept */
};

void layer_stacks_init(struct layer_stacks *c, struct host *host);
void layer_stacks_close(struct layer_stacks *c);
/* At start: reads the folders, and moves layers that no stack names to the trash. */
MUST_CHECK int layer_stacks_adopt(struct layer_stacks *c, struct error *err);
/* NULL: the user lies on its template. Valid until the next change. */
const struct layer_stack *layer_stacks_of(const struct layer_stacks *c, const char *user);
/* The stack of something that is created from this snapshot. */
MUST_CHECK int layer_stacks_find(const struct layer_stacks *c, const char *snapshot,
                                 struct layer_stack *ret, struct error *err);
/* The stack of what a user can be reset to: a snapshot, or a layer below it that is no snapshot any
 * more; "" is its template. */
MUST_CHECK int layer_stacks_find_origin(const struct layer_stacks *c, const char *user,
                                        const char *origin, struct layer_stack *ret,
                                        struct error *err);
/* Sets the stack of a user, by copy; NULL or empty: none. Its layers are in use from now on. */
void layer_stacks_set(struct layer_stacks *c, const char *user, const struct layer_stack *stack);

/* The same for stacks that a sandbox or snapshot uses besides its own. */
enum layer_stack_role {
	LAYER_STACK_ORIGIN,  /* what the sandbox was created on; a reset goes back to it */
	LAYER_STACK_MOUNTED, /* what the running sandbox has mounted; see snapshot/flatten.h */
	LAYER_STACK_MERGED,  /* what is being merged into a layer of that name */
	LAYER_STACK_NOW,     /* the two that a review compares */
	LAYER_STACK_BASE,
	LAYER_STACK_TRASHED, /* a snapshot in the trash, and what lies below it */
};
void layer_stacks_set_role(struct layer_stacks *c, const char *id, enum layer_stack_role role,
                           const struct layer_stack *stack);
const struct layer_stack *layer_stacks_of_role(const struct layer_stacks *c, const char *id,
                                               enum layer_stack_role role);

/* The first stack for which is_wanted is true: of a sandbox with files, or, with `sandbox_id` NULL,
 * of what could be created from a snapshot. False when there is none. */
bool layer_stacks_search(const struct layer_stacks *c,
                         bool (*is_wanted)(void *context, const char *sandbox_id,
                                           const struct layer_stack *stack),
                         void *context, struct layer_stack *ret);
/* The layer `merged`, whose folder is complete, replaces the layer `from` with all below it in
 * every stack; in those of sandboxes only where on_replace returns true. When no stack has it then,
 * `merged` is deleted. */
void layer_stacks_replace(struct layer_stacks *c, const char *from, const char *merged,
                          bool (*on_replace)(void *context, const char *sandbox_id,
                                             const struct layer_stack *old),
                          void *context);
/* Keeps the layers that a running sandbox has mounted in use, also after its stack has changed. */
MUST_CHECK int layer_stacks_pin(struct layer_stacks *c, const char *sandbox_id,
                                const struct layer_stack *mounted, struct error *err);
bool layer_stacks_is_pinned(const struct layer_stacks *c, const char *sandbox_id);
/* Forgets the layers that the sandbox has mounted: it has another root now, or none. */
void layer_stacks_unpin(struct layer_stacks *c, const char *sandbox_id);

/* Reads the stack of the user `id` from the folder `name` of a sandbox's files below `folder`. */
MUST_CHECK int layer_stacks_read_user(struct layer_stacks *c, int folder, const char *name,
                                      const char *id, struct error *err);
/* Reads the stack of a sandbox again after its folder has changed. */
void layer_stacks_reread(struct layer_stacks *c, const char *sandbox_id);
/* Adds a snapshot: its folder DATA/snapshots/ID is complete and marked as kept. */
MUST_CHECK int layer_stacks_add(struct layer_stacks *c, const char *snapshot, struct error *err);
/* Removes the mark of a snapshot. Does nothing without a mark. */
MUST_CHECK int layer_stacks_remove(struct layer_stacks *c, const char *snapshot, struct error *err);
/* Calls back with each snapshot. */
void layer_stacks_each(const struct layer_stacks *c,
                       void (*on_snapshot)(void *context, const char *id), void *context);
