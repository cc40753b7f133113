/* SPDX-License-Identifier: Apache-2.0 */
/* Every route of every surface against the audit: a row of a route table that is added is tried
 * here without being named here. */
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "audit/log/log.h"
#include "harness.h"
#include "http/server/http.h"
#include "store/audit.h"
#include "unit.h"

static struct harness harness;
static char weak[64]; /* a key that may read sandboxes */

static const char *const methods[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS", [HTTP_ANY] = "POST",
};

/* What has no row although its method writes: it reads, or it has rows of another kind. */
static const char *const without_row[] = {
        "/api/sandbox/instances/:id/files/read",
        "/api/sandbox/instances/:id/files/pack",
        "/v1/leases/:key/files/read",
        "/v1/leases/:key/files/pack",
        "/v1/leases/:key/keepalive",
        "/v1/sandbox/read",
        "/v1/sandbox/read_binary",
        "/v1/sandbox/grep",
        "/v1/sandbox/glob",
        "/mcp",
        "/process.Process/List",
        "/filesystem.Filesystem/Stat",
        "/filesystem.Filesystem/ListDir",
        "/filesystem.Filesystem/WatchDir",
        "/filesystem.Filesystem/GetWatcherEvents",
        "/daytona/toolbox/:id/files/bulk-download",
};
/* What has one although it is a GET, beside terminals. */
static const char *const gets_with_row[] = {
        "/v1/sign-in/oidc/callback",
        "/v1/connects/callback",
        "/daytona/api/sandbox/:id/ports/:port/signed-preview-url",
};

static bool is_in(const char *path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(path, list[i]) == 0)
			return true;
	return false;
}

/* A server in a sandbox answers routes of HTTP_ANY. */
static bool wants_row(const struct route *route)
{
	if (route->method == HTTP_ANY || route->method == HTTP_OPTIONS ||
	    route->method == HTTP_HEAD)
		return false;
	if (route->method == HTTP_GET)
		return route->flags & ROUTE_WEBSOCKET ||
		       is_in(route->path, gets_with_row, COUNT_OF(gets_with_row));
	return !is_in(route->path, without_row, COUNT_OF(without_row));
}

/* Each parameter becomes "x". */
static void write_path(const char *pattern, char ret[256])
{
	size_t size = 0;

	while (*pattern && size < 254) {
		if (*pattern == ':' || *pattern == '*') {
			ret[size++] = 'x';
			pattern += strcspn(pattern, "/");
		} else {
			ret[size++] = *pattern++;
		}
	}
	ret[size] = '\0';
}

static int ask(const struct route *route, unsigned number)
{
	char path[256], header[64];
	struct call call = {.method = methods[route->method], .path = path, .headers = header};
	struct answer answer;
	int status;

	if (!(route->flags & ROUTE_PUBLIC))
		call.key = weak;
	(void)snprintf(header, sizeof(header), "X-Request-Id: route-%u\r\n", number);
	write_path(route->path, path);
	answer = harness_call(&harness, &call);
	status = answer.status;
	answer_done(&answer);
	return status;
}

static const struct audit_row *find_row(const struct audit_list *list, unsigned number)
{
	char id[32];

	(void)snprintf(id, sizeof(id), "route-%u", number);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].row.request_id, id) == 0)
			return &list->items[i].row;
	return NULL;
}

static bool holds_secret(const struct audit_row *row)
{
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);

	audit_row_write(&text, row);
	return strstr(buf_text(&text), weak + sizeof("atoll_") - 1);
}

static void check_row(const struct route *route, const struct audit_row *row, int status)
{
	bool is_public = route->flags & ROUTE_PUBLIC;

	if (!row)
		fail_msg("%s %s (%d) has no row", methods[route->method], route->path, status);
	if (strcmp(row->method, methods[route->method]) != 0 || !row->action[0] ||
	    strcmp(row->address, "127.0.0.1") != 0 || !row->id[0] || !row->node[0] || row->at <= 0)
		fail_msg("%s %s: method '%s', action '%s', address '%s'", methods[route->method],
		         route->path, row->method, row->action, row->address);
	if (strcmp(row->via, is_public ? "public" : "key") != 0 ||
	    is_public == (row->key_id[0] != '\0'))
		fail_msg("%s %s: via '%s', key '%s'", methods[route->method], route->path, row->via,
		         row->key_id);
	/* A page that tells of a failure is a redirect. */
	if ((status >= 400 && row->status != status) ||
	    (strcmp(row->result, "ok") == 0) != (row->status < 400))
		fail_msg("%s %s: %d, but the row has %s and %d", methods[route->method],
		         route->path, status, row->result, (int)row->status);
	if (holds_secret(row))
		fail_msg("%s %s: its row has the key", methods[route->method], route->path);
}

TEST(every_route_that_writes_has_a_row_and_what_reads_has_none)
{
	AUTO(arena_done) struct arena a = {0};
	const struct audit_page page = {.limit = 10000};
	int status[2048];
	unsigned count = 0, written = 0;
	struct audit_list list;
	struct error err = {0};

	for (const struct route *const *table = api_routes; *table; table++)
		for (const struct route *route = *table; route->path; route++, count++)
			status[count] = wants_row(route) || route->method != HTTP_GET
			                        ? ask(route, count)
			                        : 0;
	audit_log_close(harness.api.audit);
	harness.api.audit = NULL;
	assert_int_equal(store_audit_list(harness.store, &a, &page, &list, &err), 0);
	count = 0;
	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *route = *table; route->path; route++, count++) {
			const struct audit_row *row = find_row(&list, count);

			if (status[count] == 0)
				continue;
			if (wants_row(route)) {
				check_row(route, row, status[count]);
				written++;
			} else if (row && status[count] != 405 && route->method != HTTP_ANY) {
				fail_msg("%s %s reads, and has a row", methods[route->method],
				         route->path);
			}
		}
	}
	assert_true(written > 250);
}

int main(void)
{
	struct audit_log_options options = {.node = "node", .version = "1"};
	char folder[128];
	struct error err = {0};
	int result;

	harness_open(&harness);
	harness_key(&harness, "default", SCOPE_SANDBOX_READ, weak);
	(void)snprintf(folder, sizeof(folder), "%s/audit", harness.data);
	options.store = harness.store;
	options.folder = folder;
	harness.config.audit_calls = true;
	if (audit_log_open(&options, &harness.api.audit, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	result = RUN(CASE(every_route_that_writes_has_a_row_and_what_reads_has_none));
	audit_log_close(harness.api.audit);
	harness_close(&harness);
	return result;
}
