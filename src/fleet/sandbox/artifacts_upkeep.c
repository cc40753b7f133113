/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts that expire or go with their project, and their metering. */

#include <string.h>

#include "base/id.h"
#include "blob/blob.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/retention.h"
#include "fleet/sandbox/artifacts.h"
#include "fleet/usage/meters_state.h"
#include "store/artifacts.h"
#include "store/usage.h"

#define PAGE_SIZE 500
#define MIB ((int64_t)1 << 20)

int artifacts_end(struct fleet *f, const char *project_id, struct error *err)
{
	const struct artifact_filter filter = {.project_id = project_id, .limit = PAGE_SIZE};
	struct artifact_list list;

	if (!f->blobs)
		return 0;
	do {
		AUTO(arena_done) struct arena arena = {0};

		if (store_artifact_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			if (artifact_retire(f, &list.items[i], err) < 0)
				return -1;
	} while (list.count > 0);
	return 0;
}

int artifacts_purge(struct fleet *f, bool at_boot, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct artifact_due due = {
	        .node = f->node, .now = fleet_retention_ms(f), .is_boot = at_boot};
	struct artifact_list list;
	struct error problem = {0};

	if (!f->blobs)
		return 0;
	blob_tidy(f->blobs);
	if (store_artifact_list_due(f->store, &arena, &due, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (artifact_retire(f, &list.items[i], &problem) < 0)
			log_warning("an artifact is cleared up later",
			            TEXT("artifact", list.items[i].id), FAILURE(&problem));
	return 0;
}

static void add_hour(struct fleet *f, struct arena *a, struct artifact_usage *usage,
                     struct usage_record *row, const struct usage_piece *piece)
{
	const struct artifact_record *r = usage->seen;
	/* Artifacts are counted in whole MiB, as disks are; the smallest counts as one. */
	int64_t mib = (r->size_bytes + MIB - 1) / MIB;
	int64_t mib_s = mib * ((piece->until - piece->from) / 1000), nano = 0;
	struct id id = id_new();
	struct error err = {0};

	if (price_storage(&f->meters->prices, mib_s, &nano, &err) < 0)
		log_error("an artifact is not charged", TEXT("artifact", r->id), FAILURE(&err));
	*row = (struct usage_record){
	        .id = arena_text(a, id.text),
	        .project_id = r->project_id,
	        .key_id = r->key_id,
	        .sandbox_id = r->sandbox_id,
	        .run = r->run,
	        .reason = USAGE_STORAGE,
	        .hour = piece->hour,
	        .storage_mib_s = mib_s,
	        .usd_micro = price_charge(nano, &usage->unbilled_nano),
	        .started_at = piece->from,
	        .ended_at = piece->until,
	};
}

#define PIECES_MAX 48
static int meter_artifact(struct fleet *f, const struct artifact_record *r, int64_t now,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct usage_due due = {r->metered_at, now, now - r->metered_at};
	struct usage_piece pieces[PIECES_MAX];
	struct usage_record rows[PIECES_MAX];
	struct artifact_usage usage = {
	        .seen = r, .metered_at = now, .unbilled_nano = r->unbilled_nano, .rows = rows};

	usage.row_count = usage_split(&due, pieces, PIECES_MAX);
	for (size_t i = 0; i < usage.row_count; i++)
		add_hour(f, &arena, &usage, &rows[i], &pieces[i]);
	return store_artifact_usage_write(f->store, &usage, err);
}

int artifacts_meter(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	int64_t now = clock_unix_ms();
	struct artifact_list list;

	if (store_artifact_list_unmetered(f->store, &arena, f->node, now - USAGE_HOUR_MS, &list,
	                                  err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++)
		if (meter_artifact(f, &list.items[i], now, err) < 0)
			return -1;
	return 0;
}
