/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sync/commands.h — the commands for folder synchronization; each is defined in the file of its
 * name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_sync;
