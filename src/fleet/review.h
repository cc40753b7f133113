/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/review.h — a small sandbox without network that sees the layers of another one, and of a
 * state before, and whose agent compares them. Private to this folder. It has no row: who makes it
 * ends it, and a sweep does when that process is gone. */
#pragma once

#include "fleet/changes.h"
#include "fleet/parts.h"

struct review {
	struct fleet *fleet;
	struct slot *slot;
	char id[ID_SIZE + 1];
};
MUST_CHECK int review_open(struct fleet *f, const struct sandbox_review *what, struct review *ret,
                           struct error *err);
void review_close(struct review *r); /* zeroed is fine */

/* At most `limit` changes after the path `after`. */
struct review_ask {
	const char *path, *after; /* "" = all, from the beginning */
	unsigned limit;
	int64_t deadline;
};
struct review_found {
	struct sandbox_change *items; /* in the arena */
	size_t count;
};
MUST_CHECK int review_list(struct review *r, struct arena *a, const struct review_ask *ask,
                           struct review_found *ret, struct error *err);
/* A change as text, by the program `diff` of that sandbox. */
MUST_CHECK int review_diff(struct review *r, struct arena *a, const struct sandbox_change *change,
                           struct span *ret, struct error *err);
