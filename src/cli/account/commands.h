/* SPDX-License-Identifier: Apache-2.0 */
/* cli/account/commands.h — the commands for keys, users, projects, members, settings, usage,
 * budgets and webhooks; each is defined in the file of its name. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_audit, command_budget, command_connect, command_console,
        command_credential, command_key, command_member, command_org, command_project,
        command_quota, command_settings, command_usage, command_user, command_webhook,
        command_whoami;
