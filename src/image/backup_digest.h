/* SPDX-License-Identifier: Apache-2.0 */
/* image/backup_digest.h — digests of files, to find out whether they are the same. Private to this
 * folder. */
#pragma once

#include <archive_entry.h>
#include <sodium.h>

#include "base/bytes.h"
#include "image/backup.h"
#include "image/layers.h"

/* The digest of all entries in order, with their contents; writer and reader compute the same. */
struct backup_digest {
	crypto_generichash_state state;
};
void backup_digest_init(struct backup_digest *d);
/* Name, kind, owner, mode, size, and where a link leads; the contents follow. */
void backup_digest_entry(struct backup_digest *d, struct archive_entry *entry);
void backup_digest_data(struct backup_digest *d, struct span bytes);
void backup_digest_end(struct backup_digest *d, char out[BACKUP_DIGEST_SIZE]);

/* A template's root filesystem; "host" has none. */
MUST_CHECK int backup_template_open(int templates_fd, const char *folder, int *ret_fd,
                                    struct error *err);
/* True for entries of a template that no backup contains: devices, sockets, and entries of /dev,
 * because a sandbox has its own. */
bool backup_template_lacks(const struct layers_entry *entry);
/* The digest of a template: names, kinds, owners, modes, sizes, times and links of its files, in
 * any order. Contents are not read: only a copy has the same sizes and times. The digest of "host",
 * the machine's own files, is "host". */
struct backup_template_digests {
	char files[BACKUP_DIGEST_SIZE];
	char all[BACKUP_DIGEST_SIZE]; /* with what is lacking: as the first backups have it */
};
MUST_CHECK int backup_template_digest(int templates_fd, const char *folder,
                                      struct backup_template_digests *ret, struct error *err);
