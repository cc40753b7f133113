/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/server/pair.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/pairing_state.h"
#include "fleet/template/templates.h"
#include "provider/entries.h"
#include "provider/provider.h"
#include "provider/snapshots.h"
#include "provider/volume.h"
#include "store/folders.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"

/* A running server beats at least once in WATCH_MS; a server that is silent for SILENT_MS is gone.
 */
#define WATCH_MS 12000
#define SILENT_MS (5 * 60 * 1000)

struct folder_survey {
	bool has_file, has_row;
	struct pairing_file file;
	struct folder_record row;
	size_t sandboxes, unknown_sandboxes, snapshots, unknown_snapshots, volumes;
};

static int is_known(int found, struct error *err)
{
	if (found == 0)
		return 1;
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

static int knows_sandbox(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;

	return is_known(store_sandbox_find(f->store, &arena, NULL, id, &r, err), err);
}

static int knows_snapshot(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct snapshot_record r;

	return is_known(store_snapshot_find(f->store, &arena, NULL, id, &r, err), err);
}

static int count_unknown(struct fleet *f, const struct provider_list *list,
                         int (*knows)(struct fleet *f, const char *id, struct error *err),
                         size_t *ret, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		int known = knows(f, list->entries[i].id, err);

		if (known < 0)
			return -1;
		*ret += known == 0;
	}
	return 0;
}

static int count_things(struct fleet *f, struct folder_survey *look, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct provider_list list;

	if (f->ops->list(f->provider, &arena, &list, err) < 0 ||
	    count_unknown(f, &list, knows_sandbox, &look->unknown_sandboxes, err) < 0)
		return -1;
	look->sandboxes = list.count;
	if (f->ops->abilities & PROVIDER_CAN_SNAPSHOT) {
		if (f->ops->snapshots->list(f->provider, &arena, &list, err) < 0 ||
		    count_unknown(f, &list, knows_snapshot, &look->unknown_snapshots, err) < 0)
			return -1;
		look->snapshots = list.count;
	}
	if (f->ops->abilities & PROVIDER_CAN_VOLUME) {
		if (f->ops->volumes->list(f->provider, &arena, &list, err) < 0)
			return -1;
		look->volumes = list.count;
	}
	return 0;
}

static int survey_folder(struct fleet *f, struct arena *a, struct folder_survey *ret,
                         struct error *err)
{
	int file = pairing_read_file(f, &ret->file, err), row;

	if (file < 0)
		return -1;
	row = is_known(store_folder_find(f->store, a, f->node, &ret->row, err), err);
	if (row < 0)
		return -1;
	ret->has_file = file > 0;
	ret->has_row = row > 0;
	return count_things(f, ret, err);
}

static int refuse_pairing(const struct fleet *f, const struct folder_survey *look, const char *why,
                          struct error *err)
{
	(void)FAIL(err, ERROR_CONFLICT,
	           "the store does not fit to the data folder: %s; it knows %zu of %zu sandboxes "
	           "and %zu of %zu snapshots there",
	           why, look->sandboxes - look->unknown_sandboxes, look->sandboxes,
	           look->snapshots - look->unknown_snapshots, look->snapshots);
	error_hint(err, "nothing was changed: start with its own store, or run 'atoll recover' "
	                "(makes rows) or 'atoll serve --adopt' (unknown things go to the trash)");
	(void)f;
	return -1;
}

static int check_ids(const struct fleet *f, const struct folder_survey *look, struct error *err)
{
	char why[120];

	if (!look->has_file)
		return 0;
	if (strcmp(look->file.node, f->node) != 0) {
		(void)snprintf(why, sizeof(why), "DATA/node.id says %s, the folder was used as %s",
		               f->node, look->file.node);
		return refuse_pairing(f, look, why, err);
	}
	if (!look->has_row)
		return refuse_pairing(f, look, "it has no row for this folder's node", err);
	if (strcmp(look->row.pairing, look->file.id) != 0)
		return refuse_pairing(f, look, "it belongs to another data folder", err);
	if (look->row.generation < look->file.generation) {
		(void)snprintf(why, sizeof(why),
		               "it is an older copy, of generation %" PRId64 " and not %" PRId64,
		               look->row.generation, look->file.generation);
		return refuse_pairing(f, look, why, err);
	}
	return 0;
}

static int check_fit(const struct fleet *f, const struct folder_survey *look, struct error *err)
{
	size_t unknown = look->unknown_sandboxes + look->unknown_snapshots;
	size_t all = look->sandboxes + look->snapshots;

	if (all + look->volumes == 0)
		return 0;
	if (check_ids(f, look, err) < 0)
		return -1;
	if (unknown > 0 && unknown == all && !look->has_row)
		return refuse_pairing(f, look, "it is empty", err);
	if (orphans_are_too_many(f, unknown, all - unknown))
		return refuse_pairing(f, look, "more are unknown than 'orphans_max'", err);
	return 0;
}

