/* SPDX-License-Identifier: Apache-2.0 */
/* Projects, members, keys, settings and reusable configs, over a real socket. */
#include <stdio.h>
#include <string.h>

#include "edge/api.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "provider/entries.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "unit.h"
#include "unit/api/harness.h"

static struct harness harness;

struct expected {
	const char *method, *path, *body;
	int status;
	const char *has, *lacks; /* in the answer's body; NULL = anything */
};

static void check_as(const char *key, const struct expected *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct expected *e = &rows[i];
		struct call call = {
		        .method = e->method, .path = e->path, .key = key, .body = span_of(e->body)};
		AUTO(answer_done) struct answer a = harness_call(&harness, &call);

		if (a.status != e->status || (e->has && !strstr(a.body, e->has)) ||
		    (e->lacks && strstr(a.body, e->lacks)))
			fail_msg("%s %s: %d instead of %d, no '%s' or a '%s' in: %.600s", e->method,
			         e->path, a.status, e->status, e->has ? e->has : "",
			         e->lacks ? e->lacks : "", a.body);
	}
}
#define CHECK_ROWS(rows) check_as(harness.admin, (rows), COUNT_OF(rows))
#define CHECK_ONE(key, ...) check_as((key), &(struct expected){__VA_ARGS__}, 1)

/* The text after `"name":"` in the answer to a call that must succeed. */
static void ask(const struct call *call, const char *name, char ret[64])
{
	AUTO(answer_done) struct answer a = harness_call(&harness, call);
	char mark[32];
	const char *found;

	(void)snprintf(mark, sizeof(mark), "\"%s\":\"", name);
	found = strstr(a.body, mark);
	if (a.status >= 300 || !found)
		fail_msg("%s %s: %d %.600s", call->method, call->path, a.status, a.body);
	found += strlen(mark);
	(void)snprintf(ret, 64, "%.*s", (int)strcspn(found, "\""), found);
}

static void make_key(const char *project, const char *body, char ret_text[64])
{
	char header[96];
	const struct call call = {.method = "POST",
	                          .path = "/api/sandbox/keys",
	                          .key = harness.admin,
	                          .headers = header,
	                          .body = span_of(body)};

	(void)snprintf(header, sizeof(header), "X-Atoll-Project: %s\r\n", project);
	ask(&call, "key", ret_text);
}

#define P "/v1/projects"
TEST(projects_are_made_listed_changed_and_deleted)
{
	static const struct expected rows[] = {
	        {"POST", P, "{\"id\":\"p1\",\"name\":\"one\",\"owner\":\"ann@example.com\"}", 201,
	         "\"id\":\"p1\"", NULL},
	        {"POST", P, "{\"id\":\"p1\",\"name\":\"one\"}", 409, "conflict", NULL},
	        {"POST", P, "{\"id\":\"me\",\"name\":\"mine\"}", 400, "reserved", NULL},
	        {"POST", P, "{\"name\":\"x\",\"owner\":\"a b\"}", 400, "user", NULL},
	        {"POST", P, "{\"name\":\"x\",\"defaults\":{\"cpu\":4},\"maximums\":{\"cpu\":2}}",
	         400, "defaults: cpu: at most 2", NULL},
	        {"GET", P "/p1/members", NULL, 200, "ann@example.com", NULL},
	        {"GET", P, NULL, 200, "\"id\":\"p1\"", NULL},
	        {"GET", P "?limit=1", NULL, 200, "\"next_page\":\"default\"", "p1"},
	        {"GET", P "?limit=1&page=default", NULL, 200, "\"id\":\"p1\"",
	         "\"id\":\"default\""},
	        {"GET", P "?limit=0", NULL, 400, "limit", NULL},
	        {"GET", P "/me", NULL, 200, "\"id\":\"default\"", NULL},
	        {"GET", P "/nosuch", NULL, 404, "not_found", NULL},
	        {"GET", "/api/sandbox/projects/p1", NULL, 200, "\"name\":\"one\"", NULL},
	        {"PATCH", P "/p1",
	         "{\"name\":\"uno\",\"sandboxes_max\":3,\"maximums\":{\"memory_mb\":256}}", 200,
	         "\"memory_mb\":256", NULL},
	        {"PATCH", P "/p1", "{\"defaults\":{\"memory_mb\":512}}", 400,
	         "defaults: memory: at most 256 MiB", NULL},
	        {"PATCH", P "/p1", "{\"name\":\"default\"}", 409, "exists already", NULL},
	        {"PATCH", P "/p1", "{\"maximums\":{\"pids\":1}}", 400, "maximums: pids", NULL},
	        {"PATCH", P "/p1", "{\"nmae\":\"x\"}", 400, "nmae", NULL},
	        {"GET", P "/p1", NULL, 200,
	         "\"name\":\"uno\",\"organization\":\"default\",\"sandboxes_max\":3", NULL},
	        {"DELETE", P "/default", NULL, 409, "this key belongs to", NULL},
	        {"DELETE", P "/me?force=true", NULL, 409, "this key belongs to", NULL},
	        {"DELETE", P "/p1?force=maybe", NULL, 400, "force", NULL},
	        {"DELETE", P "/p1", NULL, 204, NULL, NULL},
	        {"DELETE", P "/p1", NULL, 404, "not_found", NULL},
	        {"GET", P "/p1", NULL, 404, "not_found", NULL},
	};

	CHECK_ROWS(rows);
}

