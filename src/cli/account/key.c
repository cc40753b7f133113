/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/account/commands.h"
#include "cli/core/listing.h"

static const struct listing_column columns[] = {
        {"ID", "id", NULL},
        {"NAME", "name", NULL},
        {"KEY", "prefix", NULL},
        {"SCOPES", "scopes", listing_texts},
        {"MEMBER", "member", NULL},
        {"MADE BY", "made_by", NULL},
        {"LAST USED", "last_used_at", NULL},
        {"EXPIRES", "expires_at", NULL},
        {"REVOKED", "revoked_at", NULL},
        {0},
};

/* Prints only the key to stdout, so that a script can read it. */
static void print_made(struct cli *cli, const struct json_value *key)
{
	(void)printf("%s\n",
	             json_get_text(key, arguments_has(&cli->args, "e2b") ? "e2b_key" : "key", ""));
	(void)fprintf(stderr, "Keep it: it is not shown again.\n");
}

static void print_resealed(UNUSED struct cli *cli, const struct json_value *answer)
{
	(void)printf("%lld values are encrypted with the new key\n",
	             (long long)json_get_whole(answer, "resealed", 0));
}

static const struct command_option create_options[] = {
        {"scope", "SCOPE",
         "sandbox:read, sandbox:write, template:write, key:write, project:write or admin",
         .repeats = true, .member = "scopes"},
        {"member", "USER",
         "owner of the key, whose role limits it (default: you, if you are a member; "
         "\"\": the project)"},
        {"expires", "DURATION", "lifetime, such as 30d (default: unlimited)",
         .member = "expires_in_ms"},
        {"e2b", NULL, "print the key in the form of E2B's SDKs: \"e2b_\" and digits", .member = ""},
        {0},
};
static const struct command_option rotate_options[] = {
        {"grace", "DURATION", "how long the old key stays valid, at most 7d (default: not at all)",
         .member = "grace_ms"},
        {"e2b", NULL, "print the key in the form of E2B's SDKs", .member = ""},
        {0},
};

static const struct cli_command children[] = {
        {"ls", "", "list the keys of the project", .operation = "GET /api/sandbox/keys",
         .columns = columns},
        {"create", "[OPTION...] NAME", "make a key and print it; it is not shown again",
         .options = create_options, .operation = "POST /api/sandbox/keys", .word = "name",
         .print = print_made},
        {"rotate", "[--grace DURATION] ID", "replace the secret of a key and print the new key",
         .options = rotate_options, .operation = "POST /api/sandbox/keys/{key}/rotate",
         .print = print_made},
        {"revoke", "ID", "revoke a key immediately", .operation = "DELETE /api/sandbox/keys/{key}",
         .done = "revoked"},
        {"rotate-secrets", "", "encrypt all stored environments with a new key",
         .more = "For the operator: needs a key with the scope admin. May be repeated; one that "
                 "was\n"
                 "interrupted has lost nothing. See docs/operate/storage.md.",
         .operation = "POST /api/sandbox/secrets/rotate", .print = print_resealed},
        {0},
};

const struct cli_command command_key = {
        .name = "key",
        .usage = "COMMAND",
        .about = "list, make, rotate and revoke API keys",
        .children = children,
};
