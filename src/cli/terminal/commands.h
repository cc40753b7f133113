/* SPDX-License-Identifier: Apache-2.0 */
/* cli/terminal/commands.h — the commands for terminals and recordings; each is defined in the file
 * of its name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_replay, command_shell, command_terminal;
