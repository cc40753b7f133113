/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/account/commands.h"
#include "cli/core/listing.h"

/* NULL for 0, the platform's limit. */
static const char *most_cell(struct arena *a, const struct json_value *value)
{
	int64_t most = json_whole(value, 0);

	return most ? arena_format(a, "%lld", (long long)most) : NULL;
}

static const char *state_cell(UNUSED struct arena *a, const struct json_value *closing)
{
	return json_bool(closing, false) ? "being deleted" : "open";
}

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"SANDBOXES MAX", "sandboxes_max", most_cell},
        {"STATE", "closing", state_cell},
        {0},
};

#define OPTION_MOST                                                                                \
	{                                                                                          \
		"sandboxes-max", "NUMBER", "sandboxes at once; 0 = the platform's limit"           \
	}

#define OPTION_STORAGE                                                                             \
	{                                                                                          \
		"storage-max-mb", "MIB",                                                           \
		        "templates, snapshots, backups and volumes; 0 = the platform's limit"      \
	}

#define OPTION_SOURCE                                                                              \
	{                                                                                          \
		"source-address", "IPV4", "address by which its sandboxes leave; \"\" = any"       \
	}

static const struct command_option create_options[] = {
        {"id", "ID", "id of the project (default: generated)"},
        {"owner", "USER", "user who becomes the first admin"},
        OPTION_MOST,
        OPTION_STORAGE,
        OPTION_SOURCE,
        {0},
};
static const struct command_option set_options[] = {
        {"name", "NAME", "a new name"}, OPTION_MOST, OPTION_STORAGE, OPTION_SOURCE, {0},
};
static const struct command_option rm_options[] = {
        {"force", NULL, "also delete its sandboxes", .letter = 'f'},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list projects; a key of the platform's admin sees all",
         .operation = "GET /v1/projects?limit=1000", .columns = columns},
        {"inspect", "PROJECT", "show everything about a project, as JSON; 'me' is the key's own",
         .operation = "GET /v1/projects/{project}", .prints = "*"},
        {"storage", "PROJECT", "show a project's disk use and its limits, as JSON",
         .operation = "GET /v1/projects/{project}/storage", .prints = "*"},
        {"create", "[OPTION...] NAME", "make a project and print its id", .options = create_options,
         .operation = "POST /v1/projects", .word = "name", .prints = "id"},
        {"set", "PROJECT OPTION...", "change a project", .options = set_options,
         .operation = "PATCH /v1/projects/{project}"},
        {"rm", "[--force] PROJECT", "delete a project and everything in it", .options = rm_options,
         .operation = "DELETE /v1/projects/{project}", .done = "removed"},
        {0},
};

const struct cli_command command_project = {
        .name = "project",
        .usage = "COMMAND",
        .about = "list, make, change and remove projects",
        .children = children,
};
