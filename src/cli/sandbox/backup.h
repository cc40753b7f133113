/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/backup.h — atoll snapshot export, import and backups, for the rows in snapshot.c. */
#pragma once

#include "cli/core/command.h"
#include "cli/core/listing.h"

extern const struct command_option snapshot_export_options[], snapshot_import_options[];
extern const struct listing_column snapshot_backup_columns[];
MUST_CHECK int snapshot_export(struct cli *cli);
MUST_CHECK int snapshot_import(struct cli *cli);
