/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/project_cache.h — projects, without asking the store. Part of parts.h, which has the calls.
 */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "fleet/fleet.h"

struct project_cache {
	pthread_mutex_t mutex; /* over all of this */
	struct map by_id;      /* struct project_entry */
};

void project_cache_init(struct project_cache *c);
void project_cache_done(struct project_cache *c);

/* The row as it was when it was read last: whoever acts on it tells the store its version, which
 * refuses when there is another one, and then forgets it. */
MUST_CHECK int project_find(struct fleet *f, struct arena *a, const char *id,
                            struct project_record *ret, struct error *err);
void project_forget(struct fleet *f, const char *id);
