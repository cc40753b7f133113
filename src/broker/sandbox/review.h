/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/review.h — a sandbox that compares the layers of another one.
 *
 * The files that a sandbox left are hostile. So the trees to be compared are mounted into a sandbox
 * of their own, with its ids, and its agent compares them. All trees are read-only, except `now` of
 * a stopped sandbox that is to be changed. While the review lives it is a user of the layers. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "broker/layers/stack.h"

#define REVIEW_TEMPLATE_MAX 64

struct layer_stacks;
struct sandboxes;

struct layer_review {
	char subject[ID_SIZE + 1]; /* a sandbox or a snapshot */
	char base[ID_SIZE + 1];    /* a snapshot; "": the template */
	char template_name[REVIEW_TEMPLATE_MAX];
	bool writes;
	/* set by review_begin: */
	bool is_sandbox;
	struct layer_stack now_stack, base_stack;
};
/* Parses broker_create.review. */
MUST_CHECK int review_parse(const char *text, struct layer_review *ret, struct error *err);
/* Finds the layers, which are in use from now on. */
MUST_CHECK int review_begin(struct layer_review *r, struct sandboxes *b, const char *sandbox_id,
                            struct error *err);
/* Does nothing for a sandbox that is no review. */
void review_end(struct layer_stacks *c, const char *sandbox_id);

/* In the order of review_paths; -1: nothing to mount there. */
#define REVIEW_TREES 4
struct review_trees {
	int fds[REVIEW_TREES];
};
extern const char *const review_paths[REVIEW_TREES];
struct review_maps {
	int ids_fd, stored_fd; /* see struct root_options */
};
MUST_CHECK int review_open(const struct layer_review *r, const struct sandboxes *b,
                           const struct review_maps *maps, struct review_trees *ret,
                           struct error *err);
void review_close(struct review_trees *t);
