/* SPDX-License-Identifier: Apache-2.0 */
/* image/backup_document.h — manifest.json, end.json, and what a backup's maker is told. Private to
 * this folder. */
#pragma once

#include "base/bytes.h"
#include "image/backup.h"
#include "json/json.h"

#define BACKUP_MANIFEST "manifest.json"
#define BACKUP_END "end.json"
#define BACKUP_FILES "files"
#define BACKUP_TEMPLATE "template"
#define BACKUP_FORMAT "atoll-backup"

struct backup_manifest {
	const char *format;
	int64_t version, entries, bytes;
	bool full;
	const char *template_digest;
	struct span snapshot; /* a JSON object that is not looked into here */
};
MUST_CHECK int backup_manifest_parse(struct arena *a, struct span text, struct backup_manifest *ret,
                                     struct error *err);
void backup_manifest_write(struct buf *out, const struct backup_manifest *m);
MUST_CHECK int backup_end_parse(struct arena *a, struct span text, const char **ret_digest,
                                struct error *err);
void backup_end_write(struct buf *out, const char *digest);
/* Inside the jail: a line for on_line of backup.c when another percent is done. */
void backup_tell_percent(int *percent, int64_t bytes, int64_t total);

/* The result of reading or writing a backup. */
struct backup_outcome {
	int64_t size, entries, bytes;
	char sha256[BACKUP_DIGEST_SIZE], template_digest[BACKUP_DIGEST_SIZE];
	size_t manifest_size;
	char manifest[BACKUP_DOCUMENT_MAX];
};
MUST_CHECK int backup_document_read(int fd, struct buf *out, struct error *err);
MUST_CHECK int backup_outcome_write(int fd, const struct backup_outcome *outcome,
                                    struct error *err);
