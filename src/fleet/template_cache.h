/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/template_cache.h — templates that are ready, without asking the store. Part of parts.h. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/map.h"

struct template_cache {
	pthread_mutex_t mutex; /* over all of this */
	pthread_cond_t moved;  /* a template has changed */
	struct map ready;      /* "PROJECT/NAME" -> struct template_entry */
	uint64_t generation;   /* counts changes */
};

void template_cache_init(struct template_cache *c);
void template_cache_done(struct template_cache *c);
