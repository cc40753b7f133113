/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account/commands.h"
#include "cli/core/listing.h"

static const struct listing_column columns[] = {
        {"SCOPE", "scope", NULL},
        {"SUBJECT", "subject", NULL},
        {"LIMIT", "name", NULL},
        {"USED", "used", NULL},
        {"OF", "limit", NULL},
        {"RESET", "reset_at", NULL},
        {0},
};

static const struct command_option set_options[] = {
        {"sandboxes-running", "N", "sandboxes that run or are paused; 0 = no limit"},
        {"sandboxes-stopped", "N", "stopped sandboxes, above which none is created"},
        {"cpu", "N", "CPUs of running sandboxes together"},
        {"memory-mb", "MB", "memory of running sandboxes together"},
        {"disk-mb", "MB", "disk limits of all sandboxes together"},
        {"creates-per-minute", "N", "sandboxes created in one minute"},
        {"requests-per-second", "N", "requests in one second, over all servers of the store"},
        {"egress-mb-per-day", "MB", "what sandboxes send in a UTC day"},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list the limits of the key, its project and the organisation, and their use",
         .operation = "GET /v1/quotas", .columns = columns},
        {"show", "project|key|organization ID", "list the limits of one of them",
         .operation = "GET /v1/quotas/{scope}/{subject}", .columns = columns},
        {"set", "project|key|organization ID OPTION...", "set limits; 0 removes a limit",
         .options = set_options, .operation = "PATCH /v1/quotas/{scope}/{subject}"},
        {0},
};

const struct cli_command command_quota = {
        .name = "quota",
        .usage = "COMMAND",
        .about = "limit the sandboxes and requests of a project, a key or an organisation",
        .more = "'show' and 'set' need the scope 'admin' of the server.",
        .children = children,
};
