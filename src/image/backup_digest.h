/* SPDX-License-Identifier: Apache-2.0 */
/* image/backup_digest.h — what tells that files are the same. Private to this folder. */
#pragma once

#include <archive_entry.h>
#include <sodium.h>

#include "base/span.h"
#include "image/backup.h"
#include "image/layers.h"

/* Of all entries in their order, with their contents: the same for who writes and who reads. */
struct backup_digest {
	crypto_generichash_state state;
};
void backup_digest_init(struct backup_digest *d);
/* Name, kind, owner, mode, size, and where a link leads; the contents follow. */
void backup_digest_entry(struct backup_digest *d, struct archive_entry *entry);
void backup_digest_data(struct backup_digest *d, struct span bytes);
void backup_digest_end(struct backup_digest *d, char out[BACKUP_DIGEST_SIZE]);

/* Of a template: names, kinds, owners, modes, sizes, times and links of all its files, in any
 * order. The contents are not read: they have the same size and time only in a copy. "host" is what
 * the machine has itself, and has "host". */
MUST_CHECK int backup_template_digest(int templates_fd, const char *folder,
                                      char out[BACKUP_DIGEST_SIZE], struct error *err);
