/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tool/commands.h — the commands for agent tools, skills, approvals and artifacts; each is
 * defined in the file of its name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_approval, command_artifact, command_mcp, command_skill,
        command_tool;
