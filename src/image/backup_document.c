/* SPDX-License-Identifier: Apache-2.0 */
#include "image/backup_document.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static const struct json_member manifest_shape_members[] = {
        JSON_TEXT_MEMBER(backup_manifest, format, .flags = JSON_REQUIRED, .max = 64),
        JSON_WHOLE_MEMBER(backup_manifest, version, .flags = JSON_REQUIRED, .min = 1),
        JSON_WHOLE_MEMBER(backup_manifest, entries, .flags = JSON_REQUIRED, .min = 1),
        JSON_WHOLE_MEMBER(backup_manifest, bytes, .flags = JSON_REQUIRED),
        JSON_BOOL_MEMBER(backup_manifest, full, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(backup_manifest, template_digest, .flags = JSON_REQUIRED,
                         .max = BACKUP_DIGEST_SIZE - 1),
        JSON_RAW_MEMBER(backup_manifest, snapshot, .flags = JSON_REQUIRED),
};
static JSON_SHAPE(manifest_shape, "BackupManifest", backup_manifest,
                  "What a backup says of itself");

struct end_document {
	const char *digest;
};
static const struct json_member end_shape_members[] = {
        JSON_TEXT_MEMBER(end_document, digest, .flags = JSON_REQUIRED,
                         .max = BACKUP_DIGEST_SIZE - 1),
};
static JSON_SHAPE(end_shape, "BackupEnd", end_document, "Tells that a backup is whole");

struct outcome_document {
	const char *sha256, *template_digest;
	int64_t size, entries, bytes;
	struct span manifest;
};
static const struct json_member outcome_shape_members[] = {
        JSON_TEXT_MEMBER(outcome_document, sha256),
        JSON_TEXT_MEMBER(outcome_document, template_digest),
        JSON_WHOLE_MEMBER(outcome_document, size),
        JSON_WHOLE_MEMBER(outcome_document, entries),
        JSON_WHOLE_MEMBER(outcome_document, bytes),
        JSON_RAW_MEMBER(outcome_document, manifest),
};
static JSON_SHAPE(outcome_shape, "BackupOutcome", outcome_document, "What was found in a backup");

int backup_manifest_parse(struct arena *a, struct span text, struct backup_manifest *ret,
                          struct error *err)
{
	if (json_parse(a, text, &manifest_shape, ret, err) < 0)
		return FAIL_CONTEXT(err, BACKUP_MANIFEST);
	if (strcmp(ret->format, BACKUP_FORMAT) != 0)
		return FAIL(err, ERROR_INVALID, "format '%.40s' is not '" BACKUP_FORMAT "'",
		            ret->format);
	if (ret->version > BACKUP_VERSION_FULL)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "the backup has version %lld, this server reads %d and %d",
		            (long long)ret->version, BACKUP_VERSION, BACKUP_VERSION_FULL);
	if (ret->full != (ret->version == BACKUP_VERSION_FULL))
		return FAIL(err, ERROR_INVALID, BACKUP_MANIFEST ": version %lld is%s full",
		            (long long)ret->version, ret->full ? " not" : "");
	return 0;
}

void backup_manifest_write(struct buf *out, const struct backup_manifest *m)
{
	json_write(out, &manifest_shape, m);
}

int backup_end_parse(struct arena *a, struct span text, const char **ret_digest, struct error *err)
{
	struct end_document end;

	if (json_parse(a, text, &end_shape, &end, err) < 0)
		return FAIL_CONTEXT(err, BACKUP_END);
	*ret_digest = end.digest;
	return 0;
}

void backup_end_write(struct buf *out, const char *digest)
{
	const struct end_document end = {digest};

	json_write(out, &end_shape, &end);
}

void backup_tell_percent(int *percent, int64_t bytes, int64_t total)
{
	int now = total > 0 ? (int)(bytes * 100 / total) : 100;

	if (now <= *percent)
		return;
	*percent = now;
	printf("%d\n", now);
	(void)fflush(stdout);
}

int backup_document_read(int fd, struct buf *out, struct error *err)
{
	char bytes[4096];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		buf_add(out, bytes, (size_t)got);
		at += got;
	}
	if (got < 0)
		return FAIL_ERRNO(err, "read the document");
	return out->overflowed ? FAIL(err, ERROR_TOO_LARGE, "the document is too large") : 0;
}

int backup_outcome_write(int fd, const struct backup_outcome *outcome, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(2 * BACKUP_DOCUMENT_MAX);
	const struct outcome_document out = {
	        .sha256 = outcome->sha256,
	        .template_digest = outcome->template_digest,
	        .size = outcome->size,
	        .entries = outcome->entries,
	        .bytes = outcome->bytes,
	        .manifest = {outcome->manifest, outcome->manifest_size},
	};

	json_write(&text, &outcome_shape, &out);
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "empty the document");
	return fd_write_all(fd, text.data, text.size, err);
}
