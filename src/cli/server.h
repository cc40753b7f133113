/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server.h — calls to the API. Private to this folder.
 *
 * Answers are read untyped: a newer server may say more than this CLI knows. */
#pragma once

#include "cli/command.h"
#include "http/client.h"
#include "json/json.h"

#define INSTANCES "/api/sandbox/instances"
#define TEMPLATES "/api/sandbox/templates"
#define KEYS "/api/sandbox/keys"
#define PROJECTS "/v1/projects"
#define SETTINGS "/api/sandbox/settings"
#define SECRETS "/api/sandbox/secrets"

/* "http://HOST:PORT" or "unix:/SOCKET", with the key that goes with it (may be NULL). */
MUST_CHECK int server_parse(struct arena *a, const char *url, const char *key,
                            struct http_client_options *ret, struct error *err);

/* What shells complete: pressing TAB must not start a server. */
bool server_is_there(struct cli *cli);

struct server_call {
	const char *method, *path;
	const char *body; /* JSON; NULL = none */
	int64_t timeout_ms;
};
/* ret may be NULL. An answer without a body is NULL, too. */
MUST_CHECK int server_call(struct cli *cli, const struct server_call *call,
                           const struct json_value **ret);
MUST_CHECK int server_get(struct cli *cli, const char *path, const struct json_value **ret);
/* Connects and deletes one thing; with --json prints {"DONE":true}. */
MUST_CHECK int server_delete(struct cli *cli, const char *path, const char *done);
/* Connects and deletes prefix + WORD for each word of the command line; with --json prints
 * {"removed":COUNT}. `noun` is what an error calls them. */
MUST_CHECK int server_delete_each(struct cli *cli, const char *prefix, const char *noun);

/* "/api/sandbox/instances/NAME" + suffix, escaped. */
const char *instance_path(struct arena *a, const char *sandbox, const char *suffix);
/* prefix + escaped name + suffix. */
const char *escaped_path(struct arena *a, const char *prefix, const char *name, const char *suffix);
/* "text" with quotes and escapes, for a body. */
const char *json_quoted(struct arena *a, const char *text);
/* The items of a list answer, whichever of our two forms it has: [..] or {"items": [..]}. */
const struct json_value *answer_items(const struct json_value *answer);
