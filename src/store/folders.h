/* SPDX-License-Identifier: Apache-2.0 */
/* store/folders.h — which data folder belongs to this store, for each server. Part of store.h.
 *
 * The folder has the same pairing and generation in a file: see fleet/pairing.h. */
#pragma once

#include "store/store.h"

struct folder_record {
	const char *node, *pairing;
	int64_t generation;
	const char *instance, *boot; /* of the process that has the folder open, and of its host */
	const char *place;           /* the folder's path */
	int64_t seen_at;             /* 0: that process has ended */
};
/* Makes or replaces the row of a node. On the disk when the call returns. */
MUST_CHECK int store_folder_put(struct store *s, const struct folder_record *r, struct error *err);
/* ERROR_NOT_FOUND when the store does not know the node. */
MUST_CHECK int store_folder_find(struct store *s, struct arena *a, const char *node,
                                 struct folder_record *ret, struct error *err);
/* The host's wall clock was set: adds `by_ms` to the times of the node's sandboxes that are not
 * deleted, and to those of their leases, so that what is left of each stays the same. */
MUST_CHECK int store_folder_shift(struct store *s, const char *node, int64_t by_ms,
                                  struct error *err);
/* Generation and time, of the row's own instance; else ERROR_CONFLICT. `is_lazy`: a crash of the
 * machine may lose it. */
MUST_CHECK int store_folder_beat(struct store *s, const struct folder_record *r, bool is_lazy,
                                 struct error *err);
