/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/trash.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/pairing_parts.h"
#include "fleet/parts.h"
#include "provider/snapshots.h"
#include "provider/trash.h"

#define STOP_MS 2000

/* ---- orphans ---- */

/* The programs inside get their time to write what they have. */
static void stop_orphan(struct fleet *f, const char *id, int64_t stop_until)
{
	int64_t left = stop_until - clock_monotonic_ms();
	struct error err = {0};

	if (left <= 0 || !(f->ops->abilities & PROVIDER_CAN_STOP))
		return;
	if (f->ops->stop(f->provider, id, left < STOP_MS ? left : STOP_MS,
	                 deadline_in(CALL_TIMEOUT_MS), &err) < 0)
		log_warning("an orphan is ended without a stop", TEXT("sandbox", id),
		            FAILURE(&err));
}

static int remove_orphan(struct fleet *f, enum broker_trash_kind kind, const char *id,
                         struct error *err)
{
	const struct provider_trash what = {.kind = kind,
	                                    .id = id,
	                                    .reason = BROKER_TRASH_ORPHAN,
	                                    .keep_ms = f->config->orphans_keep_ms};
	int64_t deadline = deadline_in(CALL_TIMEOUT_MS);

	atomic_fetch_add(&f->trash.orphans, 1);
	if (f->ops->trash)
		return f->ops->trash->put(f->provider, &what, deadline, err);
	return kind == BROKER_TRASH_SANDBOX
	               ? f->ops->destroy(f->provider, id, deadline, err)
	               : f->ops->snapshots->remove(f->provider, id, deadline, err);
}

/* Nothing in the store knows it. What says that it is another server's is left to people. */
void orphan_remove(struct fleet *f, const struct provider_entry *entry, int64_t stop_until)
{
	struct error err = {0};

	if (entry->owner[0] && strcmp(entry->owner, f->node) != 0) {
		log_warning("an orphan says that it is another server's, and is left",
		            TEXT("sandbox", entry->id), TEXT("owner", entry->owner));
		return;
	}
	log_warning("an orphan goes to the trash: no row of the store knows it",
	            TEXT("sandbox", entry->id), NUMBER("keep_ms", f->config->orphans_keep_ms));
	if (entry->running)
		stop_orphan(f, entry->id, stop_until);
	if (remove_orphan(f, BROKER_TRASH_SANDBOX, entry->id, &err) < 0)
		log_warning("an orphan is left", TEXT("sandbox", entry->id), FAILURE(&err));
}

void orphan_snapshot_remove(struct fleet *f, const char *id)
{
	struct error err = {0};

	log_warning("an orphan snapshot goes to the trash: no row of the store knows it",
	            TEXT("snapshot", id), NUMBER("keep_ms", f->config->orphans_keep_ms));
	if (remove_orphan(f, BROKER_TRASH_SNAPSHOT, id, &err) < 0)
		log_warning("an orphan snapshot is left", TEXT("snapshot", id), FAILURE(&err));
}

/* ---- what is in it ---- */

void trash_tick(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_trash_list list;
	struct error err = {0};
	uint64_t bytes = 0;

	if (!f->ops->trash)
		return;
	if (f->ops->trash->list(f->provider, f->config->trash_bytes_max, &arena, &list, &err) < 0) {
		log_warning("the trash is not looked at", FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].size_bytes > 0)
			bytes += (uint64_t)list.items[i].size_bytes;
	atomic_store(&f->trash.entries, list.count);
	atomic_store(&f->trash.bytes, bytes);
}

struct fleet_trash_counts fleet_trash_counts_get(const struct fleet *fleet)
{
	return (struct fleet_trash_counts){
	        .orphans = atomic_load(&fleet->trash.orphans),
	        .held = atomic_load(&fleet->trash.held),
	        .entries = atomic_load(&fleet->trash.entries),
	        .bytes = atomic_load(&fleet->trash.bytes),
	};
}
