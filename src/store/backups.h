/* SPDX-License-Identifier: Apache-2.0 */
/* store/backups.h — objects in the blob store: exported snapshots, and the files of archived
 * sandboxes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

/* Recovery finishes a MAKING or REMOVING row whose maker is gone. FAILED: state_text says why;
 * nothing is stored. */
enum backup_state { BACKUP_MAKING, BACKUP_READY, BACKUP_FAILED, BACKUP_REMOVING };
const char *backup_state_name(enum backup_state state);

struct backup_record {
	const char *id, *project_id;
	const char *name;      /* unique in the project */
	const char *holder_id; /* archived sandbox that has the files; "" = a user's backup */
	/* Its source, which may be gone or on another server. */
	const char *snapshot_id, *snapshot_name, *template_id, *template_name, *template_digest;
	const char *node; /* the server that made it */
	enum backup_state state;
	const char *state_text; /* progress, or why it failed */
	const char *sha256;
	int64_t size_bytes; /* stored bytes */
	int64_t files, files_bytes;
	bool is_full;    /* includes the template */
	bool is_brought; /* imported from a file; its source is not verified */
	int64_t created_at;
};
/* Copies the texts into the arena; NULL becomes "". */
void backup_record_own(struct arena *a, struct backup_record *r);
struct backup_list {
	struct backup_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

/* ERROR_CONFLICT when the name is taken, ERROR_LIMIT when the project has project_max backups
 * already. */
MUST_CHECK int store_backup_insert(struct store *s, const struct backup_record *r,
                                   unsigned project_max, struct error *err);
/* Finds by id or name. project_id NULL = any project, by id. */
MUST_CHECK int store_backup_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *id_or_name, struct backup_record *ret,
                                 struct error *err);
struct backup_filter {
	const char *project_id, *holder_id,
	        *node;    /* NULL = all; holder_id "": only users' backups */
	const char *page; /* next_page of the previous page, or NULL */
	unsigned limit;   /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_backup_list(struct store *s, struct arena *a,
                                 const struct backup_filter *filter, struct backup_list *ret,
                                 struct error *err);
/* Writes all members except id, project, name, holder, node and created_at. ERROR_NOT_FOUND also
 * when the row is REMOVING and `r` is not. */
MUST_CHECK int store_backup_update(struct store *s, const struct backup_record *r, bool is_lazy,
                                   struct error *err);
/* No error without a row. */
MUST_CHECK int store_backup_remove(struct store *s, const char *id, struct error *err);
