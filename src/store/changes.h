/* SPDX-License-Identifier: Apache-2.0 */
/* store/changes.h — what the changes of a thread did to rows, for the audit: before and after.
 *
 * A caller that collects gets the changed members of each row that a table in changes.c names. They
 * are read inside the transaction that changes them. Secrets are never written: members that are
 * stored encrypted, hashes, and members with the names of changes.c become "set". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* Rows of one collection; more are counted only. */
#define STORE_CHANGES_MAX 16
#define STORE_CHANGES_BYTES_MAX 8000
/* Bytes of a text of a row. */
#define STORE_CHANGE_TEXT_MAX 512
#define STORE_CHANGE_MADE_MAX 128

struct store_changes {
	/* Members of a JSON object without its braces: "project default":{"name":"a"}. */
	struct buf before, after;
	unsigned count, left_out;
	/* Id of the row that was inserted: the first sandbox, else the first of all; "" = none. */
	char made[STORE_CHANGE_MADE_MAX];
	bool made_sandbox;
	struct store_changes_mark {
		size_t before, after;
		unsigned count, left_out;
		char made[STORE_CHANGE_MADE_MAX];
		bool made_sandbox;
	} mark; /* where the running transaction began */
};
#define STORE_CHANGES                                                                              \
	((struct store_changes){.before = BUF(STORE_CHANGES_BYTES_MAX),                            \
	                        .after = BUF(STORE_CHANGES_BYTES_MAX)})
void store_changes_done(struct store_changes *c);
/* From now on the store calls of this thread add to `c`; NULL ends the collection. */
void store_changes_collect(struct store_changes *c);
/* The collected rows as JSON objects, in the arena; size 0 without any. */
struct span store_changes_before(const struct store_changes *c, struct arena *a);
struct span store_changes_after(const struct store_changes *c, struct arena *a);
