/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account/commands.h"
#include "cli/core/body.h"
#include "cli/core/listing.h"
#include "json/write.h"

static const struct listing_column columns[] = {
        {"NAME", "name", NULL},
        {"KIND", "kind", NULL},
        {"OWNER", "owner", NULL},
        {"HOSTS", "hosts", listing_texts},
        {"CONSENT", "consent", NULL},
        {"STATE", "state", NULL},
        {"VERSION", "version", NULL},
        {"FINGERPRINT", "fingerprint", NULL},
        {"LAST USED", "last_used_at", NULL},
        {0},
};

static const struct listing_column consent_columns[] = {
        {"CREDENTIAL", "credential", NULL},
        {"SANDBOX", "sandboxId", NULL},
        {"CONVERSATION", "conversationId", NULL},
        {"STATE", "state", NULL},
        {"HOSTS", "hosts", NULL},
        {"UNTIL", "expiresAt", NULL},
        {"DECIDED BY", "decidedBy", NULL},
        {0},
};

static int add_map(struct cli *cli, struct buf *body, const char *option, const char *member)
{
	const char *text;

	if (!arguments_has(&cli->args, option))
		return 0;
	json_begin_object(body, member);
	for (unsigned i = 0; (text = arguments_text_at(&cli->args, option, i)); i++)
		if (body_add_setting(body, text, cli->err) < 0)
			return FAIL_CONTEXT(cli->err, "--%s", option);
	json_end_object(body);
	return 0;
}

static int add_fields(struct cli *cli, struct buf *body)
{
	return add_map(cli, body, "field", "fields") < 0
	               ? -1
	               : add_map(cli, body, "environment", "environment");
}

#define SHARED_OPTIONS                                                                             \
	{"host", "HOST", "a host that may get it; *.example.com is every name below",              \
	 .repeats = true, .member = "hosts"},                                                      \
	        {"field", "KEY=VALUE",                                                             \
	         "a value: token, username, password, ...; KEY=@FILE reads it from a file, KEY=- " \
	         "from the standard input",                                                        \
	         .repeats = true, .member = ""},                                                   \
	        {"environment", "VARIABLE=FIELD",                                                  \
	         "a variable of terminal windows that gets the field, after consent",              \
	         .repeats = true, .member = ""},                                                   \
	        {"about", "TEXT", "what it is for"},                                               \
	        {"consent", "CONSENT", "conversation, sandbox or project"},                        \
	{                                                                                          \
		"expires-at", "TIME", "such as 2027-01-31T00:00:00Z", .member = "expires_at"       \
	}

static const struct command_option add_options[] = {
        SHARED_OPTIONS,
        {"kind", "KIND", "token (default), basic, aws or custom"},
        {"preset", "PRESET", "a service of 'atoll connect presets': its kind, hosts and rules"},
        {"owner", "OWNER", "project (default) or user, who alone sees it"},
        {0},
};
static const struct command_option set_options[] = {
        SHARED_OPTIONS,
        {0},
};

static const struct cli_command children[] = {
        {"add", "NAME {--host HOST... | --preset PRESET} --field KEY=VALUE...",
         "store a credential; sandboxes use it by network rules and never see it",
         .options = add_options, .operation = "POST /v1/credentials", .word = "name",
         .fill = add_fields, .prints = "name"},
        {"set", "[OPTION...] CREDENTIAL",
         "change a credential; a further host and a weaker consent take the fields again",
         .options = set_options, .operation = "PATCH /v1/credentials/{credential}",
         .fill = add_fields, .prints = "fingerprint"},
        {"ls", "", "list the credentials of the project, and your own",
         .operation = "GET /v1/credentials", .columns = columns},
        {"show", "CREDENTIAL", "show a credential without its values",
         .operation = "GET /v1/credentials/{credential}", .prints = "*"},
        {"consents", "", "list what persons allowed credentials for",
         .operation = "GET /v1/consents", .columns = consent_columns},
        {"revoke", "SANDBOX CREDENTIAL", "end a sandbox's use of a credential, immediately",
         .operation = "POST /api/sandbox/instances/{id}/credentials/{credential}/revoke",
         .prints = "*"},
        {"rm", "CREDENTIAL", "delete a credential",
         .operation = "DELETE /v1/credentials/{credential}", .done = "deleted"},
        {0},
};

const struct cli_command command_credential = {
        .name = "credential",
        .usage = "COMMAND",
        .about = "manage credentials, which sandboxes use without seeing them",
        .children = children,
};
