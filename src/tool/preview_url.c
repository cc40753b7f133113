/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "fleet/core/caller.h"
#include "fleet/sandbox/preview.h"
#include "json/json.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "store/sandbox_record.h"

struct preview_input {
	int64_t port, ttl_seconds;
	bool share;
};
static const struct json_member preview_input_members[] = {
        JSON_WHOLE_MEMBER(preview_input, port, .flags = JSON_REQUIRED, .min = 1, .max = 65535,
                          .about = "port of a server in the sandbox", .example = "5173"),
        JSON_BOOL_MEMBER(preview_input, share,
                         .about = "for people without access to the sandbox; its previews must be "
                                  "public"),
        JSON_WHOLE_MEMBER(preview_input, ttl_seconds, .min = 0, .max = FLEET_GRANT_MAX_MS / 1000,
                          .about = "default: an hour, or a day for a shared link"),
};
static JSON_SHAPE(preview_input, "PreviewUrlInput", preview_input, "A port of the sandbox");

struct preview_output {
	const char *url, *path;
	int64_t port, expires_at;
};
static const struct json_member preview_output_members[] = {
        JSON_TEXT_MEMBER(preview_output, url, .about = "for a browser"),
        JSON_TEXT_MEMBER(preview_output, path, .about = "path of the url"),
        JSON_WHOLE_MEMBER(preview_output, port),
        JSON_TIME_MEMBER(preview_output, expires_at),
};
static JSON_SHAPE(preview_output, "PreviewUrlOutput", preview_output, "A link");

/* An address for a browser on this machine, when the server listens on every address. */
static const char *reachable_address(struct arena *a, const char *listen)
{
	static const struct {
		const char *all, *one;
	} wildcards[] = {{"0.0.0.0:", "127.0.0.1:"}, {"[::]:", "[::1]:"}};

	for (size_t i = 0; i < COUNT_OF(wildcards); i++) {
		size_t size = strlen(wildcards[i].all);

		if (strncmp(listen, wildcards[i].all, size) == 0)
			return arena_format(a, "%s%s", wildcards[i].one, listen + size);
	}
	return listen;
}

const char *tool_server_address(const struct tool_call *call)
{
	const struct config *config = call->config;
	struct arena *a = call->arena;

	if (call->address)
		return call->address;
	if (strncmp(config->listen, "unix:", 5) != 0)
		return arena_format(a, "http://%s", reachable_address(a, config->listen));
	if (config->tls_listen[0])
		return arena_format(a, "https://%s", reachable_address(a, config->tls_listen));
	return "http://localhost";
}

static const char *url_of(const struct tool_call *call, uint16_t port, const char *path,
                          const char *token)
{
	const struct config *config = call->config;
	const char *origin = tool_server_address(call);

	if (config->preview_domain[0])
		return arena_format(call->arena, "%s://%u-%s.%s/?atoll_preview=%s",
		                    strncmp(origin, "https:", 6) == 0 ? "https" : "http", port,
		                    call->sandbox->id, config->preview_domain, token);
	return arena_format(call->arena, "%s%s",
	                    config->preview_origin[0] ? config->preview_origin : origin, path);
}

static int preview_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                        struct error *err)
{
	const struct preview_input *in = input;
	int64_t otherwise = in->share ? FLEET_GRANT_DEFAULT_MS : FLEET_GRANT_PRIVATE_MS;
	int64_t ttl_ms = in->ttl_seconds ? in->ttl_seconds * 1000 : otherwise;
	struct fleet_grant grant = {
	        .port = (uint16_t)in->port, .is_shared = in->share, .maker = *call->caller};
	struct preview_output *out = ARENA_NEW(call->arena, struct preview_output);
	char token[FLEET_GRANT_TEXT_MAX];

	grant.expires_at = (clock_unix_ms() + ttl_ms) / 1000 * 1000;
	if (fleet_preview_check(call->fleet, call->arena, call->sandbox, grant.port, err) < 0 ||
	    fleet_grant_make(call->fleet, call->sandbox, &grant, token, err) < 0)
		return -1;
	out->path = arena_format(call->arena, "/api/sandbox/preview/%s/", token);
	out->url = url_of(call, grant.port, out->path, token);
	out->port = in->port;
	out->expires_at = grant.expires_at;
	tool_add_text(ret, span_of(out->url));
	ret->structured = out;
	return 0;
}

const struct tool preview_url_tool = {
        .name = "preview_url",
        .title = "Link to a server in the sandbox",
        .description =
                "Returns a link with which the user's browser reaches a server on a port of the "
                "sandbox. Start the server first. Ports from 1024 on, unless "
                "configured otherwise.",
        .input = &preview_input,
        .output = &preview_output,
        .class = TOOL_READS,
        .call = preview_call,
};
