/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that change the state of sandboxes: each POSTs to every sandbox that is named. */
#include <string.h>

#include "cli/core/server.h"
#include "cli/sandbox/commands.h"
#include "cli/sandbox/sandboxes.h"

static int change_state(struct cli *cli, const char *sandbox)
{
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(cli->arena, sandbox, strrchr(cli->command->operation, '/')),
	};

	if (arguments_has(&cli->args, "disk"))
		call.body = "{\"disk\": true}";
	return server_call(cli, &call, NULL);
}

static int run_state_change(struct cli *cli)
{
	return sandboxes_each(cli, &(struct sandboxes_verb){change_state, cli->command->done});
}

static const struct command_option options[] = {
        {"all", NULL, "every sandbox", .letter = 'a'},
        {0},
};

static const struct command_option pause_options[] = {
        {"all", NULL, "every sandbox", .letter = 'a'},
        {"disk", NULL, "move the memory to the disk; only of virtual machines"},
        {0},
};

#define EACH_SANDBOX                                                                               \
	.arguments_max = ANY_NUMBER, .completion = COMPLETE_SANDBOX, .run = run_state_change
const struct cli_command command_start = {"start",
                                          "SANDBOX... | --all",
                                          "start stopped sandboxes with the files they had",
                                          EACH_SANDBOX,
                                          .options = options,
                                          .operation = "POST /api/sandbox/instances/{id}/start",
                                          .done = "started"};
const struct cli_command command_stop = {"stop",
                                         "SANDBOX... | --all",
                                         "stop sandboxes; their files are kept",
                                         EACH_SANDBOX,
                                         .options = options,
                                         .operation = "POST /api/sandbox/instances/{id}/stop",
                                         .done = "stopped"};
const struct cli_command command_pause = {
        "pause",
        "[--disk] SANDBOX... | --all",
        "pause sandboxes; memory and processes are kept, their next use resumes them",
        EACH_SANDBOX,
        .options = pause_options,
        .operation = "POST /api/sandbox/instances/{id}/pause",
        .done = "paused"};
const struct cli_command command_resume = {"resume",
                                           "SANDBOX... | --all",
                                           "resume paused sandboxes",
                                           EACH_SANDBOX,
                                           .options = options,
                                           .operation = "POST /api/sandbox/instances/{id}/resume",
                                           .done = "resumed"};
const struct cli_command command_archive = {
        "archive",
        "SANDBOX...",
        "move stopped sandboxes' files to the blob store; start brings them back",
        EACH_SANDBOX,
        .arguments_min = 1,
        .operation = "POST /api/sandbox/instances/{id}/archive",
        .done = "archived"};
