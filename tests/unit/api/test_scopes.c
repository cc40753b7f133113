/* SPDX-License-Identifier: Apache-2.0 */
/* Every route of every surface against keys and roles: a row that is added is tried here without
 * being named here. */
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "edge/api.h"
#include "edge/keys.h"
#include "harness.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "store/keys.h"
#include "store/members.h"
#include "unit.h"

#define EVE "eve@example.com"

static struct harness harness;

static const char *const methods[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS", [HTTP_ANY] = "GET",
};

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

static int ask(const struct route *route, const char *key)
{
	char path[256];
	struct call call = {.method = methods[route->method], .path = path, .key = key};
	struct answer answer;
	int status;

	write_path(route->path, path);
	answer = harness_call(&harness, &call);
	status = answer.status;
	answer_done(&answer);
	return status;
}

typedef void route_check(const struct route *route);

static void each_route(route_check *check)
{
	unsigned count = 0;

	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *route = *table; route->path; route++, count++)
			if (!(route->flags & ROUTE_PUBLIC))
				check(route);
	}
	assert_true(count > 50);
}

/* What changes nothing may be a POST for the sake of its body; what MCP changes is its session, and
 * its calls of tools ask for more by themselves (test_mcp.py). */
static bool may_be_read(const char *path)
{
	static const char *const paths[] = {"/api/sandbox/instances/:id/files/read",
	                                    "/api/sandbox/instances/:id/files/pack",
	                                    "/api/sandbox/artifacts/:id/url", "/mcp",
	                                    "/daytona/toolbox/:id/files/bulk-download"};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (strcmp(path, paths[i]) == 0)
			return true;
	return false;
}

/* What each caller may do with its own sessions, and with itself. The handlers of organizations
 * show a user's own (test_sign_in.py). */
static bool is_of_oneself(const char *path)
{
	static const char *const paths[] = {
	        "/accounts/me", "/v1/sessions", "/v1/sessions/:session", "/v1/users/:user",
	        "/v1/users/:user/password", "/v1/organizations", "/v1/organizations/:organization",
	        "/v1/organizations/:organization/members",
	        /* The key is public; the others ask for a scope or a role. */
	        "/v1/audit", "/v1/audit/export", "/v1/audit/key"};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (strcmp(path, paths[i]) == 0)
			return true;
	return false;
}

static void check_row(const struct route *route)
{
	bool changes = route->method != HTTP_GET && route->method != HTTP_HEAD;

	if (route->scope == SCOPE_NONE && !is_of_oneself(route->path))
		fail_msg("%s %s needs no scope", methods[route->method], route->path);
	if (changes && route->scope == SCOPE_SANDBOX_READ && !may_be_read(route->path))
		fail_msg("%s %s changes something with the scope to read", methods[route->method],
		         route->path);
}

TEST(every_row_needs_a_scope_and_what_changes_needs_more_than_to_read)
{
	each_route(check_row);
}

static void check_no_key(const struct route *route)
{
	int status = ask(route, NULL);

	if (status != 401)
		fail_msg("%s %s without a key: %d", methods[route->method], route->path, status);
}

TEST(no_row_answers_without_a_key)
{
	each_route(check_no_key);
}

static char keys[32][64]; /* by the bit of the scope that is missing */

static void check_scope(const struct route *route)
{
	for (unsigned bit = 0; SCOPE_ALL >> bit; bit++) {
		int status;

		if (!(route->scope >> bit & 1))
			continue;
		status = ask(route, keys[bit]);
		if (status != 403)
			fail_msg("%s %s without '%s': %d", methods[route->method], route->path,
			         account_scope_name((enum account_scope)(1u << bit)), status);
	}
}

TEST(every_row_refuses_a_key_that_has_all_scopes_but_its_own)
{
	for (unsigned bit = 0; SCOPE_ALL >> bit; bit++)
		harness_key(&harness, "default", SCOPE_ALL & ~SCOPE_ADMIN & ~(1u << bit),
		            keys[bit]);
	each_route(check_scope);
}

/* ---- roles ---- */

static void set_role(enum account_role role)
{
	const struct member_record eve = {.project_id = "default",
	                                  .user_id = EVE,
	                                  .role = account_role_name(role),
	                                  .updated_at = clock_unix_ms()};
	struct error err = {0};

	if (store_member_set_role(harness.store, &eve, &err) < 0)
		fail_msg("%s", err.text);
	api_key_cache_clear(harness.api.keys);
}

static char eves[64]; /* a key with every scope, of a member */
static enum account_role role;

static void check_role(const struct route *route)
{
	int status;

	if ((route->scope & ~account_role_scopes(role)) == 0)
		return;
	status = ask(route, eves);
	if (status != 403)
		fail_msg("%s %s by a %s: %d", methods[route->method], route->path,
		         account_role_name(role), status);
}

TEST(every_row_refuses_a_role_that_may_not)
{
	for (unsigned i = ROLE_NONE + 1; i < ROLE_COUNT; i++) {
		role = (enum account_role)i;
		set_role(role);
		each_route(check_role);
	}
}

