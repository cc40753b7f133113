/* SPDX-License-Identifier: Apache-2.0 */
/* cli/archive.h — folders as tar streams (the only user of libarchive here). Private to this
 * folder.
 *
 * What is unpacked comes out of a sandbox: names may not leave the target, links inside it are
 * never followed, only files, folders and symbolic links are made, and no set-id bits. */
#pragma once

#include "base/error.h"

/* Writes the content of the folder `path`, with names relative to it. */
MUST_CHECK int archive_pack(const char *path, int out_fd, struct error *err);
/* Unpacks into the folder `path`, which exists. */
MUST_CHECK int archive_unpack(int in_fd, const char *path, struct error *err);
