/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/commands.h — the commands for the server on this machine; each is defined in the file
 * of its name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_backup, command_bench, command_config, command_doctor,
        command_down, command_plan, command_provider, command_routing, command_recover,
        command_restore, command_serve, command_server, command_setup, command_tls, command_version;
