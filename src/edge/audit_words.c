/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/audit_words.h"

#include <string.h>

#include "base/bytes.h"
#include "http/server/http.h"

#define PARTS_MAX 16
#define PATH_PARAM ':'
#define PATH_REST '*'

/* Operations that read although their method writes, by the end of their path. */
static const char *const reads[] = {
        "/files/read",
        "/files/pack",
        "/sandbox/read",
        "/sandbox/read_binary",
        "/sandbox/grep",
        "/sandbox/glob",
        "/v1/leases/:key/keepalive", /* a heartbeat */
        "/mcp", /* a call of a tool has a row of its own: api_audit_call_begin */
        "Filesystem/Stat",
        "Filesystem/ListDir",
        "Process/List",
        "Filesystem/WatchDir",
        "Filesystem/GetWatcherEvents",
        "/health",
        "/files/search",
        "/files/find",
        "/bulk-download",
        "/process/list",
        "/git/status",
};

/* Operations that write although their method is GET, by the end of their path: a browser comes
 * back from a sign-in or a login, or a link is made. */
static const struct get_write {
	const char *end, *action;
} get_writes[] = {
        {"/sign-in/oidc/callback", "session.create"},
        {"/connects/callback", "connects.finish"},
        {"/signed-preview-url", "preview-tokens.create"},
};

static bool has_end(const char *path, const char *end)
{
	size_t size = strlen(path), end_size = strlen(end);

	return size >= end_size && strcmp(path + size - end_size, end) == 0;
}

static const struct get_write *find_get_write(const struct route *route)
{
	for (size_t i = 0; i < COUNT_OF(get_writes); i++)
		if (route->method == HTTP_GET && has_end(route->path, get_writes[i].end))
			return &get_writes[i];
	return NULL;
}

bool audit_is_write(const struct route *route)
{
	if (!route || route->method == HTTP_ANY || route->method == HTTP_HEAD ||
	    route->method == HTTP_OPTIONS)
		return false;
	if (route->method == HTTP_GET)
		return route->flags & ROUTE_WEBSOCKET || find_get_write(route);
	for (size_t i = 0; i < COUNT_OF(reads); i++)
		if (has_end(route->path, reads[i]))
			return false;
	return true;
}

bool audit_is_call(const struct route *route)
{
	static const char *const parts[] = {
	        "/exec",      "/code",        "/files",         "/git/",           "/process",
	        "/v1/tools/", "/mcp",         "/windows/",      "process.Process", "filesystem.",
	        "/toolbox",   "/v1/sandbox/", "/v1/ephemeral/",
	};

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (strstr(route->path, parts[i]))
			return !(route->flags & ROUTE_WEBSOCKET);
	return false;
}

/* Parts that only say which API it is. */
static bool is_prefix(struct span part)
{
	static const char *const prefixes[] = {"api", "v1", "sandbox", "accounts", "me"};

	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (span_equals_text(part, prefixes[i]))
			return true;
	return false;
}

static bool is_parameter(struct span part)
{
	return part.size > 0 && (part.data[0] == PATH_PARAM || part.data[0] == PATH_REST);
}

static const char *verb_of(const struct route *route, unsigned words)
{
	switch ((int)route->method) {
	case HTTP_PUT:
		return "set";
	case HTTP_PATCH:
		return "update";
	case HTTP_DELETE:
		return "delete";
	case HTTP_GET:
		return "attach";
	default:
		return words < 2 ? "create" : NULL;
	}
}

/* Appends the words of the path; returns their number. */
static unsigned add_words(struct buf *out, const char *path)
{
	struct span rest = span_of(path), part;
	unsigned count = 0;

	while (rest.size > 0) {
		(void)span_split(&rest, '/', &part);
		if (part.size == 0 || is_parameter(part) || (count == 0 && is_prefix(part)))
			continue;
		if (count++ > 0)
			buf_add_byte(out, '.');
		buf_add_span(out, part);
	}
	return count;
}

static const char *name_action(struct arena *a, const struct route *route, const char *verb)
{
	AUTO(buf_done) struct buf out = BUF(256);
	unsigned count = add_words(&out, route->path);

	if (!verb)
		verb = verb_of(route, count);
	if (verb)
		buf_addf(&out, "%s%s", count > 0 ? "." : "", verb);
	return arena_copy(a, buf_span(&out));
}

const char *audit_action(struct arena *a, const struct route *route)
{
	const struct get_write *write = find_get_write(route);

	return write ? write->action : name_action(a, route, NULL);
}

const char *audit_detach_action(struct arena *a, const struct route *route)
{
	return name_action(a, route, "detach");
}

/* Of a project or an organisation the last parameter is meant: its member, its invitation. */
void audit_target(struct request *rq, const char **ret_kind, const char **ret_id)
{
	struct span rest = span_of(rq->route->path), part, word = {NULL, 0};
	bool takes_last = false, is_found = false;

	while (rest.size > 0) {
		(void)span_split(&rest, '/', &part);
		if (part.size == 0)
			continue;
		if (!is_parameter(part)) {
			word = part;
			continue;
		}
		if (is_found && !takes_last)
			return;
		takes_last = takes_last || span_equals_text(word, "projects") ||
		             span_equals_text(word, "organizations");
		is_found = true;
		*ret_kind = arena_copy(rq->arena, word);
		*ret_id = request_param(rq, arena_copy(rq->arena, span_after(part, 1)));
	}
}
