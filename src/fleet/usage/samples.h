/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/usage/samples.h — the samples behind history.h.
 *
 * The tick takes them, one round at a time; any thread may read them, and forget those of a deleted
 * sandbox. A sandbox that has no new sample for an hour, or for as long as a full history takes, is
 * forgotten, too. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/map.h"

struct fleet;
struct sandbox_record;

/* A history takes 14 KB; sandboxes above this number have none. */
#define SAMPLED_SANDBOXES_MAX 4096

struct sandbox_samples {
	pthread_mutex_t mutex;
	struct map rings; /* id -> struct sample_ring */
	int64_t round_at; /* monotonic; of the ticking thread */
	bool is_sampling; /* this round takes samples; of the ticking thread */
};
void samples_init(struct sandbox_samples *s);
void samples_done(struct sandbox_samples *s);
void samples_forget(struct fleet *f, const char *id);
/* Of the tick, before it visits the sandboxes: decides whether this round takes samples. */
void samples_begin(struct fleet *f);
/* Of the tick, for each sandbox. */
void samples_add(struct fleet *f, const struct sandbox_record *r);