/* One row of each kind; each is let by the roles from `least` on and refused before it. */
static const struct kind {
	const char *method, *path, *body;
	enum account_role least;
	int status;
} kinds[] = {
        {"GET", "/accounts/me", NULL, ROLE_VIEWER, 200},
        {"GET", "/api/sandbox/instances", NULL, ROLE_VIEWER, 200},
        {"GET", "/api/sandbox/templates", NULL, ROLE_VIEWER, 200},
        {"GET", "/api/sandbox/settings", NULL, ROLE_VIEWER, 200},
        {"GET", "/api/client/v1/sandbox/resource-config", NULL, ROLE_VIEWER, 200},
        {"GET", "/v1/projects", NULL, ROLE_VIEWER, 200},
        {"GET", "/v1/projects/me/members", NULL, ROLE_VIEWER, 200},
        {"GET", "/accounts/me/sandboxes", NULL, ROLE_VIEWER, 200},
        {"POST", "/api/sandbox/instances", "{\"template\":\"nosuch\"}", ROLE_MEMBER, 404},
        {"POST", "/api/client/v1/sandbox/sandboxes", "{\"template\":\"nosuch\"}", ROLE_MEMBER, 404},
        {"POST", "/accounts/me/sandboxes", "{}", ROLE_MEMBER, 400},
        {"POST", "/api/sandbox/templates/seed", "{}", ROLE_MEMBER, 200},
        {"DELETE", "/api/sandbox/templates/nosuch", NULL, ROLE_MEMBER, 404},
        {"GET", "/api/sandbox/keys", NULL, ROLE_ADMIN, 200},
        {"POST", "/api/sandbox/keys", "{}", ROLE_ADMIN, 400},
        {"PUT", "/api/sandbox/settings", "{}", ROLE_ADMIN, 200},
        {"PUT", "/api/sandbox/resource-config", "{}", ROLE_ADMIN, 200},
        {"PUT", "/api/sandbox/resource-config", "{\"maximums\":{\"cpu\":1}}", ROLE_COUNT, 200},
        {"PATCH", "/v1/projects/me", "{}", ROLE_ADMIN, 200},
        {"PATCH", "/v1/projects/me", "{\"sandboxes_max\":7}", ROLE_COUNT, 200},
        {"POST", "/v1/projects/me/members", "{}", ROLE_ADMIN, 400},
        {"GET", "/v1/projects/me/invitations", NULL, ROLE_ADMIN, 200},
        {"POST", "/v1/projects/me/invitations", "{}", ROLE_ADMIN, 400},
        {"DELETE", "/v1/projects/me/invitations/nosuch", NULL, ROLE_ADMIN, 404},
        {"GET", "/v1/users", NULL, ROLE_COUNT, 200},
        {"POST", "/v1/users", "{}", ROLE_COUNT, 400},
        {"DELETE", "/v1/users/nosuch", NULL, ROLE_COUNT, 404},
        {"POST", "/v1/projects", "{\"name\":\"mine\"}", ROLE_COUNT, 201},
        {"DELETE", "/v1/projects/other", NULL, ROLE_COUNT, 204},
        {"GET", "/v1/sandbox/sessions", NULL, ROLE_COUNT, 200},
};

TEST(each_role_is_let_and_refused_where_the_table_says)
{
	for (unsigned i = ROLE_NONE + 1; i < ROLE_COUNT; i++) {
		set_role((enum account_role)i);
		for (size_t k = 0; k < COUNT_OF(kinds); k++) {
			struct call call = {.method = kinds[k].method,
			                    .path = kinds[k].path,
			                    .key = eves,
			                    .body = span_of(kinds[k].body)};
			AUTO(answer_done) struct answer a = harness_call(&harness, &call);
			int expected = i < kinds[k].least ? 403 : kinds[k].status;

			if (a.status != expected)
				fail_msg("%s %s by a %s: %d instead of %d: %.300s", call.method,
				         call.path, account_role_name((enum account_role)i),
				         a.status, expected, a.body);
		}
	}
}

static void add_eve(void)
{
	const struct member_record members[] = {
	        {.project_id = "default", .user_id = "ann", .role = "admin"},
	        {.project_id = "default", .user_id = EVE, .role = "viewer"},
	};
	struct account_key key;
	struct key_record record = {.id = "eves",
	                            .project_id = "default",
	                            .user_id = EVE,
	                            .name = "eve",
	                            .prefix = "atoll_",
	                            .scopes = SCOPE_ALL,
	                            .created_at = 1};
	struct error err = {0};

	account_key_generate(&key);
	memcpy(record.hash, key.hash, sizeof(record.hash));
	(void)snprintf(eves, sizeof(eves), "%s", key.text);
	for (size_t i = 0; i < COUNT_OF(members); i++)
		if (store_member_insert(harness.store, &members[i], &err) < 0)
			fail_msg("%s", err.text);
	if (store_key_insert(harness.store, &record, &err) < 0)
		fail_msg("%s", err.text);
}

int main(void)
{
	int result;

	harness_open(&harness);
	add_eve();
	result = RUN(CASE(every_row_needs_a_scope_and_what_changes_needs_more_than_to_read),
	             CASE(no_row_answers_without_a_key),
	             CASE(every_row_refuses_a_key_that_has_all_scopes_but_its_own),
	             CASE(every_row_refuses_a_role_that_may_not),
	             CASE(each_role_is_let_and_refused_where_the_table_says));
	harness_close(&harness);
	return result;
}
