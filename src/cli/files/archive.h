/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/archive.h — folders as tar streams (the only user of libarchive here). Private to this
 * folder.
 *
 * What is unpacked comes out of a sandbox: names may not leave the target, links inside it are
 * never followed, only files, folders and symbolic links are made, and no set-id bits. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Writes the content of the folder `path`, with names relative to it. */
MUST_CHECK int archive_pack(const char *path, int out_fd, struct error *err);
/* Chosen files below an open folder, under names of their own. */
struct archive_item {
	const char *path, *name;
	const char *link; /* of a symbolic link */
	mode_t mode;      /* type and rights */
	int64_t size, modified_s;
};
struct archive_items {
	const struct archive_item *items;
	size_t count;
	int folder;
};
/* A file that is not as long any more as its item says fails. */
MUST_CHECK int archive_pack_items(const struct archive_items *items, int out_fd, struct error *err);
/* Gives the regular files of a tar stream to somebody, who looks at their names himself. */
struct archive_taker {
	/* Where the bytes go; *ret_fd -1 = nowhere. */
	int (*begin)(void *context, const char *name, int64_t size, int *ret_fd, struct error *err);
	/* They are all there. */
	int (*end)(void *context, struct error *err);
	void *context;
};
MUST_CHECK int archive_take(int in_fd, const struct archive_taker *taker, struct error *err);
/* Unpacks into the folder `path`, which exists. */
MUST_CHECK int archive_unpack(int in_fd, const char *path, struct error *err);