TEST(a_projects_maximum_holds_whatever_is_asked_for)
{
	static const struct expected rows[] = {
	        {"PUT", "/api/sandbox/resource-config",
	         "{\"memory_mb\":128,\"maximums\":{\"memory_mb\":256,\"cpu\":0.25}}", 200,
	         "\"effective\":{\"cpu\":0.25,\"memory_mb\":128", NULL},
	        {"PUT", "/api/sandbox/resource-config", "{\"memory_mb\":64}", 200,
	         "\"maximums\":{\"cpu\":0.25,\"memory_mb\":256", NULL},
	        {"POST", "/api/sandbox/instances",
	         "{\"name\":\"small\",\"resources\":{\"memory_mb\":4096}}", 201,
	         "\"memory_mb\":256", NULL},
	        {"DELETE", "/api/sandbox/instances/small", NULL, 204, NULL, NULL},
	        {"PUT", "/api/sandbox/resource-config", "{\"maximums\":{}}", 200,
	         "\"effective\":{\"cpu\":0.5", NULL},
	};

	CHECK_ROWS(rows);
}

TEST(settings_hold_for_new_sandboxes_and_only_what_can_be_is_taken)
{
	static const struct expected rows[] = {
	        {"GET", "/api/sandbox/settings", NULL, 200, "\"terminal_ttl_seconds\":3600", NULL},
	        {"PUT", "/api/sandbox/settings",
	         "{\"idle_reap_seconds\":77,\"lifetime_max_seconds\":99,"
	         "\"terminal_ttl_seconds\":60,\"default_storage_provider\":\"local\"}",
	         200, "\"idle_reap_seconds\":77", NULL},
	        {"PUT", "/api/sandbox/settings", "{}", 200, "\"idle_reap_seconds\":77", NULL},
	        {"PUT", "/api/sandbox/settings", "{\"record_terminals\":true}", 200,
	         "\"record_terminals\":true", NULL},
	        {"GET", "/api/sandbox/settings", NULL, 200, "\"record_terminals\":true", NULL},
	        {"PUT", "/api/sandbox/settings", "{\"record_terminals\":\"yes\"}", 400,
	         "record_terminals", NULL},
	        {"PUT", "/api/sandbox/settings", "{\"record_terminals\":false}", 200,
	         "\"record_terminals\":false", NULL},
	        {"POST", "/api/sandbox/instances", "{\"name\":\"brief\"}", 201,
	         "\"idle_reap_ms\":77000,\"lifetime_max_ms\":99000", NULL},
	        {"DELETE", "/api/sandbox/instances/brief", NULL, 204, NULL, NULL},
	        {"PUT", "/api/sandbox/settings", "{\"default_isolation\":\"gvisor\"}", 501,
	         "less than gvisor", NULL},
	        {"PUT", "/api/sandbox/settings", "{\"default_storage_provider\":\"s3\"}", 501,
	         "not 's3'", NULL},
	        {"PUT", "/api/sandbox/settings", "{\"idle_reap_seconds\":-1}", 400,
	         "idle_reap_seconds", NULL},
	        {"PUT", "/api/sandbox/settings",
	         "{\"idle_reap_seconds\":0,\"lifetime_max_seconds\":0,\"terminal_ttl_seconds\":0}",
	         200, "\"idle_reap_seconds\":1800", NULL},
	};

	CHECK_ROWS(rows);
}

