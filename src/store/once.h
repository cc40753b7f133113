/* SPDX-License-Identifier: Apache-2.0 */
/* store/once.h — idempotent requests: repeated requests with the same key take effect once.
 *
 * The first request inserts a row with the id of the sandbox that it will make, and marks it done;
 * repeated requests find the row. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct store;

#define ONCE_HASH_SIZE 32

struct once_record {
	const char *project_id, *operation, *key;
	unsigned char hash[ONCE_HASH_SIZE]; /* SHA-256 of the request's body */
	const char *sandbox_id;
	bool done, created; /* created: the request made the sandbox instead of finding it */
	int64_t begun_at;
	enum sandbox_state actual; /* state of the sandbox; read-only. DELETED without a row */
};
/* ERROR_CONFLICT when a row of this project, operation and key exists. */
MUST_CHECK int store_once_insert(struct store *s, const struct once_record *r, struct error *err);
MUST_CHECK int store_once_find(struct store *s, struct arena *a, const struct once_record *wanted,
                               struct once_record *ret, struct error *err);
/* These calls require a row that names `seen_id`, else ERROR_CONFLICT. */
struct once_change {
	const char *project_id, *operation, *key;
	const char *seen_id;    /* the sandbox that the row names now */
	const char *sandbox_id; /* the sandbox that the row will name */
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
