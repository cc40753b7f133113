/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/commands.h — the commands for templates and pools; each is defined in the file of
 * its name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_pool, command_template;