#define M P "/team/members"
TEST(members_come_change_and_go_but_never_the_last_admin)
{
	static const struct expected rows[] = {
	        {"POST", P, "{\"id\":\"team\",\"name\":\"team\"}", 201, NULL, NULL},
	        {"POST", M, "{\"user\":\"bob\",\"role\":\"viewer\"}", 409, "first member", NULL},
	        {"POST", M, "{\"user\":\"ann\",\"role\":\"admin\"}", 201, "\"role\":\"admin\"",
	         NULL},
	        {"POST", M, "{\"user\":\"ann\",\"role\":\"viewer\"}", 409, "already", NULL},
	        {"POST", M, "{\"user\":\"bob\",\"role\":\"owner\"}", 400, "unknown role", NULL},
	        {"POST", M, "{\"user\":\"b b\",\"role\":\"viewer\"}", 400, "not valid", NULL},
	        {"POST", M, "{\"user\":\"bob@example.com\",\"role\":\"viewer\"}", 201, NULL, NULL},
	        {"PATCH", M "/bob@example.com", "{\"role\":\"member\"}", 200, "\"role\":\"member\"",
	         NULL},
	        {"PATCH", M "/nobody", "{\"role\":\"member\"}", 404, "no member", NULL},
	        {"PATCH", M "/ann", "{\"role\":\"member\"}", 409, "last admin", NULL},
	        {"DELETE", M "/ann", NULL, 409, "last admin", NULL},
	        {"GET", M, NULL, 200, "bob@example.com", NULL},
	        {"DELETE", M "/bob@example.com", NULL, 204, NULL, NULL},
	        {"GET", M, NULL, 200, "ann", "bob"},
	        {"GET", P "/nosuch/members", NULL, 404, "no project", NULL},
	};

	CHECK_ROWS(rows);
}

TEST(a_members_key_follows_his_role_and_ends_with_him)
{
	static const struct expected joins = {"POST", M,    "{\"user\":\"cy\",\"role\":\"member\"}",
	                                      201,    NULL, NULL};
	char key[64];

	check_as(harness.admin, &joins, 1);
	make_key("team", "{\"name\":\"cys\",\"member\":\"cy\"}", key);
	CHECK_ONE(key, "GET", "/accounts/me", NULL, 200,
	          "\"scopes\":[\"sandbox:read\",\"sandbox:write\",\"template:write\"],"
	          "\"user\":\"cy\",\"role\":\"member\"",
	          NULL);
	CHECK_ONE(key, "POST", "/accounts/me/sandboxes", "{\"name\":\"c\"}", 201, NULL, NULL);
	CHECK_ONE(key, "POST", "/api/sandbox/keys", "{\"name\":\"more\"}", 403, "key:write", NULL);
	CHECK_ONE(key, "GET", P "/default", NULL, 404, "no project", NULL);
	CHECK_ONE(key, "GET", P, NULL, 200, "\"id\":\"team\"", "\"id\":\"default\"");
	CHECK_ONE(harness.admin, "PATCH", M "/cy", "{\"role\":\"viewer\"}", 200, NULL, NULL);
	CHECK_ONE(key, "DELETE", "/accounts/me/sandboxes/c", NULL, 403, "sandbox:write", NULL);
	CHECK_ONE(key, "GET", "/accounts/me/sandboxes", NULL, 200, "\"name\":\"c\"", NULL);
	CHECK_ONE(harness.admin, "DELETE", M "/cy", NULL, 204, NULL, NULL);
	CHECK_ONE(key, "GET", "/accounts/me", NULL, 401, "was revoked", NULL);
}

