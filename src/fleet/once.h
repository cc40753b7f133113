/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/once.h — requests with an idempotency key: the first makes a sandbox, the others are told
 * what it made. Part of the fleet's contract, see fleet.h.
 *
 *   fleet_once_begin ──> is_first: make the sandbox `id` ──> fleet_once_done or fleet_once_failed
 *                    └─> else: `id` is what the first one made
 *
 * A first one that dies on the way is taken over by the next. Kept for 24 h. */
#pragma once

#include "fleet/waiting.h"
#include "store/once.h"

#define ONCE_KEY_MAX 255

struct fleet_once {
	const char *project_id, *operation; /* operation: what kind of request */
	const char *key;
	unsigned char hash[ONCE_HASH_SIZE]; /* of the request's body */
	bool parks;                         /* see waiting.h */
	struct fleet_awaited awaited;       /* with it */
};
struct fleet_once_found {
	bool is_first;
	const char *id; /* of the sandbox: to be made, or made */
	bool created;   /* as fleet_once_done was told */
};
/* ERROR_INVALID for a key that is none; ERROR_CONFLICT when it came with another body before, or
 * the first one does not come to an end. */
MUST_CHECK int fleet_once_begin(struct fleet *fleet, struct arena *a, const struct fleet_once *once,
                                struct fleet_once_found *ret, struct error *err);
struct fleet_once_result {
	const char *id; /* of the sandbox that was made or found in the end */
	bool created;
};
void fleet_once_done(struct fleet *fleet, const struct fleet_once *once,
                     const struct fleet_once_found *found, const struct fleet_once_result *result);
/* The next one may try again. */
void fleet_once_failed(struct fleet *fleet, const struct fleet_once *once,
                       const struct fleet_once_found *found);
