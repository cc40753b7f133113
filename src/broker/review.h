/* SPDX-License-Identifier: Apache-2.0 */
/* broker/review.h — a sandbox that looks at another one's layers. Private to this folder.
 *
 * Whatever a sandbox left in its files is hostile: so the trees to be compared are mounted into a
 * sandbox of their own, with its ids, and its agent compares them. All are read-only but `now` of a
 * stopped sandbox that is to be changed. While it lives it is a user of the layers. */
#pragma once

#include "broker/box.h"
#include "wire/agent_files.h"

struct layer_review {
	char subject[ID_SIZE + 1]; /* of a sandbox or a snapshot */
	char base[ID_SIZE + 1];    /* of a snapshot; "" = the template */
	char template_name[SANDBOX_TEMPLATE_MAX];
	bool writes;
	/* by review_begin */
	bool is_sandbox;
	struct layer_stack now_stack, base_stack;
};
/* Of broker_create.review. */
MUST_CHECK int review_parse(const char *text, struct layer_review *ret, struct error *err);
/* Finds the layers, which are in use from now on. */
MUST_CHECK int review_begin(struct layer_review *r, struct sandboxes *b, const char *sandbox_id,
                            struct error *err);
/* Fine for a sandbox that is none. */
void review_end(struct layer_stacks *c, const char *sandbox_id);

/* In the order of review_paths; -1 = nothing to mount there. */
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
