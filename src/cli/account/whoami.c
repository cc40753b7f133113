/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account/commands.h"

const struct cli_command command_whoami = {
        .name = "whoami",
        .usage = "",
        .about = "show the key's project, scopes, user and role, as JSON",
        .operation = "GET /accounts/me",
        .prints = "*",
};
