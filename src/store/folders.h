/* SPDX-License-Identifier: Apache-2.0 */
/* store/folders.h — the data folder that belongs to this store, for each server.
 *
 * The folder has the same pairing and generation in a file: see fleet/recovery/pairing.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct buf;
struct error;
struct store;

struct folder_record {
	const char *node, *pairing;
	int64_t generation;
	const char *instance, *boot; /* of the process that has the folder open, and of its host */
	const char *place;           /* the folder's path */
	int64_t seen_at;             /* 0: the process has ended */
};
/* The line of DATA/pairing/store: node, pairing and generation. */
#define FOLDER_FORMAT "atoll-pairing-1"
void store_folder_add_line(const struct folder_record *r, struct buf *out);
/* Inserts or replaces the row of a node. On the disk when the call returns. */
MUST_CHECK int store_folder_put(struct store *s, const struct folder_record *r, struct error *err);
/* ERROR_NOT_FOUND when the store does not know the node. */
MUST_CHECK int store_folder_find(struct store *s, struct arena *a, const char *node,
                                 struct folder_record *ret, struct error *err);
/* After a jump of the host's wall clock: adds `by_ms` to the times of the node's sandboxes that are
 * not deleted, and of their leases, so remaining times stay the same. */
MUST_CHECK int store_folder_shift(struct store *s, const char *node, int64_t by_ms,
                                  struct error *err);
/* Writes generation and time when the row has this instance; else ERROR_CONFLICT. */
MUST_CHECK int store_folder_beat(struct store *s, const struct folder_record *r, bool is_lazy,
                                 struct error *err);
