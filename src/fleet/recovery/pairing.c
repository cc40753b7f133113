/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/recovery/pairing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/recovery/pairing_state.h"
#include "store/database.h"
#include "store/folders.h"

#define FOLDER "pairing"
#define FILE_NAME "store"
#define BEAT_MS 5000

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
	return strcmp(format, FOLDER_FORMAT) == 0 && id_is_valid(ret->node) &&
	                       id_is_valid(ret->id) && ret->generation >= 0
	               ? 0
	               : -1;
}

/* 1: read; 0: there is none. */
int pairing_read_file(const struct fleet *f, struct pairing_file *ret, struct error *err)
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
	return FAIL_HINT(err,
	                 "remove it when you know that the store is the right one: the next start "
	                 "writes it again");
}

int pairing_write_file(const struct fleet *f, struct error *err)
{
	AUTO_CLOSE int folder = pairing_open_folder(f, err);
	AUTO(buf_done) struct buf line = BUF(256);
	struct folder_record row = pairing_row(f);

	if (folder < 0)
		return -1;
	store_folder_add_line(&row, &line);
	return file_write(folder, FILE_NAME, buf_span(&line), 0600, err);
}

bool orphans_are_too_many(const struct fleet *f, size_t unknown, size_t known)
{
	size_t tenth = known / 10, max = (size_t)f->config->orphans_max;

	return unknown > (tenth > max ? tenth : max);
}

struct folder_record pairing_row(const struct fleet *f)
{
	return (struct folder_record){.node = f->node,
	                              .pairing = f->pairing->id,
	                              .generation = f->pairing->generation,
	                              .instance = f->pairing->instance.text,
	                              .boot = f->pairing->boot,
	                              .place = folder_path(f),
	                              .seen_at = clock_unix_ms()};
}

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
	struct folder_record row = pairing_row(f);
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
	row = pairing_row(f);
	if (ends)
		row.seen_at = 0;
	if (store_folder_beat(f->store, &row, false, err) == 0)
		return pairing_write_file(f, err);
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
	if (!bounded || !orphans_are_too_many(f, unknown, known)) {
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
