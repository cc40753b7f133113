/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/e2b/drafts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "edge/tables.h"

#define DRAFTS_MAX 256
#define KEPT_MS (3600 * INT64_C(1000))

struct e2b_drafts {
	pthread_mutex_t mutex;
	struct e2b_draft items[DRAFTS_MAX]; /* an empty id: unused */
};

struct e2b_drafts *e2b_drafts_new(void)
{
	struct e2b_drafts *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	pthread_mutex_init(&d->mutex, NULL);
	return d;
}

void e2b_drafts_free(struct e2b_drafts *d)
{
	if (!d)
		return;
	pthread_mutex_destroy(&d->mutex);
	free(d);
}

/* With the mutex: the one of that id, else the oldest, which an unused one is. */
static struct e2b_draft *choose(struct e2b_drafts *d, const char *id)
{
	struct e2b_draft *oldest = &d->items[0];

	for (size_t i = 0; i < DRAFTS_MAX; i++) {
		if (strcmp(d->items[i].id, id) == 0)
			return &d->items[i];
		if (d->items[i].made_at < oldest->made_at)
			oldest = &d->items[i];
	}
	return oldest;
}

void e2b_draft_put(struct e2b_drafts *d, const struct e2b_draft *draft)
{
	pthread_mutex_lock(&d->mutex);
	*choose(d, draft->id) = *draft;
	pthread_mutex_unlock(&d->mutex);
}

bool e2b_draft_find(struct e2b_drafts *d, const char *project_id, const char *id,
                    struct e2b_draft *ret)
{
	const struct e2b_draft *found;
	bool is_there;

	pthread_mutex_lock(&d->mutex);
	found = choose(d, id);
	is_there = strcmp(found->id, id) == 0 && strcmp(found->project_id, project_id) == 0 &&
	           clock_monotonic_ms() - found->made_at < KEPT_MS;
	if (is_there)
		*ret = *found;
	pthread_mutex_unlock(&d->mutex);
	return is_there;
}
