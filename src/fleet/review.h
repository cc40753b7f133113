/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/review.h — a small sandbox without network that sees the layers of another one, and of a
 * state before, and whose agent compares them. Private to this folder. It has no row: who makes it
 * ends it, and a sweep does when that process is gone. */
#pragma once

#include "fleet/changes.h"
#include "fleet/parts.h"

struct file_review {
	struct fleet *fleet;
	struct cache_entry *entry;
	char id[ID_SIZE + 1];
};
MUST_CHECK int file_review_open(struct fleet *f, const struct sandbox_review *what,
                                struct file_review *ret, struct error *err);
void file_review_close(struct file_review *r); /* zeroed is fine */

/* At most `limit` changes after the path `after`. */
struct file_review_listing {
	const char *path, *after; /* "" = all, from the beginning */
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
/* A change as text, by the program `diff` of that sandbox. */
MUST_CHECK int file_review_diff(struct file_review *r, struct arena *a,
                                const struct sandbox_change *change, struct span *ret,
                                struct error *err);
