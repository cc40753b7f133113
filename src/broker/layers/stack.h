/* SPDX-License-Identifier: Apache-2.0 */
/* broker/layers/stack.h — a layer stack: the read-only layers that a sandbox's files lie on.
 *
 * A stack is a list of layer ids, the newest first; below the last one is the template. On disk it
 * is the text of a symbolic link: the kernel writes that as a whole together with its name, so that
 * no sync is needed. No link: no layers. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"

#define LAYER_STACK_MAX 64 /* TASK_LAYERS_MAX, too */
#define LAYER_STACK_LINK "chain"
#define ORIGIN_LINK "origin"
#define KEPT_LINK "kept"

struct layer_stack {
	unsigned count;
	char ids[LAYER_STACK_MAX][ID_SIZE + 1];
};

/* `path` is the path of the link. A missing link reads as an empty stack. */
MUST_CHECK int layer_stack_write(int folder, const char *path, const struct layer_stack *stack,
                                 struct error *err);
MUST_CHECK int layer_stack_read(int folder, const char *path, struct layer_stack *ret,
                                struct error *err);
/* Replaces the link in one step. */
MUST_CHECK int layer_stack_rewrite(int folder, const char *path, const struct layer_stack *stack,
                                   struct error *err);
#define LAYER_STACK_TEXT_SIZE (LAYER_STACK_MAX * (ID_SIZE + 1) + 1)
#define LAYER_STACK_NO_ORIGIN "none"
/* The text of ORIGIN_LINK of a sandbox that lies on this stack: as it is, or as it must become. */
MUST_CHECK int layer_stack_origin(int folder, const char *sandbox_id,
                                  const struct layer_stack *stack, char ret[LAYER_STACK_TEXT_SIZE],
                                  struct error *err);

/* The text of the link. */
MUST_CHECK int layer_stack_parse(struct layer_stack *ret, const char *text, struct error *err);
/* Replaces the layer `from` and all below it by `merged`. False when `from` is not in the stack. */
bool layer_stack_replace(struct layer_stack *stack, const char *from, const char *merged);
/* `top` on all of `below`. ERROR_LIMIT when that is too long. */
MUST_CHECK int layer_stack_put(struct layer_stack *ret, const char *top,
                               const struct layer_stack *below, struct error *err);
/* NULL is an empty stack. */
bool layer_stack_equals(const struct layer_stack *a, const struct layer_stack *b);
