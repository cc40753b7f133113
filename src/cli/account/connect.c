/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/account/commands.h"
#include "cli/core/listing.h"
#include "cli/core/text_out.h"

static const struct listing_column columns[] = {
        {"ID", "id", NULL},           {"NAME", "name", NULL},
        {"PRESET", "preset", NULL},   {"METHOD", "method", NULL},
        {"OWNER", "owner", NULL},     {"STATE", "state", NULL},
        {"SCOPES", "scopes", NULL},   {"RENEWED AT", "renews_at", NULL},
        {"PROBLEM", "problem", NULL}, {0},
};
static const struct listing_column preset_columns[] = {
        {"NAME", "name", NULL},
        {"KIND", "kind", NULL},
        {"HOSTS", "hosts", listing_texts},
        {"ABOUT", "about", NULL},
        {0},
};

static const char *member_of(struct cli *cli, const struct json_value *connect, const char *name)
{
	return text_out_safe(cli->arena, json_get_text(connect, name, ""));
}

static void print_begun(struct cli *cli, const struct json_value *connect)
{
	if (json_get_text(connect, "url", NULL))
		(void)printf("%s\n", member_of(cli, connect, "url"));
	else if (json_get_text(connect, "user_code", NULL))
		(void)printf("%s\n%s\n", member_of(cli, connect, "verification_uri"),
		             member_of(cli, connect, "user_code"));
	else
		(void)printf("%s\n", member_of(cli, connect, "name"));
	if (json_get_text(connect, "url", NULL) || json_get_text(connect, "user_code", NULL))
		(void)fprintf(stderr,
		              "Open the address in a browser and agree; 'atoll connect show %s' "
		              "tells what came of it.\n",
		              member_of(cli, connect, "id"));
}

static const struct command_option add_options[] = {
        {"preset", "PRESET", "a service of 'atoll connect presets'"},
        {"issuer", "URL", "a service that publishes its metadata"},
        {"client", "CREDENTIAL", "the application: a credential of the kind 'client'"},
        {"method", "METHOD", "code (default), device or client"},
        {"scope", "SCOPE", "a right to ask for (default: those of the preset)", .repeats = true,
         .member = "scopes"},
        {"host", "HOST", "a host that may get the credential (default: the preset's)",
         .repeats = true, .member = "hosts"},
        {"about", "TEXT", "what it is for"},
        {"consent", "CONSENT", "conversation, sandbox or project"},
        {"owner", "OWNER", "project (default) or user, who alone sees it"},
        {0},
};
static const struct command_option remove_options[] = {
        {"force", NULL, "also if the service does not revoke the tokens"},
        {0},
};

static const struct cli_command children[] = {
        {"add", "NAME --client CREDENTIAL [OPTION...]",
         "log in at a service, which makes or renews the credential NAME", .options = add_options,
         .operation = "POST /v1/connects", .word = "name", .print = print_begun},
        {"ls", "", "list the logins of the project, and your own", .operation = "GET /v1/connects",
         .columns = columns},
        {"show", "CONNECT", "show a login", .operation = "GET /v1/connects/{connect}",
         .prints = "*"},
        {"rm", "[--force] CONNECT", "revoke the tokens at the service; delete login and credential",
         .options = remove_options, .operation = "DELETE /v1/connects/{connect}",
         .done = "deleted"},
        {"presets", "", "list the services whose hosts and OAuth servers are known",
         .operation = "GET /v1/credential-presets", .columns = preset_columns},
        {0},
};

const struct cli_command command_connect = {
        .name = "connect",
        .usage = "COMMAND",
        .about = "log in at OAuth services, whose tokens become credentials",
        .children = children,
};
