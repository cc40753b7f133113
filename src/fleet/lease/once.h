/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lease/once.h — requests with an idempotency key: the first request creates a sandbox,
 * later requests get its result.
 *
 *   fleet_once_begin ──> is_first: create the sandbox `id` ──> fleet_once_done or _failed
 *                    └─> else: `id` is the sandbox of the first request
 *
 * If the first request dies, the next request takes over. Keys are kept for 24 h. */
#pragma once

#include "fleet/core/waiting.h"
#include "store/once.h"

struct fleet;

#define ONCE_KEY_MAX 255

struct fleet_once {
	const char *project_id, *operation; /* operation: kind of the request */
	const char *key;
	unsigned char hash[ONCE_HASH_SIZE]; /* of the body */
	bool parks;                         /* see waiting.h */
	struct fleet_awaited awaited;       /* with `parks` */
};
struct fleet_once_found {
	bool is_first;
	const char *id; /* of the sandbox to create, or of the created one */
	bool created;   /* as passed to fleet_once_done */
};
/* ERROR_INVALID for a malformed key; ERROR_CONFLICT if the key came with another body before, or if
 * the first request does not finish in time. */
MUST_CHECK int fleet_once_begin(struct fleet *fleet, struct arena *a, const struct fleet_once *once,
                                struct fleet_once_found *ret, struct error *err);
struct fleet_once_result {
	const char *id; /* of the sandbox that was created or found */
	bool created;
};
void fleet_once_done(struct fleet *fleet, const struct fleet_once *once,
                     const struct fleet_once_found *found, const struct fleet_once_result *result);
/* The next request with the key tries again. */
void fleet_once_failed(struct fleet *fleet, const struct fleet_once *once,
                       const struct fleet_once_found *found);
