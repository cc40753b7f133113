/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, projects and limits at the edge, and agents that do not keep to the protocol. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "edge/api.h"
#include "fleet/server/fleet.h"
#include "harness.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "unit.h"

static struct harness harness;

static struct answer call_as(const char *key, const char *method, const char *path,
                             const char *body)
{
	struct call call = {.method = method, .path = path, .key = key, .body = span_of(body)};

	return harness_call(&harness, &call);
}

static void assert_status(int expected, const char *key, const char *method, const char *path,
                          const char *body)
{
	AUTO(answer_done) struct answer a = call_as(key, method, path, body);

	if (a.status != expected)
		fail_msg("%s %s: %d: %.300s", method, path, a.status, a.body);
}

#define I "/api/sandbox/instances"

static void make_box(void)
{
	AUTO(answer_done) struct answer a = call_as(harness.admin, "POST", I, "{\"name\":\"box\"}");

	assert_true(a.status == 201 || a.status == 409);
}

TEST(without_a_valid_key_nothing_is_told)
{
	char almost[64];

	memcpy(almost, harness.admin, sizeof(almost));
	almost[20] = almost[20] == 'a' ? 'b' : 'a';
	assert_status(401, NULL, "GET", I, NULL);
	assert_status(401, "", "GET", I, NULL);
	assert_status(401, "nonsense", "GET", I, NULL);
	assert_status(401, almost, "GET", I, NULL);
	assert_status(200, harness.admin, "GET", I, NULL);
}

TEST(a_key_works_in_its_own_header_too)
{
	char headers[128];
	struct call call = {.method = "GET", .path = I, .headers = headers};

	(void)snprintf(headers, sizeof(headers), "X-API-Key: %s\r\n", harness.admin);
	AUTO(answer_done) struct answer a = harness_call(&harness, &call);
	assert_int_equal(a.status, 200);
}

TEST(a_key_does_only_what_its_scopes_say)
{
	char reader[64];

	make_box();
	harness_key(&harness, "default", SCOPE_SANDBOX_READ, reader);
	assert_status(200, reader, "GET", I, NULL);
	assert_status(200, reader, "GET", I "/box/processes", NULL);
	assert_status(403, reader, "POST", I, "{}");
	assert_status(403, reader, "POST", I "/box/exec", "{\"command\":\"a\"}");
	assert_status(403, reader, "DELETE", I "/box", NULL);
	assert_status(403, reader, "GET", "/api/sandbox/keys", NULL);
	assert_status(403, reader, "GET", "/v1/sandbox/sessions", NULL);
	assert_status(403, reader, "POST", "/api/sandbox/templates/seed", NULL);
}

TEST(nobody_grants_more_than_he_has)
{
	char maker[64];

	harness_key(&harness, "default", SCOPE_KEY_WRITE | SCOPE_SANDBOX_READ, maker);
	assert_status(201, maker, "POST", "/api/sandbox/keys",
	              "{\"name\":\"a\",\"scopes\":[\"sandbox:read\"]}");
	assert_status(403, maker, "POST", "/api/sandbox/keys",
	              "{\"name\":\"a\",\"scopes\":[\"sandbox:write\"]}");
	assert_status(403, maker, "POST", "/api/sandbox/keys",
	              "{\"name\":\"a\",\"scopes\":[\"admin\"]}");
}

TEST(another_projects_sandbox_is_not_there)
{
	char other[64];

	make_box();
	harness_key(&harness, "other", SCOPE_SANDBOX_READ | SCOPE_SANDBOX_WRITE, other);
	AUTO(answer_done) struct answer mine = call_as(harness.admin, "GET", I "/box", NULL);
	AUTO(answer_done) struct answer list = call_as(other, "GET", I, NULL);
	char id[21] = "", path[128];

	memcpy(id, strstr(mine.body, "\"id\":\"") + 6, 20);
	(void)snprintf(path, sizeof(path), I "/%s", id);
	assert_null(strstr(list.body, id));
	assert_status(200, harness.admin, "GET", path, NULL);
	assert_status(404, other, "GET", path, NULL);
	assert_status(404, other, "GET", I "/box", NULL);
	assert_status(404, other, "DELETE", path, NULL);
	(void)snprintf(path, sizeof(path), I "/%s/exec", id);
	assert_status(404, other, "POST", path, "{\"command\":\"a\"}");
	(void)snprintf(path, sizeof(path), "/api/sandbox/terminal/%s.1/browser", id);
	assert_status(404, other, "GET", path, NULL);
}

