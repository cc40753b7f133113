/* SPDX-License-Identifier: Apache-2.0 */
/* server_backup/manifest.h — what a backup says about its server. Private to this folder. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct server_manifest {
	const char *format, *atoll, *node, *place; /* place: the data folder's path */
	int64_t version, made_at, uid, gid;
	int64_t sandboxes, snapshots, volumes;
	const char **outside; /* files that the server uses and the backup lacks, NULL-terminated */
};
void server_manifest_write(const struct server_manifest *m, struct buf *out);
/* Refuses another format and a newer version. */
MUST_CHECK int server_manifest_parse(struct arena *a, struct span text, struct server_manifest *ret,
                                     struct error *err);
