/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/local.h"

#define USER_AGENT "atoll/" ATOLL_VERSION
#define CURE_UNREACHABLE                                                                           \
	"start the server there ('atoll serve'), or set ATOLL_API_URL to the address of a server " \
	"that runs"

int server_parse(struct arena *a, const char *url, const char *key, struct http_client_options *ret,
                 struct error *err)
{
	struct http_client_options server = {
	        .bearer = key, .user_agent = USER_AGENT, .cure = CURE_UNREACHABLE};
	size_t size = strlen(url);

	if (strncmp(url, "unix:/", 6) == 0) {
		server.base_url = "http://localhost";
		server.unix_socket = url + strlen("unix:");
	} else if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) {
		while (size > 0 && url[size - 1] == '/')
			size--;
		server.base_url = arena_copy(a, (struct span){url, size});
	} else {
		(void)FAIL(err, ERROR_INVALID, "'%s' is not the address of a server", url);
		return FAIL_HINT(err, "write http://HOST:PORT, https://HOST or unix:/PATH");
	}
	*ret = server;
	return 0;
}

static int connect_server(struct cli *cli, const char *url, const char *key)
{
	struct http_client_options *server = ARENA_NEW(cli->arena, struct http_client_options);

	if (server_parse(cli->arena, url, key, server, cli->err) < 0)
		return -1;
	cli->server = server;
	return http_client_open(server, &cli->client, cli->err);
}

int server_connect_local(struct cli *cli, struct local_server *ret)
{
	if (local_server_find(cli->arena, ret, cli->err) < 0 ||
	    local_server_start(cli->arena, ret, cli->err) < 0)
		return -1;
	return connect_server(cli, arena_format(cli->arena, "unix:%s", ret->socket), ret->key);
}

int cli_connect(struct cli *cli)
{
	const char *url = getenv("ATOLL_API_URL");
	struct local_server local;

	if (cli->client)
		return 0;
	if (url && url[0])
		return connect_server(cli, url, getenv("ATOLL_API_KEY"));
	return server_connect_local(cli, &local);
}

bool server_is_there(struct cli *cli)
{
	const char *url = getenv("ATOLL_API_URL");
	struct local_server local;

	return (url && url[0]) || (local_server_find(cli->arena, &local, cli->err) == 0 &&
	                           local_server_answers(&local));
}

int server_call(struct cli *cli, const struct server_call *call, const struct json_value **ret)
{
	struct http_call http = {
	        .method = call->method,
	        .path = call->path,
	        .body = span_of(call->body),
	        .timeout_ms = call->timeout_ms,
	};
	struct http_answer answer = {0};
	int result = 0;

	if (http_client_call(cli->client, &http, &answer, cli->err) < 0)
		return -1;
	if (ret && answer.body.size > 0)
		result = json_load(cli->arena, buf_span(&answer.body), ret, cli->err);
	else if (ret)
		*ret = NULL;
	buf_done(&answer.body);
	if (result < 0)
		return FAIL_CONTEXT(cli->err, "read the server's answer");
	return 0;
}

int server_get(struct cli *cli, const char *path, const struct json_value **ret)
{
	return server_call(cli, &(struct server_call){.method = "GET", .path = path}, ret);
}

static bool on_body(void *context, struct span piece)
{
	struct server_stream *stream = context;

	stream->failed = stream->on_piece(stream->context, piece, &stream->failure) < 0;
	return !stream->failed;
}

int server_stream(struct cli *cli, const struct http_call *call, struct server_stream *stream)
{
	struct http_call whole = *call;
	struct http_answer answer = {0};
	int result;

	whole.on_body = on_body;
	whole.context = stream;
	result = http_client_call(cli->client, &whole, &answer, cli->err);
	buf_done(&answer.body);
	if (!stream->failed)
		return result;
	*cli->err = stream->failure;
	return -1;
}

int server_delete_each(struct cli *cli, const char *prefix, const char *noun)
{
	struct server_call call = {.method = "DELETE"};

	if (cli_connect(cli) < 0)
		return -1;
	for (const char *const *name = cli->args.words; *name; name++) {
		call.path = escaped_path(cli->arena, prefix, *name, "");
		if (server_call(cli, &call, NULL) < 0)
			return FAIL_CONTEXT(cli->err, "remove %s '%s'", noun, *name);
	}
	if (cli->json)
		(void)printf("{\"removed\":%u}\n", cli->args.count);
	return 0;
}

const char *escaped_path(struct arena *a, const char *prefix, const char *name, const char *suffix)
{
	AUTO(buf_done) struct buf path = BUF(64 * 1024);

	buf_add_text(&path, prefix);
	http_escape(&path, name);
	buf_add_text(&path, suffix);
	return arena_text(a, buf_text(&path));
}

const char *instance_path(struct arena *a, const char *sandbox, const char *suffix)
{
	return escaped_path(a, INSTANCES "/", sandbox, suffix);
}

const struct json_value *answer_items(const struct json_value *answer)
{
	const struct json_value *items = json_get(answer, "items");

	return items ? items : answer;
}
