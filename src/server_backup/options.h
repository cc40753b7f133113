/* SPDX-License-Identifier: Apache-2.0 */
/* server_backup/options.h — the command line of atoll-backup, and what both of its works need.
 * Private to this folder. */
#pragma once

#include <stdbool.h>

#include "config/config.h"

/* An archive of another version is refused. */
#define BACKUP_SERVER_FORMAT "atoll-server"
#define BACKUP_SERVER_VERSION 1
/* Room that is left on a disk, so that a server on it goes on. */
#define BACKUP_SPACE_MIN ((int64_t)512 << 20)

struct backup_options {
	struct arena *arena;
	const struct config *config;
	const char *target; /* the file, or the folder for one */
	bool json, check;   /* check: reads the archive, restores nothing */
	bool force;         /* replaces an existing file */
};

/* backup.c, restore.c */
MUST_CHECK int backup_server(const struct backup_options *options, struct error *err);
MUST_CHECK int restore_server(const struct backup_options *options, struct error *err);
