/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/server.h — calls to the API.
 *
 * Answers are read without shapes, because a newer server may send members that this CLI does not
 * know. */
#pragma once

#include "cli/core/command.h"
#include "http/client/client.h"
#include "json/json.h"

#define INSTANCES "/api/sandbox/instances"
#define TEMPLATES "/api/sandbox/templates"

/* Parses "http://HOST:PORT" or "unix:/SOCKET"; `key` is the API key of that server and may be
 * NULL. */
MUST_CHECK int server_parse(struct arena *a, const char *url, const char *key,
                            struct http_client_options *ret, struct error *err);

struct local_server;
/* Finds or starts the local server, whatever ATOLL_API_URL names. */
MUST_CHECK int server_connect_local(struct cli *cli, struct local_server *ret);

/* Whether a server is configured or runs. For shell completion: TAB must not start a server. */
bool server_is_there(struct cli *cli);

struct server_call {
	const char *method, *path;
	const char *body; /* JSON; NULL = none */
	int64_t timeout_ms;
};
/* `ret` may be NULL. *ret is NULL if the answer has no body. */
MUST_CHECK int server_call(struct cli *cli, const struct server_call *call,
                           const struct json_value **ret);
MUST_CHECK int server_get(struct cli *cli, const char *path, const struct json_value **ret);
/* A call whose answer is passed on piece by piece. */
struct server_stream {
	int (*on_piece)(void *context, struct span piece, struct error *err);
	void *context;
	bool failed; /* on_piece has failed; its error is that of the call */
	struct error failure;
};
MUST_CHECK int server_stream(struct cli *cli, const struct http_call *call,
                             struct server_stream *stream);
/* Connects and deletes prefix + WORD for each word of the command line; prints {"removed":COUNT}
 * with --json. Errors call the resources `noun`. */
MUST_CHECK int server_delete_each(struct cli *cli, const char *prefix, const char *noun);

/* "/api/sandbox/instances/NAME" + suffix, with NAME escaped. */
const char *instance_path(struct arena *a, const char *sandbox, const char *suffix);
/* prefix + escaped name + suffix. */
const char *escaped_path(struct arena *a, const char *prefix, const char *name, const char *suffix);
/* The items of a list answer, which is [..] or {"items": [..]}. */
const struct json_value *answer_items(const struct json_value *answer);
