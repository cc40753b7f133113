/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/backups.h"
#include "fleet/parts.h"
#include "fleet/shared_work.h"

/* Tasks that wait, in all and of one project. */
#define WAITING_MAX 256
#define WAITING_PROJECT_MAX 64
#define REST_MAX_MS 1000

void waiting_init(struct fleet *f)
{
	const struct lane_options work = {
	        .at_once = (unsigned)f->config->builds_at_once,
	        .waiting_max = WAITING_MAX,
	        .waiting_project_max = WAITING_PROJECT_MAX,
	        .what = "builds and imports",
	};
	const struct lane_options backups = {
	        .at_once = FLEET_BACKUPS_AT_ONCE,
	        .waiting_max = WAITING_MAX,
	        .waiting_project_max = WAITING_PROJECT_MAX,
	        .what = "backups and archives",
	};

	pthread_mutex_init(&f->waiting.mutex, NULL);
	list_init(&f->waiting.creations);
	list_init(&f->waiting.builds);
	list_init(&f->waiting.works);
	pthread_cond_init(&f->waiting.work_done, NULL);
	f->waiting.work = lane_new(&work);
	f->waiting.backups = lane_new(&backups);
}

void waiting_done(struct fleet *f)
{
	shared_works_free(f);
	pthread_cond_destroy(&f->waiting.work_done);
	pthread_mutex_destroy(&f->waiting.mutex);
}

struct lane *fleet_work(struct fleet *fleet)
{
	return fleet->waiting.work;
}

struct lane *fleet_backup_work(struct fleet *fleet)
{
	return fleet->waiting.backups;
}

void fleet_on_change(struct fleet *fleet, void (*tell)(void *context, const char *key),
                     void *context)
{
	pthread_mutex_lock(&fleet->waiting.mutex);
	fleet->waiting.tell = tell;
	fleet->waiting.context = context;
	pthread_mutex_unlock(&fleet->waiting.mutex);
}

void waiting_announce(struct fleet *f, const char *key)
{
	pthread_mutex_lock(&f->waiting.mutex);
	if (f->waiting.tell)
		f->waiting.tell(f->waiting.context, key);
	pthread_mutex_unlock(&f->waiting.mutex);
}

/* FNV-1a of 64 bits: names are longer than a key may be. */
void waiting_key(const char *kind, const char *name, char ret[ERROR_AWAITS_MAX])
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	(void)snprintf(ret, ERROR_AWAITS_MAX, "%s:%016" PRIx64, kind, hash);
}

int64_t waiting_begun(const struct fleet_awaited *awaited, const char *key)
{
	int64_t now = clock_monotonic_ms();

	return awaited->key && strcmp(awaited->key, key) == 0 ? now - awaited->for_ms : now;
}

int waiting_rest_ms(const struct fleet_awaited *awaited, const char *key, int least_ms)
{
	int64_t rest = (clock_monotonic_ms() - waiting_begun(awaited, key)) / 4;

	if (rest > REST_MAX_MS)
		return REST_MAX_MS;
	return rest < least_ms ? least_ms : (int)rest;
}
