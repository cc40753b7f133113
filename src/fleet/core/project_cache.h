/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/project_cache.h — rows of projects, found without a query of the store. */
#pragma once

#include "base/error.h"

struct arena;
struct error;
struct fleet;
struct project_cache;
struct project_record;

struct project_cache *project_cache_new(void);
void project_cache_free(struct project_cache *c);

/* The row as it was read last. A caller that acts on it gives its version to the store, which
 * refuses an old one; the caller then forgets the row and reads it again. */
MUST_CHECK int project_find(struct fleet *f, struct arena *a, const char *id,
                            struct project_record *ret, struct error *err);
/* Call it after a change of the project's row. */
void project_forget(struct fleet *f, const char *id);
/* Another server of the store may have changed any of them. */
void project_forget_all(struct fleet *f);
