/* SPDX-License-Identifier: Apache-2.0 */
/* cli/files/commands.h — the commands for files of sandboxes; each is defined in the file of its
 * name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_cp, command_ls;
