/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tar.h — tar streams: ustar with pax records, read also as GNU tar writes them.
 *
 * Handles only headers and sizes; the caller checks names. Written:
 * files, folders, symbolic and hard links; a pax record where ustar has no room. Read: those, GNU's
 * long names and base-256 numbers. Devices, FIFOs and sparse files are refused. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"

#define TAR_BLOCK 512
#define TAR_NAME_MAX 4096

enum tar_type { TAR_FILE, TAR_FOLDER, TAR_SYMLINK, TAR_HARDLINK };

struct tar_entry {
	enum tar_type type;
	const char *name;
	const char *link; /* target of either link; "" otherwise */
	uint32_t mode, uid, gid;
	uint64_t size; /* 0 unless a file */
	int64_t modified_s;
};

/* The header; a file's bytes follow, then zeros up to the next block. */
void tar_add_header(struct buf *out, const struct tar_entry *entry);
void tar_add_end(struct buf *out);
static inline uint64_t tar_padding(uint64_t size)
{
	return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

struct tar_reader {
	/* Up to `size` bytes; fewer only at the end of the stream. -1 on failure. */
	ssize_t (*read)(void *context, char *out, size_t size, struct error *err);
	void *context;
	struct arena arena;     /* of the entry's texts */
	uint64_t left, padding; /* of the entry */
};

void tar_reader_done(struct tar_reader *r);
/* 1 = an entry, 0 = the end, -1 = failed. Skips the rest of the previous entry. Texts are valid
 * until the next call. */
MUST_CHECK int tar_next(struct tar_reader *r, struct tar_entry *ret, struct error *err);
/* Bytes of the entry; 0 at its end, -1 = failed (also when the stream ends early). */
MUST_CHECK ssize_t tar_read(struct tar_reader *r, char *out, size_t size, struct error *err);
