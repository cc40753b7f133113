/* SPDX-License-Identifier: Apache-2.0 */
/* image/server_archive.h — the archive of a whole server: a zstd-compressed tar with all that root
 * sees.
 *
 *   manifest.json   the caller's text, at most SERVER_MANIFEST_MAX bytes
 *   data/…          owners, modes, times, hard links, holes, attributes (overlay's, too), whiteouts
 *   end.json        for each part, the number of entries, their bytes and a digest
 *
 * A part is a folder of data/; "data" is the part of the files beside them. Files are opened name
 * by name below open folders, and no link is followed. Sockets, and devices that are no whiteouts,
 * are in no archive. Used by one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"

#define SERVER_MANIFEST_MAX ((size_t)16 << 20)
#define SERVER_PARTS_MAX 32
#define SERVER_DEPTH_MAX 256 /* folders below a tree's */
#define SERVER_FILE_MAX ((int64_t)16 << 40)
#define SERVER_ROOT "data"

struct server_part {
	char name[64];
	int64_t entries, bytes; /* bytes: without holes */
	char sha256[65];        /* once the archive has ended */
};
struct server_contents {
	struct server_part parts[SERVER_PARTS_MAX];
	unsigned count;
	int64_t entries, bytes;
};

struct server_writer;
struct server_writer_options {
	int fd;
	/* Called now and then with the sums so far; -1 ends the work. */
	int (*on_progress)(void *context, const struct server_contents *sums, struct error *err);
	/* A file that is not in the archive, and why. */
	void (*on_left_out)(void *context, const char *path, const char *why);
	void *context;
};
MUST_CHECK int server_writer_open(const struct server_writer_options *options, struct span manifest,
                                  struct server_writer **ret, struct error *err);
/* After a failure, too. NULL is fine. */
void server_writer_free(struct server_writer *w);

struct server_tree {
	int folder;
	const char *name;      /* in the folder; ".": the folder itself */
	const char *path;      /* in the archive, its parents were added before */
	bool without_contents; /* of a folder */
	/* NULL: nothing. `path` is relative to the tree. */
	bool (*is_left_out)(const char *path);
	bool is_gone; /* returned: it, or a folder of it, vanished meanwhile */
};
/* What vanishes while it is read is left out. */
MUST_CHECK int server_writer_add(struct server_writer *w, struct server_tree *tree,
                                 struct error *err);
/* A symbolic link of root. */
MUST_CHECK int server_writer_link(struct server_writer *w, const char *path, const char *target,
                                  struct error *err);
/* Writes end.json and all that is pending; `ret` may be NULL. */
MUST_CHECK int server_writer_end(struct server_writer *w, struct server_contents *ret,
                                 struct error *err);

struct server_reader {
	int fd; /* at its begin */
	/* -1: nothing is written. Else an open and empty folder; what lies in data/ comes into it.
	 */
	int folder;
	/* An owner of the machine that the archive was made on, and of this one. */
	uid_t from_uid, to_uid;
	gid_t from_gid, to_gid;
	int (*on_manifest)(void *context, struct span text, struct error *err);
	void (*on_progress)(void *context, const struct server_contents *sums);
	void *context;
};
/* Reads the archive to its end. ERROR_INVALID: it is not whole, was altered, or has a name that
 * leads out of the folder; the caller removes what was written. */
MUST_CHECK int server_archive_read(const struct server_reader *reader, struct server_contents *ret,
                                   struct error *err);
