/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/core/listing.h"
#include "cli/sandbox/commands.h"

/* A 0 stands for a process that was not found. */
static const char *number_cell(struct arena *a, const struct json_value *value)
{
	int64_t number = json_whole(value, 0);

	return number ? arena_format(a, "%" PRId64, number) : NULL;
}

static const struct listing_column columns[] = {
        {"PORT", "port", NULL},
        {"ADDRESS", "address", NULL},
        {"PREVIEW", "preview", listing_yes},
        {"PID", "pid", number_cell},
        {"PROCESS", "process", number_cell},
        {"COMMAND", "command", NULL},
        {0},
};

const struct cli_command command_ports = {
        .name = "ports",
        .usage = "SANDBOX",
        .about = "list the ports that programs in a sandbox listen on",
        .more = "Does not wake a paused sandbox and does not count as its use.",
        .operation = "GET /api/sandbox/instances/{id}/ports",
        .columns = columns,
        .completion = COMPLETE_SANDBOX,
};
