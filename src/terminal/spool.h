/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/spool.h — unfinished recordings: files in a folder of the server, which survive its end.
 *
 * A file is PROJECT_ID.cast; it becomes the blob recordings/PROJECT/ID.cast and is removed. */
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
/* Publishes all whole lines; an incomplete last line is dropped. Removes a file without lines. */
MUST_CHECK int spool_publish(const char *folder, const struct spool_name *name,
                             struct blob_store *blobs, struct error *err);
/* Lists `max` files at most; a missing folder is empty. */
unsigned spool_list(const char *folder, struct spool_name *ret, unsigned max);
