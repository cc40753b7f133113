/* SPDX-License-Identifier: Apache-2.0 */
/* image/backup.h — a snapshot as one zstd-compressed tar, and back. Private to this folder.
 *
 *   manifest.json   format, version, how many entries and bytes follow, digest of the template,
 *                   and what atolld says of the snapshot
 *   template/…      of a full one only: the template's root filesystem
 *   files/…         what lies on top of the template: owners as seen inside, modes, times, hard
 *                   links, user.* attributes and file capabilities. A name that is taken away is a
 *                   character device 0/0; a folder that hides what the template has there has the
 *                   attribute trusted.overlay.opaque. Sockets are left out.
 *   end.json        digest of all of the files; nothing follows
 *
 * A full one has version 2, any other 1. The layers of a snapshot become one. Their names and
 * contents are a sandbox's, those of an archive a stranger's: the tar is written and read in a
 * strict jail (jail.h), which has no capability for overlay's attributes. Those are read before it
 * and written after it, by walks that open nothing but folders, never through a link. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct image_config;
struct image_spec;

#define BACKUP_VERSION 1
#define BACKUP_VERSION_FULL 2
#define BACKUP_DOCUMENT_MAX (64 * 1024)
#define BACKUP_DIGEST_SIZE 65 /* hex, and a NUL */

struct backup {
	int snapshots_fd; /* DATA/snapshots; root's alone */
	int templates_fd;
	const char *layers; /* export: ids, newest first, with spaces; load: where to, empty */
	/* Its folder; "host" has none. "" = the archive may be made on any. */
	const char *template_folder;
	bool full;            /* export: with the template, which cannot be "host" */
	uint32_t owner_first; /* the id on disk of root inside */
	int archive_fd;       /* written by export, read by the others */
	/* A small file: export reads from it what the manifest is to say of the snapshot. In the
	 * end it holds {"sha256", "size", "entries", "bytes", "template_digest", "manifest": {…}}.
	 */
	int document_fd;
	int progress_fd;  /* see progress.h; -1 = none */
	int64_t size_max; /* bytes of all files */
};

MUST_CHECK int backup_export(const struct backup *b, struct error *err);
/* Into the folder "upper" of the layer. What is left after a failure is for the caller to remove.
 */
MUST_CHECK int backup_load(const struct backup *b, struct error *err);
/* Reads it to the end, and writes nothing. */
MUST_CHECK int backup_verify(const struct backup *b, struct error *err);
/* The template of a full one, into the empty folder IMAGE_ROOT of `folder`, and what it says of
 * itself. */
struct backup_template {
	const struct image_spec *spec;
	int folder, archive_fd;
};
MUST_CHECK int backup_load_template(const struct backup_template *from, struct arena *a,
                                    struct image_config *ret, struct error *err);
