/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/template_cache.h — templates that are ready, found without a query of the store. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "fleet/core/ref.h"
#include "store/templates.h"

struct fleet;

struct template_cache {
	pthread_mutex_t mutex; /* guards all of this */
	pthread_cond_t moved;  /* a template has changed */
	struct map ready;      /* "PROJECT/NAME" -> struct template_entry */
	uint64_t generation;   /* counts changes */
};
void template_cache_init(struct template_cache *c);
void template_cache_done(struct template_cache *c);

/* By name or id; from the cache if the template is ready. */
MUST_CHECK int template_find(struct fleet *f, struct arena *a, const struct fleet_ref *ref,
                             struct template_record *ret, struct error *err);
/* Call it after every change of a template: empties the cache and wakes waiting threads. */
void templates_changed(struct fleet *f);
uint64_t template_cache_generation(struct template_cache *c);
/* False if the deadline passes without a change since `generation`. */
bool template_cache_wait(struct template_cache *c, uint64_t generation, int64_t deadline);
