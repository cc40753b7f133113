/* SPDX-License-Identifier: Apache-2.0 */
/* cli/commands.h — all commands. Each room declares its own in cli/ROOM/commands.h. */
#pragma once

#include "cli/core/command.h"

/* NULL-terminated. */
extern const struct cli_command *const commands[];
extern const struct cli_command command_completion, command_help; /* of help_command.c */
