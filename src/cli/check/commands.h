/* SPDX-License-Identifier: Apache-2.0 */
/* cli/check/commands.h — the commands that test a server's promises. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_check;
