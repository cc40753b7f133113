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
	/* Load: either of them fits; "" = on whatever template. */
	struct backup_template_digests template;
	struct error failure;
	struct backup_outcome outcome; /* export: template_digest and manifest are set before */
	/* Load: folders that are to hide what the template has. */
	size_t opaque_size;
	char opaque[BACKUP_OPAQUE_TEXT];
};

/* Outside: entries and bytes of what is to be packed; `template` NULL = without one. */
MUST_CHECK int backup_count(const struct layers *layers, const struct layers *template,
                            int64_t size_max, struct backup_outcome *outcome, struct error *err);
/* With JAIL_SOURCE_FD the archive; JAIL_READ_FD is the template's root filesystem, for a full
 * export; the working folder is that of the layers, or the one layer or template that is to be. 0,
 * or 1 and task->failure. */
int backup_pack(void *task);
int backup_unpack(void *task);