static int read_boot(struct pairing *p, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(64);

	if (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text, err) < 0)
		return -1;
	(void)snprintf(p->boot, sizeof(p->boot), "%.36s", buf_text(&text));
	return 0;
}

static bool may_live_elsewhere(const struct fleet *f, const struct folder_survey *look)
{
	int64_t age = clock_unix_ms() - look->row.seen_at;

	return look->has_row && look->row.seen_at > 0 && age < SILENT_MS && age > -SILENT_MS &&
	       strcmp(look->row.boot, f->pairing->boot) != 0;
}

/* On this host the lock of the node's name decides; on others only the beat shows a server. */
static int check_elsewhere(struct fleet *f, const struct folder_survey *look, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct timespec second = {.tv_sec = 1};
	int64_t deadline = deadline_after(WATCH_MS);
	struct folder_record now;

	if (!may_live_elsewhere(f, look))
		return 0;
	log_info("another host had this data folder open: seeing whether it still has",
	         NUMBER("for_ms", WATCH_MS));
	while (clock_monotonic_ms() < deadline) {
		(void)nanosleep(&second, NULL);
		if (store_folder_find(f->store, &arena, f->node, &now, err) < 0)
			return -1;
		if (now.seen_at == 0)
			return 0;
		if (now.seen_at == look->row.seen_at)
			continue;
		(void)FAIL(err, ERROR_CONFLICT,
		           "another host runs a server of node '%s' on this store, on its folder "
		           "'%.100s'",
		           f->node, now.place);
		return FAIL_HINT(
		        err, "one of the two folders is a copy: stop that server before; another "
		             "server needs a data folder of its own");
	}
	return 0;
}

/* The store is written first: a folder ahead of its store means that the store is an old copy. */
static int take_folder(struct fleet *f, const struct folder_survey *look, struct error *err)
{
	struct pairing *p = f->pairing;
	struct id fresh = id_new();
	struct folder_record row;

	p->generation = 1 + (look->has_file ? look->file.generation : 0);
	if (look->has_row && look->row.generation >= p->generation)
		p->generation = look->row.generation + 1;
	(void)snprintf(p->id, sizeof(p->id), "%s", look->has_row ? look->row.pairing : fresh.text);
	row = pairing_row(f);
	if (store_folder_put(f->store, &row, err) < 0 || pairing_write_file(f, err) < 0)
		return -1;
	p->is_open = true;
	return 0;
}

static enum sandbox_state state_of(const struct provider_entry *entry)
{
	if (!entry->running)
		return SANDBOX_STOPPED;
	return entry->paused ? SANDBOX_PAUSED : SANDBOX_STARTED;
}

static void log_made_rows(const struct notes_made *made)
{
	log_warning("rows were made again from the data folder",
	            NUMBER("sandboxes", made->sandboxes), NUMBER("leases", made->leases),
	            NUMBER("volumes", made->volumes), NUMBER("mounts", made->mounts),
	            NUMBER("snapshots", made->snapshots));
	log_warning("not in the data folder, and lost with the store: keys but the first, members, "
	            "settings of everybody's templates, projects and templates without a sandbox, "
	            "volume "
	            "or snapshot, layers of builds, configs, secrets, webhooks, jobs, services, "
	            "grants of previews, budgets, events and usage");
}

/* Things that cannot be recovered go to the trash as orphans. */
static int make_rows(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct notes_made made = {0};
	struct provider_list list;
	struct error problem = {0};
	unsigned added;

	if (fleet_templates_seed(f, &added, err) < 0 ||
	    f->ops->list(f->provider, &arena, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct provider_entry *entry = &list.entries[i];
		int known = knows_sandbox(f, entry->id, err);

		if (known < 0)
			return -1;
		if (known == 0 && note_make_row(f, entry->id, state_of(entry), &made, &problem) < 0)
			log_warning("a sandbox is not recovered", TEXT("sandbox", entry->id),
			            FAILURE(&problem));
	}
	if (note_make_volumes(f, &made, err) < 0 || note_make_snapshots(f, &made, err) < 0)
		return -1;
	log_made_rows(&made);
	return 0;
}

int fleet_pair(struct fleet *fleet, enum fleet_claim claim, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct folder_survey look = {0};

	fleet->pairing->instance = id_new();
	if (read_boot(fleet->pairing, err) < 0)
		return -1;
	if (survey_folder(fleet, &arena, &look, err) < 0 || check_elsewhere(fleet, &look, err) < 0)
		return -1;
	if (check_fit(fleet, &look, err) < 0) {
		if (claim == FLEET_CLAIM_CHECK)
			return -1;
		log_warning("a store that does not fit is taken, as was asked for", FAILURE(err));
		error_clear(err);
		/* A copy with the old id must not match again. */
		look.has_row = false;
		fleet->pairing->takes_all = true;
	}
	if (claim == FLEET_CLAIM_RECOVER && make_rows(fleet, err) < 0)
		return FAIL_CONTEXT(err, "make rows from the data folder");
	if (take_folder(fleet, &look, err) < 0)
		return -1;
	jump_begin(fleet);
	return 0;
}
