/* SPDX-License-Identifier: Apache-2.0 */
/* agent/zip_out.h — sends a folder or a file as a ZIP stream, between READY and DONE.
 *
 * Files are stored without compression. Each one's checksum follows its bytes, so that nothing is
 * read twice; the directory at the end is kept in memory, which bounds the number of entries. */
#pragma once

#include "agent/files.h"

#define ZIP_ENTRIES_MAX FILES_ENTRIES_MAX
#define ZIP_DIRECTORY_MAX ((size_t)32 * 1024 * 1024) /* bytes */

/* `fd`: a folder, all of whose entries are sent, or a file, which is sent as `name`. Leaves out
 * everything but files, folders and links. Returns 1, or -1. */
MUST_CHECK int zip_out_send(struct files *f, int fd, const char *name, struct error *err);