TEST(a_key_for_a_member_cannot_exceed_him)
{
	struct call call = {
	        .method = "POST",
	        .path = "/api/sandbox/keys",
	        .key = harness.admin,
	        .headers = "X-Atoll-Project: team\r\n",
	        .body = SPAN("{\"name\":\"k\",\"member\":\"ann\",\"scopes\":[\"admin\"]}"),
	};
	AUTO(answer_done) struct answer admin = harness_call(&harness, &call);
	AUTO(answer_done) struct answer nobody = {.status = 0};

	assert_int_equal(admin.status, 403);
	assert_non_null(strstr(admin.body, "cannot have the scope 'admin'"));
	call.body = SPAN("{\"name\":\"k\",\"member\":\"nobody\"}");
	nobody = harness_call(&harness, &call);
	assert_int_equal(nobody.status, 404);
}

TEST(keys_expire_are_rotated_and_say_so_to_who_holds_them)
{
	char key[64], id[64], renewed[64], path[128];
	const struct call rotate = {
	        .method = "POST", .path = path, .key = harness.admin, .body = SPAN("{}")};
	const struct call me = {.method = "GET", .path = "/accounts/me", .key = key};

	make_key("default", "{\"name\":\"k\",\"scopes\":[\"sandbox:read\"]}", key);
	ask(&me, "key", id);
	(void)snprintf(path, sizeof(path), "/api/sandbox/keys/%s/rotate", id);
	CHECK_ONE(harness.admin, "POST", path, "{\"grace_ms\":604800001}", 400, "grace_ms", NULL);
	CHECK_ONE(harness.admin, "POST", path, "{\"grace_ms\":60000}", 200, "\"key\":\"atoll_",
	          NULL);
	CHECK_ONE(key, "GET", "/accounts/me", NULL, 200, id, NULL);
	ask(&rotate, "key", renewed);
	CHECK_ONE(key, "GET", "/accounts/me", NULL, 401, NULL, id);
	CHECK_ONE(renewed, "GET", "/accounts/me", NULL, 200, id, NULL);
	(void)snprintf(path, sizeof(path), "/api/sandbox/keys/%s", id);
	CHECK_ONE(harness.admin, "DELETE", path, NULL, 204, NULL, NULL);
	CHECK_ONE(renewed, "GET", "/accounts/me", NULL, 401, "was revoked", NULL);
	(void)snprintf(path, sizeof(path), "/api/sandbox/keys/%s/rotate", id);
	CHECK_ONE(harness.admin, "POST", path, "{}", 409, "is revoked", NULL);
	CHECK_ONE("atoll_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "GET", "/accounts/me", NULL,
	          401, "not valid", "revoked");
}

TEST(a_keys_term_is_checked)
{
	static const struct expected rows[] = {
	        {"POST", "/api/sandbox/keys",
	         "{\"name\":\"k\",\"expires_at\":\"2020-01-01T00:00:00Z\"}", 400, "has passed",
	         NULL},
	        {"POST", "/api/sandbox/keys",
	         "{\"name\":\"k\",\"expires_at\":\"2030-01-01T00:00:00Z\"}", 201, "\"2030-01-01",
	         NULL},
	        {"POST", "/api/sandbox/keys",
	         "{\"name\":\"k\",\"expires_at\":\"2030-01-01T00:00:00Z\",\"expires_in_ms\":5}",
	         400, "either", NULL},
	        {"POST", "/api/sandbox/keys", "{\"name\":\"k\",\"scopes\":[]}", 400,
	         "needs a scope", NULL},
	};

	CHECK_ROWS(rows);
}

