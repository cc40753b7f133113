/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/project_cache.h — rows of projects, found without a query of the store. */
#pragma once

#include <pthread.h>

#include "base/map.h"

struct arena;
struct error;
struct fleet;
struct project_record;

struct project_cache {
	pthread_mutex_t mutex; /* guards all of this */
	struct map by_id;      /* struct project_entry */
};
void project_cache_init(struct project_cache *c);
void project_cache_done(struct project_cache *c);

/* The row as it was read last. A caller that acts on it gives its version to the store, which
 * refuses an old one; the caller then forgets the row and reads it again. */
MUST_CHECK int project_find(struct fleet *f, struct arena *a, const char *id,
                            struct project_record *ret, struct error *err);
void project_forget(struct fleet *f, const char *id);