/* The path of a terminal's WebSocket, out of an answer. */
static void path_of(const struct answer *a, char ret[256])
{
	const char *path = strstr(a->body, "\"path\":\"");

	assert_non_null(path);
	path += strlen("\"path\":\"");
	(void)snprintf(ret, 256, "%.*s", (int)strcspn(path, "\""), path);
}

TEST(a_terminals_path_opens_it_once_without_a_key)
{
	char key[64], path[256], id[21] = "", again[256], body[64];

	make_box();
	harness_key(&harness, "default", SCOPE_SANDBOX_WRITE, key);
	AUTO(answer_done) struct answer made = call_as(key, "POST", I "/box/terminal", "{}");
	assert_int_equal(made.status, 201);
	path_of(&made, path);
	assert_non_null(strstr(path, "?ticket="));
	/* Let in, and only then refused as no WebSocket. */
	assert_status(400, NULL, "GET", path, NULL);
	assert_status(401, NULL, "GET", path, NULL);
	memcpy(id, strstr(path, "/terminal/") + strlen("/terminal/"), 20);
	(void)snprintf(body, sizeof(body), "{\"session\":\"%s.1\"}", id);
	AUTO(answer_done) struct answer more = call_as(key, "POST", I "/box/terminal", body);
	assert_int_equal(more.status, 201);
	path_of(&more, path);
	/* For this path only. */
	(void)snprintf(again, sizeof(again), "/api/sandbox/terminal/%s.2/browser%s", id,
	               strchr(path, '?'));
	assert_status(401, NULL, "GET", again, NULL);
	(void)snprintf(again, sizeof(again), I "/box%s", strchr(path, '?'));
	assert_status(401, NULL, "GET", again, NULL);
	assert_status(404, key, "POST", I "/box/terminal", "{\"session\":\"other.1\"}");
	assert_status(404, key, "POST", I "/box/terminal", "{\"session\":\"other\"}");
}

TEST(only_an_admin_acts_in_another_project)
{
	char other[64];
	struct call call = {.method = "GET", .path = I, .headers = "X-Atoll-Project: other\r\n"};

	call.key = harness.admin;
	AUTO(answer_done) struct answer admin = harness_call(&harness, &call);
	assert_int_equal(admin.status, 200);
	assert_null(strstr(admin.body, "\"name\":\"box\""));
	harness_key(&harness, "default", SCOPE_SANDBOX_READ, other);
	call.key = other;
	AUTO(answer_done) struct answer refused = harness_call(&harness, &call);
	assert_int_equal(refused.status, 403);
	call.key = harness.admin;
	call.headers = "X-Atoll-Project: nosuch\r\n";
	AUTO(answer_done) struct answer missing = harness_call(&harness, &call);
	assert_int_equal(missing.status, 404);
}

TEST(a_revoked_key_stops_working_at_once)
{
	AUTO(answer_done) struct answer made =
	        call_as(harness.admin, "POST", "/api/sandbox/keys", "{\"name\":\"short-lived\"}");
	char id[21] = "", key[64] = "", path[64];

	memcpy(id, strstr(made.body, "\"id\":\"") + 6, 20);
	memcpy(key, strstr(made.body, "\"key\":\"") + 7, ACCOUNT_KEY_SIZE);
	(void)snprintf(path, sizeof(path), "/api/sandbox/keys/%s", id);
	assert_status(200, key, "GET", I, NULL);
	assert_status(204, harness.admin, "DELETE", path, NULL);
	assert_status(401, key, "GET", I, NULL);
}

TEST(an_expired_key_is_refused)
{
	AUTO(answer_done) struct answer made = call_as(harness.admin, "POST", "/api/sandbox/keys",
	                                               "{\"name\":\"k\",\"expires_in_ms\":1}");
	char key[64] = "";
	int64_t expires_at = clock_unix_ms() + 1;

	memcpy(key, strstr(made.body, "\"key\":\"") + 7, ACCOUNT_KEY_SIZE);
	/* The key's own time passes. */
	while (clock_unix_ms() <= expires_at)
		(void)sched_yield();
	assert_status(401, key, "GET", I, NULL);
}

