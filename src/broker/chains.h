/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layer_stacks.h — read-only layers, and who lies on them. Private to this folder.
 *
 *   DATA/snapshots/ID/{upper,layer stack,kept}   one layer: what a sandbox had on top when it was
 * taken DATA/sandboxes/ID/layer stack                the layers below a sandbox's own files
 *   DATA/sandboxes/ID/origin               those that it began with, from its first snapshot on
 *
 * A layer stack is the ids of layers, the newest first; below the last one is the template. On disk
 * it is the text of a symbolic link: that comes to the disk as a whole and together with its name,
 * so that no sync is needed. No link: no layers. "kept" says that the layer is a snapshot that
 * somebody may still ask for; without it, it lives as long as a layer stack names it. A layer in no
 * layer stack and not kept is nobody's: it goes at once, or at the next start. */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "base/map.h"
#include "broker/host.h"

#define LAYER_STACK_MAX 64
#define LAYER_STACK_LINK "chain"
#define ORIGIN_LINK "origin"
#define KEPT_LINK "kept"

struct layer_stack {
	unsigned count;
	char ids[LAYER_STACK_MAX][ID_SIZE + 1];
};

/* `path` is that of the link. Reading none gives an empty layer stack. */
MUST_CHECK int layer_stack_write(int folder, const char *path, const struct layer_stack *stack,
                                 struct error *err);
MUST_CHECK int layer_stack_read(int folder, const char *path, struct layer_stack *ret,
                                struct error *err);
/* In place of the one that is there, in one step. */
MUST_CHECK int layer_stack_rewrite(int folder, const char *path, const struct layer_stack *stack,
                                   struct error *err);
/* Pure: the layer `from` and all below it are `merged` now. False when it is not in it. */
bool layer_stack_replace(struct layer_stack *stack, const char *from, const char *merged);
/* What ORIGIN_LINK of a sandbox that lies on this layer stack says, or is to say. */
#define LAYER_STACK_TEXT_SIZE (LAYER_STACK_MAX * (ID_SIZE + 1) + 1)
MUST_CHECK int layer_stack_origin(int folder, const char *sandbox_id,
                                  const struct layer_stack *stack, char ret[LAYER_STACK_TEXT_SIZE],
                                  struct error *err);
/* Pure: the link's text. */
MUST_CHECK int layer_stack_parse(struct layer_stack *ret, const char *text, struct error *err);
/* `top` and all of `below`. ERROR_LIMIT when that is too long. */
MUST_CHECK int layer_stack_put(struct layer_stack *ret, const char *top,
                               const struct layer_stack *below, struct error *err);

/* NULL is an empty one. */
bool layer_stack_equals(const struct layer_stack *a, const struct layer_stack *b);

struct layer_stacks {
	struct host *host;
	struct map layers; /* id -> struct layer */
	struct map users;  /* id of a sandbox, or of a job -> struct layer stack; empty ones are not
	                      in it */
	bool is_incomplete; /* a layer stack could not be read: what it names must not go */
};

void layer_stacks_init(struct layer_stacks *c, struct host *host);
void layer_stacks_close(struct layer_stacks *c);
/* At start: what the folders say. Throws layers away that are nobody's. */
MUST_CHECK int layer_stacks_adopt(struct layer_stacks *c, struct error *err);
/* NULL: it lies on its template. Valid until the next change. */
const struct layer_stack *layer_stacks_of(const struct layer_stacks *c, const char *user);
/* Of something that is to begin with this snapshot. */
MUST_CHECK int layer_stacks_find(const struct layer_stacks *c, const char *snapshot,
                                 struct layer_stack *ret, struct error *err);
/* What a user began with: a snapshot, or a layer that it lies on and that is none any more; "" is
 * its template. */
MUST_CHECK int layer_stacks_find_origin(const struct layer_stacks *c, const char *user,
                                        const char *origin, struct layer_stack *ret,
                                        struct error *err);
/* In place of what it has; NULL or empty: nothing. Copied. */
void layer_stacks_set(struct layer_stacks *c, const char *user, const struct layer_stack *stack);
/* The same for what somebody has besides that. */
enum layer_stack_role {
	LAYER_STACK_ORIGIN,  /* what a sandbox began with, which a reset gives it again */
	LAYER_STACK_MOUNTED, /* what a sandbox that runs has mounted, see flatten.h */
	LAYER_STACK_MERGED,  /* what is being merged into a layer of that name */
	LAYER_STACK_NOW,     /* what a review looks at */
	LAYER_STACK_BASE,
	LAYER_STACK_TRASHED, /* a snapshot in the trash, and what lies below it */
};
void layer_stacks_set_role(struct layer_stacks *c, const char *id, enum layer_stack_role role,
                           const struct layer_stack *stack);
const struct layer_stack *layer_stacks_of_role(const struct layer_stacks *c, const char *id,
                                               enum layer_stack_role role);
/* The first layer stack that is wanted: of a sandbox with files, or, `sandbox` being NULL, of what
 * would begin with a snapshot. False when none is. */
bool layer_stacks_search(const struct layer_stacks *c,
                         bool (*is_wanted)(void *context, const char *sandbox_id,
                                           const struct layer_stack *stack),
                         void *context, struct layer_stack *ret);
/* The layer `from`, with all below it, is the same as the layer `merged`, whose folder is whole:
 * every layer stack with it gets that instead, the sandboxes' where on_replace agrees. When none is
 * left that has it, `merged` goes. */
void layer_stacks_replace(struct layer_stacks *c, const char *from, const char *merged,
                          bool (*on_replace)(void *context, const char *sandbox_id,
                                             const struct layer_stack *old),
                          void *context);
/* What a folder of a sandbox's files says, below `folder`, of the user `id`. */
MUST_CHECK int layer_stacks_read_user(struct layer_stacks *c, int folder, const char *name,
                                      const char *id, struct error *err);
/* A sandbox's files are others than before: what their folder says. */
void layer_stacks_reread(struct layer_stacks *c, const char *sandbox_id);
/* The folder DATA/snapshots/ID is whole, and kept. */
MUST_CHECK int layer_stacks_add(struct layer_stacks *c, const char *snapshot, struct error *err);
/* It is no snapshot any more. Fine when it is none. */
MUST_CHECK int layer_stacks_remove(struct layer_stacks *c, const char *snapshot, struct error *err);
/* Calls back with each snapshot. */
void layer_stacks_each(const struct layer_stacks *c,
                       void (*on_snapshot)(void *context, const char *id), void *context);
