/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/spool.h — recordings that are not whole yet: files in a folder of the server's own,
 * which outlive its end. Private to this folder.
 *
 * A file is PROJECT_ID.cast; it becomes the blob recordings/PROJECT/ID.cast, and goes. */
#pragma once

#include "base/error.h"
#include "blob/blob.h"

#define SPOOL_NAME_MAX 160
struct spool_name {
	char text[SPOOL_NAME_MAX];
};

MUST_CHECK int spool_create(const char *folder, const struct spool_name *name, int *ret_fd,
                            struct error *err);
void spool_remove(const char *folder, const struct spool_name *name);
/* All whole lines of it; a half one at its end was being written when the server ended. One without
 * any goes. */
MUST_CHECK int spool_publish(const char *folder, const struct spool_name *name,
                             struct blob_store *blobs, struct error *err);
/* What is there, `max` at most; a folder that is not there is empty. */
unsigned spool_list(const char *folder, struct spool_name *ret, unsigned max);
