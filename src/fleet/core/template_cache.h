/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/template_cache.h — templates that are ready, found without a query of the store. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/templates.h"

struct fleet;
struct fleet_ref;
struct template_cache;

struct template_cache *template_cache_new(void);
void template_cache_free(struct template_cache *c);

/* By name or id; from the cache if the template is ready. */
MUST_CHECK int template_find(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                             struct template_record *ret, struct error *err);
/* Call it after every change of a template: empties the cache and wakes waiting threads. */
void templates_changed(struct fleet *f);
uint64_t template_cache_generation(struct template_cache *c);
/* False if the deadline passes without a change since `generation`. */
bool template_cache_wait(struct template_cache *c, uint64_t generation, int64_t deadline);
