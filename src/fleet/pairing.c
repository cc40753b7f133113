/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/pairing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "fleet/notes.h"
#include "fleet/pairing_parts.h"
#include "fleet/rounds.h"
#include "fleet/templates.h"
#include "provider/snapshots.h"
#include "provider/volume.h"
#include "store/folders.h"
#include "store/snapshots.h"

#define FOLDER "pairing"
#define FILE_NAME "store"
#define FORMAT "atoll-pairing-1"
#define BEAT_MS 5000
/* A running server beats at least once in WATCH_MS; one that is silent for SILENT_MS is gone. */
#define WATCH_MS 12000
#define SILENT_MS (5 * 60 * 1000)

/* ---- the file ---- */

struct pairing_file {
	char node[ID_SIZE + 1], id[ID_SIZE + 1];
	int64_t generation;
};

/* The folder as the operator has named it. */
static const char *folder_path(const struct fleet *f)
{
	return f->config->data_place ? f->config->data_place : f->config->data_dir;
}

int pairing_open_folder(const struct fleet *f, struct error *err)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/" FOLDER, f->config->data_dir);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? FAIL_ERRNO(err, "open the folder '%s'", path) : fd;
}

static int parse_file(const char *text, struct pairing_file *ret)
{
	char format[32];

	if (sscanf(text, "%31s %20s %20s %" SCNd64, format, ret->node, ret->id, &ret->generation) !=
	    4)
		return -1;
	return strcmp(format, FORMAT) == 0 && id_is_valid(ret->node) && id_is_valid(ret->id) &&
	                       ret->generation >= 0
	               ? 0
	               : -1;
}

/* 1: read; 0: there is none. */
static int read_file(const struct fleet *f, struct pairing_file *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(256);
	AUTO_CLOSE int folder = pairing_open_folder(f, err);

	if (folder < 0)
		return -1;
	if (file_read(folder, FILE_NAME, &text, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	if (parse_file(buf_text(&text), ret) == 0)
		return 1;
	(void)FAIL(err, ERROR_INVALID, "'%s/" FOLDER "/" FILE_NAME "' is malformed",
	           folder_path(f));
	error_hint(err, "remove it when you know that the store is the right one: the next start "
	                "writes it again");
	return -1;
}

static int write_file(const struct fleet *f, struct error *err)
{
	AUTO_CLOSE int folder = pairing_open_folder(f, err);
	char line[160];

	if (folder < 0)
		return -1;
	(void)snprintf(line, sizeof(line), FORMAT " %s %s %" PRId64 "\n", f->node, f->pairing->id,
	               f->pairing->generation);
	return file_write(folder, FILE_NAME, span_of(line), 0600, err);
}

/* ---- what there is ---- */

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
	int file = read_file(f, &ret->file, err), row;

	if (file < 0)
		return -1;
	row = is_known(store_folder_find(f->store, a, f->node, &ret->row, err), err);
	if (row < 0)
		return -1;
	ret->has_file = file > 0;
	ret->has_row = row > 0;
	return count_things(f, ret, err);
}

/* ---- whether they fit ---- */

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

static bool are_too_many(const struct fleet *f, size_t unknown, size_t known)
{
	size_t tenth = known / 10, max = (size_t)f->config->orphans_max;

	return unknown > (tenth > max ? tenth : max);
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
	if (are_too_many(f, unknown, all - unknown))
		return refuse_pairing(f, look, "more are unknown than 'orphans_max'", err);
	return 0;
}

/* ---- servers on other hosts ---- */

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
		error_hint(err,
		           "one of the two folders is a copy: stop that server before; another "
		           "server needs a data folder of its own");
		return -1;
	}
	return 0;
}

/* ---- taking it ---- */

static struct folder_record row_of(const struct fleet *f)
{
	return (struct folder_record){.node = f->node,
	                              .pairing = f->pairing->id,
	                              .generation = f->pairing->generation,
	                              .instance = f->pairing->instance.text,
	                              .boot = f->pairing->boot,
	                              .place = folder_path(f),
	                              .seen_at = clock_unix_ms()};
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
	row = row_of(f);
	if (store_folder_put(f->store, &row, err) < 0 || write_file(f, err) < 0)
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

/* ---- while the server runs ---- */

static void mark_lost(struct fleet *f, const struct error *why)
{
	log_error("the store is not the one that this server began with: nothing is removed",
	          FAILURE(why));
	atomic_store(&f->pairing->is_lost, true);
}

bool pairing_holds(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error err = {0};
	struct folder_record row;

	if (!f->pairing->is_open)
		return true;
	if (store_ping(f->store, &err) < 0 ||
	    store_folder_find(f->store, &arena, f->node, &row, &err) < 0) {
		mark_lost(f, &err);
		return false;
	}
	if (strcmp(row.pairing, f->pairing->id) != 0 || row.generation < f->pairing->generation) {
		(void)!FAIL(&err, ERROR_CONFLICT,
		            "its row has generation %" PRId64 ", not %" PRId64 ", or another id",
		            row.generation, f->pairing->generation);
		mark_lost(f, &err);
		return false;
	}
	atomic_store(&f->pairing->is_lost, false);
	return true;
}

void pairing_tick(struct fleet *f)
{
	int64_t now = clock_monotonic_ms();
	struct folder_record row = row_of(f);
	struct error err = {0};

	if (!f->pairing->is_open || strncmp(f->config->store, "postgres", 8) != 0 ||
	    (f->pairing->beat_at && now - f->pairing->beat_at < BEAT_MS))
		return;
	f->pairing->beat_at = now;
	if (store_folder_beat(f->store, &row, true, &err) == 0)
		return;
	if (err.code == ERROR_CONFLICT)
		mark_lost(f, &err);
	else
		log_warning("other hosts are not told of this server", FAILURE(&err));
}

static uint64_t count_changes(struct fleet *f)
{
	return atomic_load(&f->created) + atomic_load(&f->deleted);
}

/* The file follows the store. */
static int advance_generation(struct fleet *f, bool ends, struct error *err)
{
	struct folder_record row;

	f->pairing->generation++;
	row = row_of(f);
	if (ends)
		row.seen_at = 0;
	if (store_folder_beat(f->store, &row, false, err) == 0)
		return write_file(f, err);
	f->pairing->generation--;
	return -1;
}

void pairing_advance(struct fleet *f)
{
	uint64_t changes = count_changes(f);
	struct error err = {0};

	if (!f->pairing->is_open || changes == f->pairing->changes || !pairing_holds(f))
		return;
	if (advance_generation(f, false, &err) < 0)
		log_warning("the generation of store and data folder stays", FAILURE(&err));
	else
		f->pairing->changes = changes;
}

void pairing_leave(struct fleet *f)
{
	struct error err = {0};

	if (f->pairing->is_open && !atomic_load(&f->pairing->is_lost) &&
	    advance_generation(f, true, &err) < 0)
		log_warning("the generation of store and data folder stays", FAILURE(&err));
}

bool orphans_may_go(struct fleet *f, size_t unknown, size_t known)
{
	bool bounded = !f->pairing->takes_all;

	if (unknown == 0)
		return false;
	if (!pairing_holds(f))
		return false;
	if (!bounded || !are_too_many(f, unknown, known)) {
		atomic_store(&f->trash->held, 0);
		return true;
	}
	log_error("more orphans than 'orphans_max': none is removed; start with --adopt to remove "
	          "them, or run 'atoll recover'",
	          NUMBER("orphans", unknown), NUMBER("known", known),
	          NUMBER("orphans_max", f->config->orphans_max));
	atomic_store(&f->trash->held, unknown);
	return false;
}