static void *call_in_thread(void *context)
{
	struct call call = {
	        .method = "POST",
	        .path = "/v1/sandbox/bash",
	        .key = harness.admin,
	        .body = SPAN("{\"session_id\":\"together\",\"command\":\"a\"}"),
	};
	struct answer a = harness_call(&harness, &call);

	*(int *)context = a.status;
	answer_done(&a);
	return NULL;
}

TEST(first_calls_of_a_session_that_come_together_share_one_sandbox)
{
	pthread_t threads[6];
	int statuses[6];

	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_in_thread, &statuses[i]),
		                 0);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(statuses[i], 200);
	}
	AUTO(answer_done) struct answer list =
	        call_as(harness.admin, "GET", I "?label=session_id%3Dtogether", NULL);
	const char *first = strstr(list.body, "\"env_names\"");

	assert_non_null(first);
	assert_null(strstr(first + 1, "\"env_names\""));
}

TEST(sessions_have_a_limit)
{
	harness.config.sessions_max = 1;
	assert_status(429, harness.admin, "POST", "/v1/sandbox/bash",
	              "{\"session_id\":\"one too many\",\"command\":\"a\"}");
	harness.config.sessions_max = 50;
}

/* ---- agents that do not keep to the protocol ---- */

static bool is_cut(const struct answer *a)
{
	const char *length = strstr(a->text.data, "Content-Length: ");

	return length && strtoull(length + 16, NULL, 10) >
	                         (unsigned long long)(a->text.data + a->text.size - a->body);
}

TEST(a_file_that_ends_too_early_is_not_passed_off_as_whole)
{
	make_box();
	AUTO(answer_done) struct answer a =
	        call_as(harness.admin, "GET", I "/box/files/content?path=short", NULL);

	assert_int_equal(a.status, 200);
	assert_true(is_cut(&a));
}

TEST(a_file_that_grows_is_cut_where_it_was_announced_to_end)
{
	make_box();
	AUTO(answer_done) struct answer a =
	        call_as(harness.admin, "GET", I "/box/files/content?path=long", NULL);

	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "one\ntwo\nthree\n");
}

TEST(garbage_from_an_agent_ends_the_call_and_nothing_else)
{
	make_box();
	AUTO(answer_done) struct answer wild =
	        call_as(harness.admin, "POST", I "/box/files/read", "{\"path\":\"wild\"}");

	assert_true(wild.status >= 400);
	assert_status(200, harness.admin, "GET", I "/box/files/content?path=f", NULL);
}

TEST(held_sandboxes_are_let_go_after_every_kind_of_end)
{
	struct fleet_counts counts;

	make_box();
	assert_status(200, harness.admin, "GET", I "/box/files/content?path=f", NULL);
	assert_status(404, harness.admin, "GET", I "/box/files/content?path=missing", NULL);
	assert_status(503, harness.admin, "POST", I "/box/exec", "{\"command\":\"die\"}");
	assert_status(200, harness.admin, "GET", I "/box/files/watch?path=.", NULL);
	counts = fleet_counts_get(harness.fleet);
	assert_int_equal(counts.held, 0);
}

int main(void)
{
	int result;

	harness_open(&harness);
	result = RUN(
	        CASE(without_a_valid_key_nothing_is_told), CASE(a_key_works_in_its_own_header_too),
	        CASE(a_key_does_only_what_its_scopes_say), CASE(nobody_grants_more_than_he_has),
	        CASE(another_projects_sandbox_is_not_there),
	        CASE(a_terminals_path_opens_it_once_without_a_key),
	        CASE(only_an_admin_acts_in_another_project),
	        CASE(a_revoked_key_stops_working_at_once), CASE(an_expired_key_is_refused),
	        CASE(first_calls_of_a_session_that_come_together_share_one_sandbox),
	        CASE(sessions_have_a_limit),
	        CASE(a_file_that_ends_too_early_is_not_passed_off_as_whole),
	        CASE(a_file_that_grows_is_cut_where_it_was_announced_to_end),
	        CASE(garbage_from_an_agent_ends_the_call_and_nothing_else),
	        CASE(held_sandboxes_are_let_go_after_every_kind_of_end));
	harness_close(&harness);
	return result;
}
