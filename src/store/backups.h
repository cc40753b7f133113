/* SPDX-License-Identifier: Apache-2.0 */
/* store/backups.h — what is in the blob store: snapshots that were exported, and the files of
 * archived sandboxes. Part of the store: the rules of store.h hold. */
#pragma once

#include "store/store.h"

/* One that is MAKING or REMOVING, and whose maker is gone, is finished by recovery. FAILED:
 * state_text says why, and nothing is stored. */
enum backup_state { BACKUP_MAKING, BACKUP_READY, BACKUP_FAILED, BACKUP_REMOVING };
const char *backup_state_name(enum backup_state state);

struct backup_record {
	const char *id, *project_id;
	const char *name;      /* unique in the project */
	const char *holder_id; /* the archived sandbox whose files it is; "" = a user's own */
	/* What it was made of, which may be gone, or be another server's. */
	const char *snapshot_id, *snapshot_name, *template_id, *template_name, *template_digest;
	const char *node; /* the server that made it */
	enum backup_state state;
	const char *state_text; /* how far it is, or why it failed */
	const char *sha256;
	int64_t size_bytes; /* stored */
	int64_t files, files_bytes;
	bool is_full;    /* the template is in it, too */
	bool is_brought; /* a file of somebody's, who says what it was made of: of no snapshot here
	                  */
	int64_t created_at;
};
struct backup_list {
	struct backup_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};

/* ERROR_CONFLICT when the name is taken, ERROR_LIMIT when the project has project_max of its own
 * already. */
MUST_CHECK int store_backup_insert(struct store *s, const struct backup_record *r,
                                   unsigned project_max, struct error *err);
/* By id or name. project_id NULL = any (by id). */
MUST_CHECK int store_backup_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *id_or_name, struct backup_record *ret,
                                 struct error *err);
struct backup_filter {
	const char *project_id, *holder_id, *node; /* NULL = all; holder "": users' own */
	const char *page;                          /* next_page of the page before, or NULL */
	unsigned limit;                            /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_backup_list(struct store *s, struct arena *a,
                                 const struct backup_filter *filter, struct backup_list *ret,
                                 struct error *err);
/* All but its id, project, name, holder, node and time. ERROR_NOT_FOUND also when it is being
 * removed, and this would not. Lazy: as of moves. */
MUST_CHECK int store_backup_update(struct store *s, const struct backup_record *r, bool is_lazy,
                                   struct error *err);
/* Fine when there is none. */
MUST_CHECK int store_backup_remove(struct store *s, const char *id, struct error *err);

/* ---- for the store itself ---- */

struct backup_page {
	const char *project_id, *holder_id, *node;
	int64_t page_at;
	const char *page_id;
	int64_t limit;
};