#define C "/accounts/me/sandboxes"
TEST(configs_are_kept_checked_and_masked)
{
	static const struct expected rows[] = {
	        {"POST", C,
	         "{\"name\":\"default\",\"config\":{\"provider\":\"lambda\",\"internet\":true,"
	         "\"permissionMode\":\"ask\",\"runtimes\":[\"bash\",\"python\",\"node\"],"
	         "\"timeout\":120,\"memoryLimit\":512,\"outputLimitBytes\":65536,"
	         "\"envVars\":{\"FOO\":\"hidden\"}}}",
	         201, "\"envVars\":{\"FOO\":\"********\"}", "hidden"},
	        {"GET", C "/default", NULL, 200, "\"internet\":true", "hidden"},
	        {"GET", C, NULL, 200, "\"permissionMode\":\"ask\"", "hidden"},
	        {"POST", C, "{\"name\":\"default\"}", 409, "exists already", NULL},
	        {"POST", C, "{\"name\":\"a/b\"}", 400, "name", NULL},
	        {"POST", C, "{\"name\":\"x\",\"config\":{\"provider\":\"lambda\",\"timeout\":301}}",
	         400, "config: timeout: at most 300", NULL},
	        {"POST", C, "{\"name\":\"x\",\"config\":{\"envVars\":{\"A=B\":\"c\"}}}", 400,
	         "config.envVars", NULL},
	        {"POST", C, "{\"name\":\"x\",\"config\":{\"envVars\":{\"A\":\"********\"}}}", 400,
	         "no stored value", NULL},
	        {"POST", C, "{\"name\":\"x\",\"config\":{\"memoryLimit\":1}}", 400, "memory", NULL},
	        {"PATCH", C "/default", "{\"name\":\"other\"}", 200, "\"timeout\":120", NULL},
	        {"PATCH", C "/other", "{\"config\":{\"timeout\":601}}", 400, "timeout", NULL},
	        {"PATCH", C "/other",
	         "{\"config\":{\"internet\":false,\"memoryLimit\":64,\"envVars\":"
	         "{\"FOO\":\"********\",\"BAR\":\"new\"}}}",
	         200, "\"internet\":false", "permissionMode"},
	        {"POST", "/api/sandbox/instances",
	         "{\"name\":\"made\",\"config\":\"other\","
	         "\"env\":{\"BAR\":\"mine\"}}",
	         201, "\"network\":\"blocked\"", "hidden"},
	        {"GET", "/api/sandbox/instances/made", NULL, 200, "\"memory_mb\":64", NULL},
	        {"GET", "/api/sandbox/instances/made", NULL, 200, "\"env_names\":[\"BAR\",\"FOO\"]",
	         NULL},
	        {"GET", "/api/sandbox/instances/made", NULL, 200, "\"atoll.config\":\"", NULL},
	        {"DELETE", "/api/sandbox/instances/made", NULL, 204, NULL, NULL},
	        {"POST", "/api/sandbox/instances", "{\"config\":\"nosuch\"}", 404,
	         "no sandbox config", NULL},
	        {"PATCH", C "/other", "{\"config\":{\"provider\":\"e2b\"}}", 200, NULL, NULL},
	        {"POST", "/api/sandbox/instances", "{\"config\":\"other\"}", 501, "'e2b'", NULL},
	        {"PATCH", C "/other",
	         "{\"config\":{\"persistent\":true,\"options\":{\"persistentDiskGb\":20}}}", 200,
	         "\"persistentDiskGb\":20", NULL},
	        {"POST", "/api/sandbox/instances", "{\"config\":\"other\"}", 501, "keep volumes",
	         NULL},
	        {"DELETE", C "/other", NULL, 204, NULL, NULL},
	        {"DELETE", C "/other", NULL, 404, "no sandbox config", NULL},
	};

	CHECK_ROWS(rows);
}

