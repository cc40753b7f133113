/* SPDX-License-Identifier: Apache-2.0 */
/* server_backup/run.h — a backup that is being made. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/map.h"
#include "image/server_archive.h"
#include "server_backup/calls.h"
#include "server_backup/options.h"
#include "server_backup/output.h"
#include "store/sandbox_record.h"
#include "store/volumes.h"

#define LEFT_OUT_NAMED_MAX 1000

struct backup_note {
	const char *path, *why;
};
struct backup_sandbox {
	struct backed_sandbox who;
	const char *layer; /* the snapshot that its files are in; NULL = none */
	const char *stack; /* below its files when they were read; "" = none */
	const char *origin;
	bool has_files; /* according to the database */
	bool is_packed;
};
struct backup_run {
	struct arena *arena;
	const struct backup_options *options;
	struct server_calls calls;
	struct backup_output output;
	struct server_writer *writer;
	int data; /* the data folder */
	const char *node;
	/* Of the copy of the database. */
	struct backup_sandbox *sandboxes;
	size_t sandbox_count;
	struct mount_list *mounts; /* of each volume */
	struct volume_list volumes;
	struct map snapshots; /* ids */
	int64_t snapshot_count;
	const char *pairing; /* the id that the data folder and the database share */
	uid_t uid;           /* of the api process */
	gid_t gid;
	/* Ids of layers: those to add, and those that are in the archive. */
	struct map wanted, layers;
	struct backup_note *left_out, *changed;
	size_t left_out_count, left_out_named, left_out_capacity, changed_count, changed_capacity;
	int64_t gone; /* sandboxes that were deleted meanwhile */
	int64_t told_ms;
	const char *now; /* what is being read, for people */
};

/* database.c: copies the database to DATA/run/backup.db, reads it, and writes the pairing file that
 * fits to the copy (store/folders.h): the server may raise the generation of its own at any time.
 */
#define BACKUP_DATABASE "backup.db"
#define BACKUP_PAIRING "backup.pairing"
MUST_CHECK int backup_copy_database(struct backup_run *b, struct error *err);
void backup_remove_database(struct backup_run *b);
/* ERROR_CONFLICT: the data folder has got another database since the copy. */
MUST_CHECK int backup_check_pairing(struct backup_run *b, struct error *err);

/* layers.c: the sandboxes, and all layers that they and snapshots lie on. */
/* Wants the layers that there are right after the database's copy; of later layers, the backup adds
 * only those that a link names. */
MUST_CHECK int backup_list_layers(struct backup_run *b, struct error *err);
MUST_CHECK int backup_add_sandboxes(struct backup_run *b, struct error *err);
MUST_CHECK int backup_add_layers(struct backup_run *b, struct error *err);

/* backup.c */

/* Adds DATA/PATH, or only the folder itself. */
MUST_CHECK int backup_add_tree(struct backup_run *b, const char *path, struct server_tree *how,
                               struct error *err);
/* Pauses a running sandbox. What cannot be paused is read all the same, and noted. */
void backup_pause(struct backup_run *b, const struct backed_sandbox *s, const char *path,
                  bool *ret_paused);
/* Notes that files were read while they may have changed. */
void backup_note_changed(struct backup_run *b, const char *path, const char *why);
