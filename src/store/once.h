/* SPDX-License-Identifier: Apache-2.0 */
/* store/once.h — requests that are to have their effect once, however often they are sent. Part of
 * the store's contract, see store.h.
 *
 * The first of them writes a row, with the id of the sandbox that it is about to make, and marks it
 * done; the others find it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

#define ONCE_HASH_SIZE 32
_Static_assert(ONCE_HASH_SIZE == KEY_HASH_SIZE, "one kind of column for both");

struct once_record {
	const char *project_id, *operation, *key;
	unsigned char hash[ONCE_HASH_SIZE]; /* SHA-256 of the request's body */
	const char *sandbox_id;
	bool done, created; /* created: the request has made the sandbox, and not found it */
	int64_t begun_at;
	enum sandbox_state actual; /* of the sandbox; only read. DELETED without a row */
};
/* ERROR_CONFLICT when there is one of this project, operation and key. */
MUST_CHECK int store_once_insert(struct store *s, const struct once_record *r, struct error *err);
MUST_CHECK int store_once_find(struct store *s, struct arena *a, const struct once_record *wanted,
                               struct once_record *ret, struct error *err);
/* These meet a row that names `seen_id`, else ERROR_CONFLICT. */
struct once_change {
	const char *project_id, *operation, *key;
	const char *seen_id;    /* the sandbox that the row names */
	const char *sandbox_id; /* the one that it is to name */
	bool created;
	int64_t now;
};
MUST_CHECK int store_once_take_over(struct store *s, const struct once_change *change,
                                    struct error *err);
MUST_CHECK int store_once_done(struct store *s, const struct once_change *change,
                               struct error *err);
MUST_CHECK int store_once_remove(struct store *s, const struct once_change *change,
                                 struct error *err);
MUST_CHECK int store_once_purge(struct store *s, int64_t before, struct error *err);
