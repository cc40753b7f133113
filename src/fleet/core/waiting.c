/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "config/config.h"
#include "fleet/core/background_work.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/shared_work.h"
#include "fleet/core/work_lane.h"

/* Tasks that wait, in all and of one project. */
#define WAITING_MAX 256
#define WAITING_PROJECT_MAX 64
#define REST_MAX_MS 1000

void awaited_init(struct fleet *f)
{
	const struct work_lane_options work = {
	        .at_once = (unsigned)f->config->builds_at_once,
	        .waiting_max = WAITING_MAX,
	        .waiting_project_max = WAITING_PROJECT_MAX,
	        .what = "builds and imports",
	};
	const struct work_lane_options backups = {
	        .at_once = FLEET_BACKUPS_AT_ONCE,
	        .waiting_max = WAITING_MAX,
	        .waiting_project_max = WAITING_PROJECT_MAX,
	        .what = "backups and archives",
	};

	pthread_mutex_init(&f->background->mutex, NULL);
	list_init(&f->background->waiters);
	list_init(&f->background->first_builds);
	list_init(&f->background->shared);
	list_init(&f->background->endings);
	thread_condition_init(&f->background->ending_done);
	pthread_cond_init(&f->background->shared_done, NULL);
	f->background->lane = work_lane_new(&work);
	f->background->backup_lane = work_lane_new(&backups);
}

void awaited_done(struct fleet *f)
{
	shared_works_free(f);
	pthread_cond_destroy(&f->background->shared_done);
	pthread_cond_destroy(&f->background->ending_done);
	pthread_mutex_destroy(&f->background->mutex);
}

struct work_lane *fleet_work(struct fleet *fleet)
{
	return fleet->background->lane;
}

struct work_lane *fleet_backup_work(struct fleet *fleet)
{
	return fleet->background->backup_lane;
}

void fleet_on_change(struct fleet *fleet, void (*tell)(void *context, const char *key),
                     void *context)
{
	pthread_mutex_lock(&fleet->background->mutex);
	fleet->background->tell = tell;
	fleet->background->context = context;
	pthread_mutex_unlock(&fleet->background->mutex);
}

void awaited_announce(struct fleet *f, const char *key)
{
	pthread_mutex_lock(&f->background->mutex);
	if (f->background->tell)
		f->background->tell(f->background->context, key);
	pthread_mutex_unlock(&f->background->mutex);
}

/* FNV-1a of 64 bits: names are longer than a key may be. */
void awaited_key(const char *kind, const char *name, char ret[ERROR_AWAITS_MAX])
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	(void)snprintf(ret, ERROR_AWAITS_MAX, "%s:%016" PRIx64, kind, hash);
}

int64_t awaited_since(const struct fleet_awaited *awaited, const char *key)
{
	int64_t now = clock_monotonic_ms();

	return awaited->key && strcmp(awaited->key, key) == 0 ? now - awaited->for_ms : now;
}

int awaited_rest_ms(const struct fleet_awaited *awaited, const char *key, int least_ms)
{
	int64_t rest = (clock_monotonic_ms() - awaited_since(awaited, key)) / 4;

	if (rest > REST_MAX_MS)
		return REST_MAX_MS;
	return rest < least_ms ? least_ms : (int)rest;
}
