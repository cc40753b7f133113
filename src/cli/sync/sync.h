/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/sync.h — two-way sync of a local folder and a sandbox's folder.
 *
 * The sandbox is hostile: its names, bytes and .gitignore files are not trusted. Every local file
 * is opened beneath the folder, name by name and through no link. A received file takes its place
 * by a rename after a check of the old file. */
#pragma once

#include "cli/core/command.h"
#include "cli/sync/gitignore.h"
#include "cli/sync/plan.h"

#define SYNC_DEPTH_MAX 64
#define SYNC_FILES_MAX 100000

struct stat;
struct folder_sync {
	struct cli *cli;
	struct arena arena;                   /* of a round */
	const char *sandbox, *remote, *local; /* id; absolute; resolved */
	int folder;
	int inotify; /* -1 = without --watch */
	int64_t size_max;
	bool is_dry, may_delete_all;
	const char *state_path;
	struct gitignore ignore;
	struct sync_list here, there;
	struct sync_state before, next;
	struct sync_plan plan;
	size_t links, skipped, conflicts;      /* links: includes devices, sockets and the like */
	struct map folders_there, links_there; /* links: includes devices, sockets and the like */
	int64_t listed_ms; /* when the sandbox was listed, by its clock; 0 = unknown */
};
/* Prints an action; `note` may be NULL. */
void sync_say(struct folder_sync *s, const char *what, const char *path, const char *note);

/* scan.c */

/* Lists both sides and reads their .gitignore files. */
MUST_CHECK int sync_look(struct folder_sync *s);
/* Lists the sandbox's side again. */
MUST_CHECK int sync_look_there(struct folder_sync *s, struct sync_list *ret);
/* Gets the state of a local file: 1 filled, 0 missing, -1 not a regular file or unreadable. */
int sync_stat_here(struct folder_sync *s, int parent, const char *name, struct sync_file *ret);
/* Opens the parent folder of a path; `make` creates missing folders. */
MUST_CHECK int sync_open_parent(struct folder_sync *s, const char *path, bool make, int *ret_fd,
                                struct error *err);
const char *sync_url(struct folder_sync *s, const char *kind, const char *path, const char *rest);

/* state.c */

/* Finds the state file of this pair and locks it for this process. */
MUST_CHECK int sync_state_open(struct folder_sync *s, const char *server);
MUST_CHECK int sync_state_read(struct folder_sync *s);
MUST_CHECK int sync_state_write(struct folder_sync *s);

/* replace.c */

/* A received file with a temporary name in the top folder. */
struct sync_part {
	const char *name;
	int fd;
};
struct sync_place {
	int parent;
	const char *name, *path; /* path: for messages */
};
/* Whether the name is that of a received file. */
bool sync_is_part(const char *name);
/* The original name of a file that a killed run left while exchanging it; the file may be the only
 * copy. NULL if the name is not such a leftover. */
const char *sync_exchanged_name(const char *name);
/* Whether the temporary name still holds the received file and may be removed. */
bool sync_part_is_ours(const struct folder_sync *s, const struct sync_part *part);
/* Renames a file of the top folder to "NAME.conflict-20261121T101500" beside the place, or to
 * another free name. */
MUST_CHECK int sync_keep_beside(struct folder_sync *s, const char *old, const struct sync_place *at,
                                struct error *err);
/* Replaces the file at the place. Returns 1 if the old file is gone. Returns 0 if the old file has
 * changed since `before`; it stays, and the received file keeps its temporary name unless another
 * program moved it. Exchanges the files, so that the old one can be checked where no other program
 * finds it. */
MUST_CHECK int sync_replace(struct folder_sync *s, struct sync_part *part,
                            const struct sync_place *at, const struct stat *before,
                            struct error *err);
/* Undoes the exchange; separate for tests. The old file gets its name again, or one beside it. */
MUST_CHECK int sync_put_back(struct folder_sync *s, const struct sync_part *part,
                             const struct sync_place *at, struct error *err);

/* receive.c, send.c */

MUST_CHECK int sync_receive_changes(struct folder_sync *s);
MUST_CHECK int sync_send_changes(struct folder_sync *s);

/* watch.c */

/* sync_watch_wait returns when a file may have changed on either side. */
struct sync_watch;
MUST_CHECK int sync_watch_open(struct folder_sync *s, struct sync_watch **ret);
MUST_CHECK int sync_watch_wait(struct sync_watch *w, struct error *err);