/* None is begun: what it asks for is refused before. */
TEST(a_tool_takes_no_longer_than_the_configs_provider_and_timeout_allow)
{
#define TOOL(name, config, input)                                                                  \
	"POST", "/v1/tools/" name,                                                                 \
	        "{\"sandboxId\":\"timed\",\"config\":\"" config "\",\"input\":{" input "}}"
	static const struct expected rows[] = {
	        {"POST", "/api/sandbox/instances", "{\"name\":\"timed\"}", 201, NULL, NULL},
	        {"POST", C, "{\"name\":\"of-lambda\",\"config\":{\"provider\":\"lambda\"}}", 201,
	         NULL, NULL},
	        {"POST", C, "{\"name\":\"of-us\",\"config\":{\"timeout\":120}}", 201, NULL, NULL},
	        {TOOL("bash", "of-lambda", "\"command\":\"true\",\"timeout_ms\":300001"), 400,
	         "at most 300000 here", NULL},
	        {TOOL("execute_command", "of-lambda", "\"command\":\"true\",\"wait_ms\":300001"),
	         400, "wait_ms: at most 300000 here", NULL},
	        {TOOL("execute_command", "of-us", "\"command\":\"true\",\"wait_ms\":120001"), 400,
	         "wait_ms: at most 120000 here", NULL},
	        {TOOL("terminal_operator", "of-us", "\"wait_change\":true,\"wait_ms\":120001"), 400,
	         "wait_ms: at most 120000 here", NULL},
	        {"DELETE", C "/of-lambda", NULL, 204, NULL, NULL},
	        {"DELETE", C "/of-us", NULL, 204, NULL, NULL},
	        {"DELETE", "/api/sandbox/instances/timed", NULL, 204, NULL, NULL},
	};

	CHECK_ROWS(rows);
}

TEST(a_link_for_who_has_named_no_host_leads_to_an_address_that_a_browser_finds)
{
	static const struct {
		const char *listen, *tls_listen, *begins;
	} rows[] = {
	        {"0.0.0.0:7777", "", "\"http://127.0.0.1:7777/api/sandbox/preview/"},
	        {"[::]:7777", "", "\"http://[::1]:7777/api/sandbox/preview/"},
	        {"192.0.2.7:80", "", "\"http://192.0.2.7:80/api/sandbox/preview/"},
	        {"unix:/run/atoll.sock", "0.0.0.0:443", "\"https://127.0.0.1:443/api/sandbox/"},
	        {"unix:/run/atoll.sock", "", "\"http://localhost/api/sandbox/preview/"},
	};
	const struct call call = {
	        .method = "POST",
	        .path = "/v1/tools/preview_url",
	        .key = harness.admin,
	        .names_no_host = true,
	        .body = SPAN("{\"sandboxId\":\"seen\",\"input\":{\"port\":3000}}"),
	};
	const char *listen = harness.config.listen, *tls_listen = harness.config.tls_listen;

	CHECK_ONE(harness.admin, "POST", "/api/sandbox/instances",
	          "{\"name\":\"seen\",\"internet\":true}", 201, NULL, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		harness.config.listen = rows[i].listen;
		harness.config.tls_listen = rows[i].tls_listen;
		AUTO(answer_done) struct answer a = harness_call(&harness, &call);

		if (a.status != 200 || !strstr(a.body, rows[i].begins))
			fail_msg("%s: %d, no '%s' in: %.600s", rows[i].listen, a.status,
			         rows[i].begins, a.body);
	}
	harness.config.listen = listen;
	harness.config.tls_listen = tls_listen;
	CHECK_ONE(harness.admin, "DELETE", "/api/sandbox/instances/seen", NULL, 204, NULL, NULL);
}

