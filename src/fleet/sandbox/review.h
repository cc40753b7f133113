/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/sandbox/review.h — a small sandbox without network whose agent compares the layers of
 * another sandbox with an earlier state. It has no row: its creator ends it, or a sweep after the
 * creator's process has died. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"

struct arena;
struct cache_entry;
struct error;
struct fleet;
struct sandbox_change;
struct sandbox_review;
struct span;

struct file_review {
	struct fleet *fleet;
	struct cache_entry *entry;
	char id[ID_SIZE + 1];
};
MUST_CHECK int file_review_open(struct fleet *f, const struct sandbox_review *what,
                                struct file_review *ret, struct error *err);
void file_review_close(struct file_review *r); /* zeroed is fine */

/* Asks for at most `limit` changes after the path `after`. */
struct file_review_listing {
	const char *path, *after; /* "": all paths, from the beginning */
	unsigned limit;
	int64_t deadline;
};
struct file_review_changes {
	struct sandbox_change *items; /* in the arena */
	size_t count;
};
MUST_CHECK int file_review_list(struct file_review *r, struct arena *a,
                                const struct file_review_listing *ask,
                                struct file_review_changes *ret, struct error *err);
/* The text of a change, made by the program `diff` of that sandbox. */
MUST_CHECK int file_review_diff(struct file_review *r, struct arena *a,
                                const struct sandbox_change *change, struct span *ret,
                                struct error *err);
