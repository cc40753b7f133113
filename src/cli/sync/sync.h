/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/sync.h — one folder here and one in a sandbox. Private to this folder.
 *
 * What is in the sandbox is hostile: its names, its bytes, its .gitignore files. Here everything is
 * opened beneath the folder, name by name and through no link, and a file takes its place by a
 * rename, after a look at what is there. */
#pragma once

#include "cli/command.h"
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
	int inotify; /* -1: nobody waits for changes */
	int64_t size_max;
	bool is_dry, may_delete_all;
	const char *state_path;
	struct gitignore ignore;
	struct sync_list here, there;
	struct sync_state before, next;
	struct sync_plan plan;
	size_t links, skipped, conflicts;      /* links: and other things that are no files */
	struct map folders_there, links_there; /* links: and others that are no files */
	int64_t listed_ms; /* when the sandbox was listed, by its clock; 0 = not told */
};
void sync_round_done(struct folder_sync *s);
/* A line of what is done, for people; `note` may be NULL. */
void sync_say(struct folder_sync *s, const char *what, const char *path, const char *note);

/* ---- scan.c ---- */

/* Both lists, and what .gitignore says. */
MUST_CHECK int sync_look(struct folder_sync *s);
/* The sandbox's alone, once more. */
MUST_CHECK int sync_look_there(struct folder_sync *s, struct sync_list *ret);
/* How a file here is now: 1 there and filled, 0 nothing, -1 something else or unreadable. */
int sync_stat_here(struct folder_sync *s, int parent, const char *name, struct sync_file *ret);
/* The folder that a path is in; `make`: with what is missing. */
MUST_CHECK int sync_open_parent(struct folder_sync *s, const char *path, bool make, int *ret_fd,
                                struct error *err);
const char *sync_url(struct folder_sync *s, const char *kind, const char *path, const char *rest);

/* ---- state.c ---- */

/* Finds the file of this pair and takes it for this process. */
MUST_CHECK int sync_state_open(struct folder_sync *s, const char *server);
MUST_CHECK int sync_state_read(struct folder_sync *s);
MUST_CHECK int sync_state_write(struct folder_sync *s);

/* ---- replace.c ---- */

/* A file that came, under a name of ours in the top folder. */
struct sync_part {
	const char *name;
	int fd;
};
struct sync_place {
	int parent;
	const char *name, *path; /* path: as people are told it */
};
/* Whether the file of this name has bytes that came, and nothing else. */
bool sync_is_part(const char *name);
/* The name that a file was exchanged with and that a killed run left under one of ours: what it
 * has may be the only one. NULL: it is none. */
const char *sync_exchanged_name(const char *name);
/* Whether the name still has what came, and may be removed. */
bool sync_part_is_ours(const struct folder_sync *s, const struct sync_part *part);
/* Gives a file of the top folder a name beside the place: "NAME.conflict-20261121T101500", and
 * another one when there is that. */
MUST_CHECK int sync_keep_beside(struct folder_sync *s, const char *old, const struct sync_place *at,
                                struct error *err);
/* 1: it is in its place, and what was there is gone. 0: what was there has changed since `before`,
 * or is about to, and stays; what came has the name of ours unless somebody moved it. By an
 * exchange, so that the old one can be looked at where nobody else finds it. */
MUST_CHECK int sync_replace(struct folder_sync *s, struct sync_part *part,
                            const struct sync_place *at, const struct stat *before,
                            struct error *err);
/* The exchange back, of its own for the tests: whatever became of what came, the old one gets its
 * name again, or one beside it. */
MUST_CHECK int sync_put_back(struct folder_sync *s, const struct sync_part *part,
                             const struct sync_place *at, struct error *err);

/* ---- receive.c, send.c ---- */

MUST_CHECK int sync_receive_changes(struct folder_sync *s);
MUST_CHECK int sync_send_changes(struct folder_sync *s);

/* ---- watch.c ---- */

/* Returns when something may have changed on either side. */
struct sync_watch;
MUST_CHECK int sync_watch_open(struct folder_sync *s, struct sync_watch **ret);
MUST_CHECK int sync_watch_wait(struct sync_watch *w, struct error *err);
