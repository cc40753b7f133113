/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "server_backup/run.h"
#include "store/database.h"
#include "store/folders.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"

#define PAGE 1000
#define SANDBOXES_MAX 1000000

#define PAIRING_FILE "pairing/store"
#define PAIRING_MAX ((size_t)4096)

static const char *copy_path(struct backup_run *b)
{
	return arena_format(b->arena, "%s/run/" BACKUP_DATABASE, b->options->config->data_dir);
}

void backup_remove_database(struct backup_run *b)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};

	for (size_t i = 0; i < COUNT_OF(ends); i++)
		(void)unlink(arena_format(b->arena, "%s%s", copy_path(b), ends[i]));
	(void)unlinkat(b->data, "run/" BACKUP_PAIRING, 0);
}

static void keep_sandbox(struct backup_run *b, const struct sandbox_record *r, size_t *capacity)
{
	b->sandboxes = arena_grow(b->arena, b->sandboxes, b->sandbox_count, capacity,
	                          sizeof(*b->sandboxes));
	b->sandboxes[b->sandbox_count++] = (struct backup_sandbox){
	        .who = {arena_text(b->arena, r->id), arena_text(b->arena, r->project_id)},
	        .has_files = r->actual == SANDBOX_STARTED || r->actual == SANDBOX_PAUSED ||
	                     r->actual == SANDBOX_STOPPED,
	        .stack = "",
	        .origin = "",
	};
}

static int read_sandboxes(struct backup_run *b, struct store *store, struct error *err)
{
	struct sandbox_filter filter = {.state = -1, .limit = PAGE};
	size_t capacity = 0;

	do {
		struct sandbox_list page;

		if (store_sandbox_list(store, b->arena, &filter, &page, err) < 0)
			return -1;
		for (size_t i = 0; i < page.count; i++)
			keep_sandbox(b, &page.items[i], &capacity);
		filter.page = page.next_page;
	} while (filter.page && b->sandbox_count < SANDBOXES_MAX);
	return filter.page ? FAIL(err, ERROR_LIMIT, "more than %d sandboxes", SANDBOXES_MAX) : 0;
}

static int read_volumes(struct backup_run *b, struct store *store, struct error *err)
{
	if (store_volume_list(store, b->arena, NULL, &b->volumes, err) < 0)
		return -1;
	b->mounts = ARENA_ARRAY(b->arena, struct mount_list, b->volumes.count + 1);
	for (size_t i = 0; i < b->volumes.count; i++) {
		if (store_mounts_of_volume(store, b->arena, b->volumes.items[i].id, &b->mounts[i],
		                           err) < 0)
			return -1;
	}
	return 0;
}

static int read_snapshots(struct backup_run *b, struct store *store, struct error *err)
{
	struct snapshot_filter filter = {.limit = PAGE};

	do {
		struct snapshot_list page;

		if (store_snapshot_list(store, b->arena, &filter, &page, err) < 0)
			return -1;
		b->snapshot_count += (int64_t)page.count;
		for (size_t i = 0; i < page.count; i++)
			(void)map_put(&b->snapshots, page.items[i].id, b);
		filter.page = page.next_page;
	} while (filter.page);
	return 0;
}

static int read_node(struct backup_run *b, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(256);

	if (file_read(b->data, "node.id", &text, err) < 0)
		return -1;
	b->node = arena_copy(b->arena,
	                     (struct span){buf_text(&text), strcspn(buf_text(&text), "\n")});
	return 0;
}

static int write_pairing(struct backup_run *b, struct store *store, struct error *err)
{
	AUTO(buf_done) struct buf line = BUF(PAIRING_MAX);
	struct folder_record row;

	if (store_folder_find(store, b->arena, b->node, &row, err) < 0)
		return -1;
	b->pairing = row.pairing;
	store_folder_add_line(&row, &line);
	if (file_write(b->data, "run/" BACKUP_PAIRING, buf_span(&line), 0600, err) < 0)
		return -1;
	if (fchownat(b->data, "run/" BACKUP_PAIRING, b->uid, b->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL_ERRNO(err, "give 'run/" BACKUP_PAIRING "' its owner");
	return 0;
}

int backup_check_pairing(struct backup_run *b, struct error *err)
{
	AUTO(buf_done) struct buf now = BUF(PAIRING_MAX);
	const char *id = arena_format(b->arena, " %s %s ", b->node, b->pairing);

	if (file_read(b->data, PAIRING_FILE, &now, err) < 0)
		return -1;
	if (strstr(buf_text(&now), id))
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "the server was started with another database while the backup was made");
	return FAIL_HINT(err, "the backup's file was removed: make the backup again");
}

static int read_rows(struct backup_run *b, struct error *err)
{
	struct store *store;
	int result;

	if (store_open(arena_format(b->arena, "sqlite:%s", copy_path(b)), &store, err) < 0)
		return -1;
	result = read_sandboxes(b, store, err);
	if (result == 0)
		result = read_volumes(b, store, err);
	if (result == 0)
		result = read_snapshots(b, store, err);
	if (result == 0)
		result = write_pairing(b, store, err);
	store_close(store);
	return result;
}

int backup_copy_database(struct backup_run *b, struct error *err)
{
	const struct config *config = b->options->config;
	const char *dsn = config->store[0] ? config->store
	                                   : arena_format(b->arena, "sqlite:%s/store/atoll.db",
	                                                  config->data_dir);

	backup_remove_database(b);
	if (read_node(b, err) < 0 || store_copy(dsn, copy_path(b), err) < 0 ||
	    read_rows(b, err) < 0)
		return FAIL_CONTEXT(err, "copy the database");
	if (chown(copy_path(b), b->uid, b->gid) < 0)
		return FAIL_ERRNO(err, "give the copy of the database its owner");
	return 0;
}
