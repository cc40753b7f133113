/* SPDX-License-Identifier: Apache-2.0 */
/* image/backup.h — a snapshot as one zstd-compressed tar, and back. Private to this folder.
 *
 *   manifest.json   format, version, how many entries and bytes follow, digest of the template,
 *                   and atolld's description of the snapshot
 *   template/…      only in a full backup: the template's root filesystem
 *   files/…         the changes to the template: owners as seen inside, modes, times, hard links,
 *                   user.* attributes and file capabilities. A deleted name is a character device
 *                   0/0. A folder that replaces the template's folder has the attribute
 *                   trusted.overlay.opaque. Sockets are left out.
 *   end.json        digest of all of the files; nothing follows
 *
 * A full backup has version 2, other backups 1. The layers of a snapshot become a single layer. The
 * names and contents in layers and archives are not trusted: the tar is written and read in a
 * strict jail (jail.h), which has no capability for overlay's attributes. Walks outside the jail
 * read these attributes before and write them after it; they open only folders and follow no link.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

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
	/* The template's folder; "host" has none. "" = a backup of any template is accepted. */
	const char *template_folder;
	bool full;            /* export: with the template, which cannot be "host" */
	uint32_t owner_first; /* the id on disk of root inside */
	int archive_fd;       /* written by export, read by the others */
	/* A small file: export reads the description of the snapshot from it. At the end it holds
	 * {"sha256", "size", "entries", "bytes", "template_digest", "manifest": {…}}. */
	int document_fd;
	int progress_fd;  /* see progress.h; -1 = none */
	int64_t size_max; /* bytes of all files */
};

MUST_CHECK int backup_export(const struct backup *b, struct error *err);
/* Unpacks into the folder "upper" of the layer. After a failure the caller removes the folder. */
MUST_CHECK int backup_load(const struct backup *b, struct error *err);
/* Checks the whole archive and writes nothing. */
MUST_CHECK int backup_verify(const struct backup *b, struct error *err);
/* Unpacks the template of a full backup into the empty folder IMAGE_ROOT of `folder`, and reads its
 * configuration. */
struct backup_template {
	const struct image_spec *spec;
	int folder, archive_fd;
};
MUST_CHECK int backup_load_template(const struct backup_template *from, struct arena *a,
                                    struct image_config *ret, struct error *err);
