/* SPDX-License-Identifier: Apache-2.0 */
/* provider/own_folder.h — the folder in which a provider keeps what tells its sandboxes from those
 * of others: an id, a lock. */
#pragma once

#include "base/id.h"
#include "base/path.h"

/* Makes DIR followed by `name`, which begins with '/', unless it exists. */
MUST_CHECK int own_folder_make(const char *dir, const char *name, char out[PATH_SIZE_MAX],
                               struct error *err);
/* The id in DIR/id, which is made when it is missing. */
MUST_CHECK int own_folder_id(const char *dir, char out[ID_SIZE + 1], struct error *err);
/* 1: read; 0: there is no such file. */
MUST_CHECK int own_folder_text(const char *path, struct buf *out, struct error *err);
/* Two providers with one folder would take each other's sandboxes. ERROR_CONFLICT for the second;
 * close *ret_fd to unlock. */
MUST_CHECK int own_folder_lock(const char *dir, int *ret_fd, struct error *err);