TEST(clients_find_the_same_routes_under_their_own_prefix)
{
	static const struct expected rows[] = {
	        {"POST", "/api/client/v1/sandbox/sandboxes", "{\"name\":\"c1\"}", 201,
	         "\"name\":\"c1\"", NULL},
	        {"GET", "/api/client/v1/sandbox/sandboxes?name=c1", NULL, 200, "\"name\":\"c1\"",
	         NULL},
	        {"GET", "/api/client/v1/sandbox/instances/c1", NULL, 200, "\"name\":\"c1\"", NULL},
	        {"POST", "/api/client/v1/sandbox/sandboxes/c1/exec", "{\"command\":\"hello\"}", 200,
	         "\"stdout\":\"hello\"", NULL},
	        {"GET", "/api/client/v1/sandbox/templates", NULL, 200, "items", NULL},
	        {"GET", "/api/client/v1/sandbox/projects/me", NULL, 200, "default", NULL},
	        {"GET", "/api/client/v1/sandboxes", NULL, 404, "not_found", NULL},
	        {"DELETE", "/api/client/v1/sandbox/sandboxes/c1", NULL, 204, NULL, NULL},
	};

	CHECK_ROWS(rows);
}

TEST(a_project_with_sandboxes_is_deleted_only_by_force_and_leaves_nothing)
{
	static const struct expected before[] = {
	        {"POST", P, "{\"id\":\"doomed\",\"name\":\"doomed\"}", 201, NULL, NULL},
	};
	static const struct expected after[] = {
	        {"DELETE", P "/doomed", NULL, 409, "has sandboxes", NULL},
	        {"GET", P "/doomed", NULL, 200, "\"closing\":false", NULL},
	        {"DELETE", P "/doomed?force=true", NULL, 204, NULL, NULL},
	        {"GET", P "/doomed", NULL, 404, NULL, NULL},
	};
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct sandbox_filter filter = {.project_id = "doomed", .state = -1, .limit = 10};
	struct provider_list left;
	struct sandbox_list rows;
	struct error err = {0};
	char key[64], id[64];
	const struct call create = {
	        .method = "POST", .path = "/api/sandbox/instances", .key = key, .body = SPAN("{}")};

	CHECK_ROWS(before);
	make_key("doomed", "{\"name\":\"k\"}", key);
	ask(&create, "id", id);
	ask(&create, "id", id);
	CHECK_ROWS(after);
	CHECK_ONE(key, "GET", "/accounts/me", NULL, 401, "not valid", NULL);
	assert_int_equal(store_sandbox_list(harness.store, &a, &filter, &rows, &err), 0);
	assert_int_equal(rows.count, 0);
	assert_int_equal(provider_ops_of(harness.provider)->list(harness.provider, &a, &left, &err),
	                 0);
	for (size_t i = 0; i < left.count; i++)
		assert_string_not_equal(left.entries[i].id, id);
}

int main(void)
{
	int result;

	harness_open(&harness);
	result =
	        RUN(CASE(projects_are_made_listed_changed_and_deleted),
	            CASE(a_projects_maximum_holds_whatever_is_asked_for),
	            CASE(settings_hold_for_new_sandboxes_and_only_what_can_be_is_taken),
	            CASE(members_come_change_and_go_but_never_the_last_admin),
	            CASE(a_members_key_follows_his_role_and_ends_with_him),
	            CASE(a_key_for_a_member_cannot_exceed_him),
	            CASE(keys_expire_are_rotated_and_say_so_to_who_holds_them),
	            CASE(a_keys_term_is_checked), CASE(configs_are_kept_checked_and_masked),
	            CASE(a_tool_takes_no_longer_than_the_configs_provider_and_timeout_allow),
	            CASE(a_link_for_who_has_named_no_host_leads_to_an_address_that_a_browser_finds),
	            CASE(clients_find_the_same_routes_under_their_own_prefix),
	            CASE(a_project_with_sandboxes_is_deleted_only_by_force_and_leaves_nothing));
	harness_close(&harness);
	return result;
}
