/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/samples.h — where the samples of history.h are kept. Private to this folder.
 *
 * The tick takes them, one round at a time; any thread may read, and forget one that is deleted.
 * What was not sampled for an hour, or as long as a full history takes, is forgotten, too. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "fleet/history.h"

/* With more sandboxes than this, some have no history: it takes 14 KB each. */
#define SAMPLED_SANDBOXES_MAX 4096

struct sandbox_samples {
	pthread_mutex_t mutex;
	struct map rings; /* id -> struct sample_ring */
	int64_t round_at; /* monotonic, of the last round; of the ticking thread, as is the next */
	bool is_sampling; /* this round takes them */
};

void samples_init(struct sandbox_samples *s);
void samples_done(struct sandbox_samples *s);
/* Before a round of the tick. */
void samples_begin(struct fleet *f);
/* For each sandbox of the round. */
void samples_add(struct fleet *f, const struct sandbox_record *r);
void samples_forget(struct fleet *f, const char *id);
