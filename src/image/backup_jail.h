/* SPDX-License-Identifier: Apache-2.0 */
/* image/backup_jail.h — the jailed half of a backup: where its tar is written and read. Private to
 * this folder. */
#pragma once

#include "image/backup_digest.h"
#include "image/backup_document.h"
#include "image/layers.h"

#define BACKUP_OPAQUE_TEXT (8 * 1024 * 1024) /* names of folders, each with a NUL */

/* Shared with the jailed process. */
struct jailed_backup {
	const struct backup *backup;
	struct layers *layers; /* export; to be opened again */
	bool is_dry;           /* load: nothing is written */
	bool is_template;      /* load: the template is written, and not the files */
	/* Load: the template must have one of these digests; "" = any template. */
	struct backup_template_digests template;
	struct error failure;
	struct backup_outcome outcome; /* export: template_digest and manifest are set before */
	/* Load: folders that replace the template's folders. */
	size_t opaque_size;
	char opaque[BACKUP_OPAQUE_TEXT];
};

/* Outside the jail: counts the entries and bytes to pack; `template` NULL = no template. */
MUST_CHECK int backup_count(const struct layers *layers, const struct layers *template,
                            int64_t size_max, struct backup_outcome *outcome, struct error *err);
/* Inside the jail: JAIL_SOURCE_FD is the archive, JAIL_READ_FD the template's root filesystem for a
 * full export. The working folder is the folder of the layers, or the layer or template to make.
 * Returns 0, or 1 with task->failure. */
int backup_pack(void *task);
int backup_unpack(void *task);
