/* SPDX-License-Identifier: Apache-2.0 */
/* Every route over a real socket: success, bad input, a missing key, too small a scope. */
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/lifecycle.h"
#include "harness.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "store/leases.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "unit.h"

static struct harness harness;

struct expected {
	const char *method, *path, *body;
	int status;
	const char *has; /* somewhere in the answer's body */
	const char *type, *headers;
};

static void check(const struct expected *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct expected *e = &rows[i];
		struct call call = {
		        .method = e->method,
		        .path = e->path,
		        .key = harness.admin,
		        .type = e->type,
		        .headers = e->headers,
		        .body = span_of(e->body),
		};
		AUTO(answer_done) struct answer a = harness_call(&harness, &call);

		if (a.status != e->status || (e->has && !strstr(a.body, e->has)))
			fail_msg("%s %s: %d instead of %d, or no '%s' in: %.600s", e->method,
			         e->path, a.status, e->status, e->has ? e->has : "", a.body);
	}
}
#define CHECK_ROWS(rows) check((rows), COUNT_OF(rows))

#define I "/api/sandbox/instances"
#define X I "/box"
#define F X "/files"

TEST(sandboxes_are_made_found_stopped_started_and_deleted)
{
	static const struct expected rows[] = {
	        {"POST", I,
	         "{\"name\":\"box\",\"template\":\"host\",\"labels\":{\"a\":\"b\"},"
	         "\"env\":{\"SECRET\":\"hidden\"},\"resources\":{\"cpu\":1}}",
	         201, "\"state\":\"started\""},
	        {"POST", I, "{\"name\":\"box\"}", 409, "conflict"},
	        {"POST", I, "{\"nmae\":\"box\"}", 400, "nmae"},
	        {"POST", I, "{\"name\":\"-bad-\"}", 400, "invalid_request"},
	        {"POST", I, "{\"template\":\"nosuch\"}", 404, "not_found"},
	        {"POST", I, "{\"internet\":true,\"network\":\"blocked\"}", 400, "contradict"},
	        {"POST", I, "{\"network\":\"blocked\",\"name\":\"quiet\"}", 201,
	         "\"network\":\"blocked\""},
	        {"POST", I, "{\"resources\":{\"cpu\":-1}}", 400, "cpu"},
	        {"POST", I, "{", 400, "invalid_request"},
	        {"POST", I, "{}", 415, "unsupported", "text/plain"},
	        {"POST", I "?wait=maybe", "{}", 400, "wait"},
	        {"POST", I "?wait=false", "{\"name\":\"later\"}", 202, "\"name\":\"later\""},
	        {"GET", I, NULL, 200, "\"name\":\"box\""},
	        {"GET", I "?limit=1", NULL, 200, "\"next_page\":\""},
	        {"GET", I "?label=a%3Db", NULL, 200, "\"name\":\"box\""},
	        {"GET", I "?label=a", NULL, 400, "no '='"},
	        {"GET", I "?state=started&name=box&template=host", NULL, 200, "\"name\":\"box\""},
	        {"GET", I "?state=sideways", NULL, 400, "sideways"},
	        {"GET", I "?limit=0", NULL, 400, "limit"},
	        {"GET", I "?nosuch=1", NULL, 400, "nosuch"},
	        {"GET", X, NULL, 200, "\"env_names\":[\"SECRET\"]"},
	        {"GET", I "/nosuch", NULL, 404, "not_found"},
	        {"GET", X "/stats", NULL, 200, "\"disk_bytes\":-1"},
	        {"GET", X "/events", NULL, 200, "\"kind\":\"sandbox.started\""},
	        {"GET", X "/events?after=1&limit=1", NULL, 200, "items"},
	        {"GET", X "/events?limit=x", NULL, 400, "limit"},
	        {"POST", X "/stop", NULL, 200, "\"state\":\"stopped\""},
	        {"POST", X "/exec", "{\"command\":\"ls\"}", 409, "is stopped"},
	        {"POST", X "/start", NULL, 200, "\"state\":\"started\""},
	        {"POST", I "/nosuch/stop", NULL, 404, "not_found"},
	        {"POST", I "/nosuch/start", NULL, 404, "not_found"},
	        {"DELETE", I "/quiet", NULL, 204, NULL},
	        {"DELETE", I "/nosuch", NULL, 404, "not_found"},
	        {"PATCH", I, "{}", 405, "method"},
	        {"GET", "/nosuch", NULL, 404, "not_found"},
	};

	CHECK_ROWS(rows);
}

TEST(environment_values_are_never_shown)
{
	struct call call = {.method = "GET", .path = X, .key = harness.admin};
	AUTO(answer_done) struct answer a = harness_call(&harness, &call);

	assert_int_equal(a.status, 200);
	assert_null(strstr(a.body, "hidden"));
}

TEST(commands_run_and_tell_their_results)
{
	static const struct expected rows[] = {
	        {"POST", X "/exec", "{\"command\":\"hello\"}", 200, "\"stdout\":\"hello\""},
	        {"POST", X "/exec", "{\"command\":\"hello\"}", 200, "\"runtime\":\"sh\""},
	        {"POST", X "/exec", "{\"command\":\"exit 3\"}", 200, "\"exit_code\":3"},
	        {"POST", X "/exec", "{\"cmd\":\"echo\",\"args\":[\"a\",\"b\"]}", 200,
	         "\"runtime\":\"program\""},
	        {"POST", X "/exec", "{\"cmd\":\"absent\"}", 200, "\"exit_code\":127"},
	        {"POST", X "/exec?stream=ndjson", "{\"cmd\":\"absent\"}", 200,
	         "absent: command not found"},
	        {"POST", X "/exec", "{\"cmd\":\"cat\",\"stdin\":\"abc\"}", 200,
	         "\"stdout\":\"abc\""},
	        {"POST", X "/exec", "{\"cmd\":\"cat\",\"stdin_base64\":\"/w==\"}", 200,
	         "\"stdout_encoding\":\"base64\""},
	        {"POST", X "/exec", "{\"cmd\":\"cat\",\"stdin\":\"a\",\"stdin_base64\":\"/w==\"}",
	         400, "both"},
	        {"POST", X "/exec", "{\"cmd\":\"cat\",\"stdin\":\"a\",\"stdin_open\":true}", 400,
	         "stdin_open"},
	        {"POST", X "/exec", "{\"command\":\"0123456789\",\"outputLimitBytes\":4}", 200,
	         "bytes of output were cut here"},
	        {"POST", X "/exec", "{\"command\":\"0123456789\",\"outputLimitBytes\":4}", 200,
	         "\"truncated\":true"},
	        {"POST", X "/exec", "{\"command\":\"0123456789\",\"output_limit_bytes\":4}", 200,
	         "\"truncated\":true"},
	        {"POST", X "/exec",
	         "{\"command\":\"0123456789\",\"outputLimitBytes\":4,\"output_limit_bytes\":4}",
	         200, "\"truncated\":true"},
	        {"POST", X "/exec",
	         "{\"command\":\"0123456789\",\"outputLimitBytes\":4,\"output_limit_bytes\":5}",
	         400, "other spelling"},
	        {"POST", X "/exec", "{\"cmd\":\"cat\",\"stdinBase64\":\"/w==\"}", 200,
	         "\"stdout_encoding\":\"base64\""},
	        {"POST", X "/exec", "{}", 400, "either command"},
	        {"POST", X "/exec", "{\"command\":\"a\",\"cmd\":\"b\"}", 400, "either command"},
	        {"POST", X "/exec", "{\"command\":\"a\",\"args\":[]}", 400, "either command"},
	        {"POST", X "/exec", "{\"command\":\"a\",\"timeout_ms\":-1}", 400, "timeout_ms"},
	        {"POST", X "/exec", "{\"command\":\"a\",\"cwd\":\"../../../../..\"}", 400,
	         "invalid_request"},
	        {"POST", X "/exec", "{\"command\":\"a\",\"env\":{\"A=B\":\"c\"}}", 400,
	         "invalid_request"},
	        {"POST", X "/exec?stream=xml", "{\"command\":\"a\"}", 400, "xml"},
	        {"POST", X "/exec", "{\"command\":\"die\"}", 503, "ended during the call"},
	        {"POST", X "/exec", "{\"command\":\"a\",\"background\":true}", 503,
	         "no background jobs"},
	        {"POST", X "/exec", "{\"command\":\"hi\",\"tty\":true,\"rows\":2,\"columns\":3}",
	         200, "\"stdout\":\"hi\""},
	        {"POST", I "/nosuch/exec", "{\"command\":\"a\"}", 404, "not_found"},
	        {"POST", X "/exec", "{\"command\":\"hi\"}", 200, "event: exit\n", NULL,
	         "Accept: text/event-stream\r\n"},
	        {"POST", X "/exec", "{\"command\":\"hi\"}", 200, "{\"event\":\"exit\"", NULL,
	         "Accept: application/x-ndjson\r\n"},
	        {"POST", X "/code", "{\"language\":\"python\",\"code\":\"print(1)\"}", 200,
	         "\"runtime\":\"python\""},
	        {"POST", X "/code", "{\"language\":\"bash\",\"code\":\"x\"}", 200,
	         "\"exit_code\":127"},
	        {"POST", X "/code", "{\"language\":\"typescript\",\"code\":\"x\"}", 501,
	         "cannot run typescript"},
	        {"POST", X "/code", "{\"language\":\"cobol\",\"code\":\"x\"}", 400, "language"},
	        {"POST", X "/code", "{\"language\":\"python\"}", 400, "code"},
	};

	CHECK_ROWS(rows);
}

TEST(processes_are_listed_fed_signalled_awaited_and_forgotten)
{
	static const struct expected rows[] = {
	        {"GET", X "/processes", NULL, 200, "\"args\":[\"sleep\",\"9\"]"},
	        {"GET", X "/processes/1", NULL, 200, "\"state\":\"running\""},
	        {"GET", X "/processes/2", NULL, 404, "no process 2"},
	        {"GET", X "/processes/x", NULL, 400, "process"},
	        {"POST", X "/processes/1/stdin?end=true", "bytes", 200, "{\"count\":5}",
	         "application/octet-stream"},
	        {"POST", X "/processes/0/stdin", "bytes", 400, "process"},
	        {"POST", X "/processes/1/signal", "{\"signal\":\"TERM\",\"tree\":true}", 204, NULL},
	        {"POST", X "/processes/1/signal", "{\"signal\":\"NOPE\"}", 400, "NOPE"},
	        {"POST", X "/processes/1/signal", "{}", 400, "signal"},
	        {"GET", X "/processes/1/wait", NULL, 200, "\"stdout\":\"log line\\n\""},
	        {"GET", X "/processes/1/wait?timeout_ms=1000&outputLimitBytes=100", NULL, 200,
	         "\"ok\":true"},
	        {"GET", X "/processes/5/wait", NULL, 404, "not_found"},
	        {"GET", X "/processes/1/stream", NULL, 200, "id: 9.0\nevent: stdout"},
	        {"GET", X "/processes/1/stream?stream=ndjson&since=9.0", NULL, 200,
	         "\"since\":\"9.0\"}\n{\"event\":\"exit\""},
	        {"GET", X "/processes/1/stream?since_stdout=9", NULL, 200, "event: exit", NULL,
	         "Last-Event-ID: 9.0\r\n"},
	        {"GET", X "/processes/1/stream?since=x", NULL, 400, "since"},
	        {"GET", X "/processes/1/stream?follow=false&stream=text", NULL, 200, "log line\n"},
	        {"GET", X "/logs", NULL, 200, "log line\n"},
	        {"GET", X "/logs?process=1&follow=true&stream=sse", NULL, 200, "event: exit"},
	        {"GET", X "/logs?process=3", NULL, 404, "no process 3"},
	        {"DELETE", X "/processes/1", NULL, 204, NULL},
	        {"DELETE", X "/processes/9", NULL, 404, "no process 9"},
	        {"GET", I "/nosuch/processes", NULL, 404, "not_found"},
	        {"GET", X "/processes/1/attach", NULL, 400, "WebSocket"},
	};

	CHECK_ROWS(rows);
}

TEST(a_range_behind_a_files_end_is_told_where_that_is)
{
	struct call call = {.method = "GET",
	                    .path = F "/content?path=f",
	                    .key = harness.admin,
	                    .headers = "Range: bytes=99-\r\n"};
	AUTO(answer_done) struct answer a = harness_call(&harness, &call);

	assert_int_equal(a.status, 416);
	assert_non_null(strstr(buf_text(&a.text), "Content-Range: bytes */14\r\n"));
}

TEST(files_are_read_written_and_moved)
{
	static const struct expected rows[] = {
	        {"GET", F "?path=.&depth=2&limit=9", NULL, 200, "\"path\":\"b/c.txt\""},
	        {"GET", F, NULL, 400, "path"},
	        {"GET", F "?path=a%00b", NULL, 400, "NUL"},
	        {"GET", F "?path=.&depth=99", NULL, 400, "depth"},
	        {"GET", F "/content?path=f", NULL, 200, "one\ntwo\nthree\n"},
	        {"GET", F "/content?path=f&offset=4&length=3", NULL, 200, "two"},
	        {"GET", F "/content?path=f", NULL, 206, "two", NULL, "Range: bytes=4-6\r\n"},
	        {"GET", F "/content?path=f", NULL, 200, "one", NULL, "Range: bytes=-5\r\n"},
	        {"GET", F "/content?path=f", NULL, 416, "range_not_satisfiable", NULL,
	         "Range: bytes=99-\r\n"},
	        {"GET", F "/content?path=kernel", NULL, 200, "three"},
	        {"GET", F "/content?path=missing", NULL, 404, "not_found"},
	        {"PUT", F "/content?path=f&mode=0600&append=true", "some bytes", 200, "\"size\":10",
	         "application/octet-stream"},
	        {"POST", F "/content?path=f", "", 200, "\"size\":0", "text/plain"},
	        {"PUT", F "/content?path=f&mode=9", "x", 400, "octal", "text/plain"},
	        {"PUT", F "/content?path=full", "x", 429, "No space left", "text/plain"},
	        {"POST", F "/upload?path=up",
	         "--XX\r\nContent-Disposition: form-data; name=f; filename=a/b.txt\r\n\r\nabc\r\n"
	         "--XX\r\nContent-Disposition: form-data; name=note\r\n\r\nhi\r\n"
	         "--XX\r\nContent-Disposition: form-data; name=g; filename=c\r\n\r\n\r\n--XX--",
	         200, "/up/a/b.txt\",\"name\":\"b.txt\",\"type\":\"file\",\"size\":3",
	         "multipart/form-data; boundary=XX"},
	        {"POST", F "/upload?path=up",
	         "--XX\r\nContent-Disposition: form-data; name=f; "
	         "filename=../x\r\n\r\nabc\r\n--XX--",
	         400, "file name of part 1", "multipart/form-data; boundary=XX"},
	        {"POST", F "/upload?path=up", "--XX--", 400, "no part",
	         "multipart/form-data; boundary=XX"},
	        {"POST", F "/upload?path=up", "x", 400, "multipart", "text/plain"},
	        {"GET", F "/tar?path=d", NULL, 200, "tar bytes"},
	        {"POST", F "/tar?path=d", "12345", 200, "{\"count\":5}", "application/x-tar"},
	        {"GET", F "/stat?path=f&follow=true", NULL, 200, "\"mode\":\"0644\""},
	        {"GET", F "/stat?path=missing", NULL, 404, "not_found"},
	        {"GET", F "/watch?path=.&recursive=true", NULL, 200, "event: created"},
	        {"GET", F "/watch?path=.&stream=ndjson", NULL, 200, "{\"event\":\"lost\"}"},
	        {"GET", F "/watch?path=.&stream=xml", NULL, 400, "xml"},
	        {"POST", F "/mkdir", "{\"path\":\"d\",\"parents\":true}", 200, "\"name\":\"d\""},
	        {"POST", F "/mkdir", "{}", 400, "path"},
	        {"POST", F "/rename", "{\"path\":\"a\",\"target\":\"/x/b\"}", 200,
	         "\"path\":\"/x/b\""},
	        {"POST", F "/rename", "{\"path\":\"a\"}", 400, "target"},
	        {"POST", F "/copy", "{\"path\":\"a\",\"target\":\"b\",\"recursive\":true}", 200,
	         "name"},
	        {"POST", F "/copy", "{\"target\":\"b\"}", 400, "path"},
	        {"POST", F "/remove", "{\"path\":\"a\"}", 200, "{\"count\":1}"},
	        {"POST", F "/remove", "[]", 400, "invalid_request"},
	        {"DELETE", F "?path=a&recursive=true", NULL, 200, "{\"count\":1}"},
	        {"DELETE", F, NULL, 400, "path"},
	        {"POST", F "/read", "{\"path\":\"f\",\"length\":3}", 200, "\"content\":\"one\""},
	        {"POST", F "/read", "{\"path\":\"missing\"}", 404, "not_found"},
	        {"POST", F "/write", "{\"path\":\"f\",\"content\":\"abcd\"}", 200, "\"size\":4"},
	        {"POST", F "/write", "{\"path\":\"f\",\"content_base64\":\"AAE=\"}", 200,
	         "\"size\":2"},
	        {"POST", F "/write",
	         "{\"path\":\"f\",\"content\":\"a\",\"content_base64\":\"AAE=\"}", 400, "both"},
	};

	CHECK_ROWS(rows);
}

TEST(terminals_are_opened_and_want_a_websocket)
{
	static const struct expected rows[] = {
	        {"POST", X "/terminal", "{\"rows\":24,\"cols\":80}", 201, "\"sessionId\":\""},
	        {"POST", X "/terminal", "{\"command\":\"top\"}", 201, "/browser"},
	        {"POST", X "/terminal", "{\"rows\":-1}", 400, "rows"},
	        {"GET", "/api/sandbox/terminal/nosuch.1/browser", NULL, 404, "not_found"},
	        {"GET", "/api/sandbox/terminal/nosuch/browser", NULL, 404, "not_found"},
	        {"GET", "/api/sandbox/terminal/box.1/browser?since=x", NULL, 400, "since"},
	        {"GET", "/api/sandbox/terminal/box.1/browser", NULL, 400, "WebSocket"},
	};

	CHECK_ROWS(rows);
}

TEST(templates_are_listed_imported_and_deleted)
{
	static const struct expected rows[] = {
	        {"GET", "/api/sandbox/templates", NULL, 200, "\"name\":\"host\""},
	        {"GET", "/api/sandbox/templates/base", NULL, 200, "\"workdir\""},
	        {"GET", "/api/sandbox/templates/nosuch", NULL, 404, "not_found"},
	        {"POST", "/api/sandbox/templates/seed", NULL, 200, "{\"added\":0}"},
	        {"POST", "/api/sandbox/templates/import?name=mine", "tar", 201, "\"name\":\"mine\"",
	         "application/x-tar"},
	        {"POST", "/api/sandbox/templates/import?name=empty", "", 400, "empty",
	         "application/x-tar"},
	        {"POST", "/api/sandbox/templates/import?name=UPPER", "tar", 400, "invalid_request",
	         "application/x-tar"},
	        {"POST", "/api/sandbox/templates/import?name=x&format=zip", "tar", 400,
	         "invalid_request", "application/x-tar"},
	        {"POST", "/api/sandbox/templates/import?name=x&format=registry", "tar", 400,
	         "no body", "application/x-tar"},
	        {"POST", "/api/sandbox/templates/import", "tar", 400, "name", "application/x-tar"},
	        {"POST", "/api/sandbox/templates", "{\"name\":\"pulled\",\"image\":\"debian:12\"}",
	         201, "\"name\":\"pulled\""},
	        {"POST", "/api/sandbox/templates", "{\"name\":\"x\",\"image\":\"b a d\"}", 400,
	         "invalid_request"},
	        {"POST", "/api/sandbox/templates", "{\"name\":\"x\"}", 400, "image"},
	        {"DELETE", "/api/sandbox/templates/mine", NULL, 204, NULL},
	        {"DELETE", "/api/sandbox/templates/mine", NULL, 404, "not_found"},
	        {"DELETE", "/api/sandbox/templates/host", NULL, 403, "another project"},
	};

	CHECK_ROWS(rows);
}

TEST(projects_keys_and_limits_are_managed)
{
	static const struct expected rows[] = {
	        {"POST", "/api/sandbox/projects", "{\"id\":\"p2\",\"name\":\"two\"}", 201,
	         "\"id\":\"p2\""},
	        {"POST", "/api/sandbox/projects", "{\"id\":\"p2\",\"name\":\"two\"}", 409,
	         "conflict"},
	        {"POST", "/api/sandbox/projects", "{\"id\":\"a/b\",\"name\":\"two\"}", 400, "id"},
	        {"GET", "/api/sandbox/projects/p2", NULL, 200, "\"name\":\"two\""},
	        {"GET", "/api/sandbox/projects/nosuch", NULL, 404, "not_found"},
	        {"GET", "/api/sandbox/resource-config", NULL, 200, "\"effective\":{\"cpu\":0.5"},
	        {"PUT", "/api/sandbox/resource-config", "{\"cpu\":2,\"memory_mb\":512}", 200,
	         "\"effective\":{\"cpu\":2"},
	        {"PUT", "/api/sandbox/resource-config", "{\"memory_mb\":1}", 400,
	         "invalid_request"},
	        {"PUT", "/api/sandbox/resource-config", "{}", 200, "\"effective\":{\"cpu\":0.5"},
	        {"POST", "/api/sandbox/keys", "{\"name\":\"k\",\"scopes\":[\"sandbox:read\"]}", 201,
	         "\"key\":\"atoll_"},
	        {"POST", "/api/sandbox/keys", "{\"name\":\"k\",\"expires_in_ms\":1000}", 201,
	         "\"expires_at\":\"2"},
	        {"POST", "/api/sandbox/keys", "{\"name\":\"k\",\"scopes\":[\"x\"]}", 400, "scope"},
	        {"POST", "/api/sandbox/keys", "{}", 400, "name"},
	        {"GET", "/api/sandbox/keys", NULL, 200, "\"prefix\":\"atoll_"},
	        {"DELETE", "/api/sandbox/keys/nosuch", NULL, 404, "not_found"},
	};

	CHECK_ROWS(rows);
}

#define G "/v1/sandbox"
#define S "\"tenant_id\":\"t\",\"session_id\":\"s\""
TEST(the_gateway_works_by_tenant_and_session)
{
	static const struct expected rows[] = {
	        {"POST", G "/execute", "{" S ",\"code\":\"print(42)\"}", 200,
	         "\"runtime\":\"python\""},
	        {"POST", G "/execute", "{\"code\":\"print(42)\"}", 400, "session_id"},
	        {"POST", G "/bash", "{" S ",\"command\":\"hi\"}", 200, "\"stdout\":\"hi\""},
	        {"POST", G "/bash", "{" S "}", 400, "command"},
	        {"POST", G "/read", "{" S ",\"path\":\"f\",\"offset\":2,\"limit\":1}", 200,
	         "\"content\":\"two\\n\",\"size\":14,\"offset\":2,\"lines\":1,\"total_lines\":3,"
	         "\"next_offset\":3,\"truncated\":true"},
	        {"POST", G "/read", "{" S ",\"path\":\"f\",\"offset\":9}", 200,
	         "\"content\":\"\",\"size\":14,\"offset\":9,\"lines\":0"},
	        {"POST", G "/read", "{" S ",\"path\":\"/etc/passwd\"}", 400, "absolute"},
	        {"POST", G "/read", "{" S ",\"path\":\"a/../../b\"}", 400, ".."},
	        {"POST", G "/read", "{" S ",\"path\":\"a\\u0000b\"}", 400, "u0000"},
	        {"POST", G "/read", "{" S ",\"path\":\"missing\"}", 404, "not_found"},
	        {"POST", G "/read_binary", "{" S ",\"path\":\"f\",\"offset\":4,\"limit\":3}", 200,
	         "\"content\":\"dHdv\",\"encoding\":\"base64\""},
	        {"POST", G "/read_binary", "{" S ",\"path\":\"..\"}", 400, ".."},
	        {"POST", G "/write", "{" S ",\"path\":\"f\",\"content\":\"abc\"}", 200,
	         "\"size\":3"},
	        {"POST", G "/write", "{" S ",\"path\":\"/f\",\"content\":\"abc\"}", 400,
	         "absolute"},
	        {"POST", G "/grep", "{" S ",\"pattern\":\"import\",\"ignore_case\":true}", 200,
	         "{\"matches\":[{\"path\":\"a.py\",\"line\":3,\"text\":\"import os\"}],"
	         "\"truncated\":false}"},
	        {"POST", G "/grep", "{" S ",\"pattern\":\"x\",\"path\":\"missing\"}", 404,
	         "not_found"},
	        {"POST", G "/grep", "{" S ",\"pattern\":\"x\",\"path\":\"../x\"}", 400, ".."},
	        {"POST", G "/grep", "{" S "}", 400, "pattern"},
	        {"POST", G "/glob", "{" S ",\"pattern\":\"*\"}", 200,
	         "{\"paths\":[\"a.txt\",\"b/c.txt\"],\"truncated\":false}"},
	        {"POST", G "/glob", "{" S ",\"pattern\":\"*\",\"path\":\"/\"}", 400, "absolute"},
	        {"POST", G "/sessions/t/s/copy",
	         "{\"files\":[{\"path\":\"a\",\"content\":\"1\"},{\"path\":\"b\"}]}", 200,
	         "{\"count\":2}"},
	        {"POST", G "/sessions/t/s/copy", "{\"files\":[{\"path\":\"/a\"}]}", 400,
	         "files[0]"},
	        {"POST", G "/sessions/t/s/copy", "{\"files\":[]}", 400, "files"},
	        {"GET", G "/sessions", NULL, 200, "\"tenant_id\":\"t\",\"session_id\":\"s\""},
	        {"DELETE", G "/sessions/t/s", NULL, 204, NULL},
	        {"DELETE", G "/sessions/t/s", NULL, 404, "not_found"},
	};

	CHECK_ROWS(rows);
}

TEST(a_session_keeps_its_sandbox_and_outlives_it)
{
	static const struct expected before[] = {
	        {"POST", G "/bash", "{\"session_id\":\"keep\",\"command\":\"a\"}", 200,
	         "\"ok\":true"},
	        {"POST", G "/bash", "{\"session_id\":\"keep\",\"command\":\"a\"}", 200,
	         "\"ok\":true"},
	};
	static const struct expected after[] = {
	        {"DELETE", G "/sessions/default/keep", NULL, 204, NULL},
	};
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct lease_ref kept = {"default", "session:default/keep"};
	struct lease_record first, second;
	struct error err;

	CHECK_ROWS(before);
	assert_int_equal(store_lease_find(harness.store, &a, &kept, &first, &err), 0);
	assert_int_equal(fleet_stop(harness.fleet, &a,
	                            &(struct fleet_ref){"default", first.sandbox_id},
	                            &(struct sandbox_record){.id = NULL}, &err),
	                 0);
	CHECK_ROWS(before); /* started again */
	assert_int_equal(store_lease_find(harness.store, &a, &kept, &second, &err), 0);
	assert_string_equal(first.sandbox_id, second.sandbox_id);
	assert_int_equal(fleet_delete(harness.fleet, &a,
	                              &(struct fleet_ref){"default", first.sandbox_id},
	                              SANDBOX_REASON_IDLE, &err),
	                 0);
	CHECK_ROWS(before); /* made anew */
	assert_int_equal(store_lease_find(harness.store, &a, &kept, &second, &err), 0);
	assert_string_not_equal(first.sandbox_id, second.sandbox_id);
	CHECK_ROWS(after);
}

TEST(operators_need_no_key)
{
	static const char *const paths[] = {"/healthz", "/readyz", "/metrics", "/openapi.json"};

	api_tick(&harness.api);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct call call = {.method = "GET", .path = paths[i]};
		AUTO(answer_done) struct answer a = harness_call(&harness, &call);

		assert_int_equal(a.status, 200);
		if (i == 2) {
			assert_non_null(strstr(a.body, "atoll_http_requests_total "));
			assert_non_null(strstr(a.body, "atoll_store_ping_seconds_count "));
		}
	}
}

#define L "/v1/leases"

TEST(a_lease_is_acquired_kept_released_used_and_deleted)
{
	static const struct expected rows[] = {
	        {"POST", L "/acquire", "{\"key\":\"user:1\",\"labels\":{\"a\":\"b\"}}", 201,
	         "\"created\":true"},
	        {"POST", L "/acquire", "{\"key\":\"user:1\"}", 200, "\"created\":false"},
	        {"POST", L "/acquire", "{\"key\":\"user:1\"}", 200, "\"username\":\"user:1\""},
	        {"POST", L "/acquire", "{\"key\":\"user:1\"}", 200, "\"status\":\"ready\""},
	        {"POST", L "/acquire", "{\"key\":\"user:1\"}", 200, "\"paused\":false"},
	        {"POST", L "/acquire", "{\"key\":\"user:1\",\"continue\":true}", 200,
	         "\"created\":false"},
	        {"POST", L "/acquire", "{\"key\":\"user:1\",\"continue\":false}", 201,
	         "\"created\":true"},
	        {"POST", L "/acquire", "{\"key\":\"user:2/a b\"}", 201, "user:2/a b"},
	        {"POST", L "/acquire", "{\"key\":\"..\"}", 400, "invalid_request"},
	        {"POST", L "/acquire", "{\"key\":\"\"}", 400, "key"},
	        {"POST", L "/acquire", "{}", 400, "key"},
	        {"POST", L "/acquire", "{\"key\":\"a\",\"wait_ms\":60001}", 400, "wait_ms"},
	        {"POST", L "/acquire", "{\"key\":\"a\",\"template\":\"nosuch\"}", 404, "not_found"},
	        {"GET", L "/a", NULL, 404, "not_found"},
	        {"GET", L, NULL, 200, "\"key\":\"user:1\""},
	        {"GET", L "?limit=1", NULL, 200, "\"next_page\":\"user:1\""},
	        {"GET", L "?limit=1&page=user:1", NULL, 200, "user:2/a b"},
	        {"GET", L "?prefix=nobody", NULL, 200, "\"items\":[]"},
	        {"GET", L "/user%3A2%2Fa%20b", NULL, 200, "\"lock_version\":2"},
	        {"POST", L "/user:1/keepalive", "{\"timeoutMs\":60000}", 200, "\"keep_until\":\"2"},
	        {"POST", L "/user:1/keepalive", NULL, 200, "\"keep_until\":\"2"},
	        {"POST", L "/user:1/keepalive", "{\"timeoutMs\":-1}", 400, "timeoutMs"},
	        {"POST", L "/nobody/keepalive", NULL, 404, "not_found"},
	        {"POST", L "/user:1/release", NULL, 200, "\"keep_until\":null"},
	        {"POST", L "/user:1/exec", "{\"command\":\"hello\"}", 200, "\"stdout\":\"hello\""},
	        {"POST", L "/user:1/exec?stream=ndjson", "{\"command\":\"hello\"}", 200,
	         "{\"event\":\"exit\""},
	        {"POST", L "/user:1/exec", "{\"command\":\"a\",\"background\":true}", 503,
	         "no background jobs"},
	        {"POST", L "/user:1/exec", "{}", 400, "either command"},
	        {"POST", L "/user:1/exec", "{\"command\":\"hello\"}", 200, "hello", NULL,
	         "Atoll-Run: leased\r\n"},
	        {"POST", L "/user:1/exec", "{\"command\":\"hello\"}", 400, "Atoll-Run", NULL,
	         "Atoll-Run: not one\r\n"},
	        {"POST", L "/user:3/exec", "{\"command\":\"hello\"}", 200, "hello"},
	        {"GET", L "/user:3", NULL, 200, "\"status\":\"ready\""},
	        {"DELETE", L "/user:3", NULL, 204, NULL},
	        {"DELETE", L "/user:3", NULL, 404, "not_found"},
	        {"DELETE", L, NULL, 400, "prefix"},
	        {"DELETE", L "?prefix=", NULL, 400, "prefix"},
	        {"DELETE", L "?prefix=user:", NULL, 200, "\"deleted\":2"},
	        {"GET", L, NULL, 200, "\"items\":[]"},
	        {"GET", I "?label=atoll.lease%3Duser:1", NULL, 200, "\"items\":[]"},
	};

	CHECK_ROWS(rows);
}

TEST(usage_balance_and_budgets_are_told_and_bounded)
{
	static const struct expected rows[] = {
	        {"POST", I, "{\"name\":\"metered\",\"template\":\"host\"}", 201, "metered"},
	        {"POST", I "/metered/exec", "{\"command\":\"hello\"}", 200, "hello", NULL,
	         "Atoll-Run: run-7\r\n"},
	        {"POST", I "/metered/exec", "{\"command\":\"hello\"}", 400, "Atoll-Run", NULL,
	         "Atoll-Run: not one\r\n"},
	        {"GET", "/v1/usage", NULL, 200, "\"group_by\":\"day\""},
	        {"GET", "/v1/usage?group_by=total&from=2026-01-01", NULL, 200, "usd_micro"},
	        {"GET", "/v1/usage?group_by=sandbox&format=csv", NULL, 200,
	         "\"sandbox\",\"seconds\",\"cpu_seconds\""},
	        {"GET", "/v1/usage?group_by=nosuch", NULL, 400, "group_by"},
	        {"GET", "/v1/usage?from=yesterday", NULL, 400, "yesterday"},
	        {"GET", "/v1/usage?from=2026-02-01&to=2026-01-01", NULL, 400, "before"},
	        {"GET", "/v1/usage?page=x", NULL, 400, "page"},
	        {"GET", "/v1/usage?limit=0", NULL, 400, "limit"},
	        {"POST", "/v1/balance/deposits", "{\"id\":\"i1\",\"usd\":12.5}", 201, "12.5"},
	        {"POST", "/v1/balance/deposits", "{\"id\":\"i1\",\"usd\":12.5}", 200, "12.5"},
	        {"POST", "/v1/balance/deposits", "{\"id\":\"i1\",\"usd\":13}", 409, "another"},
	        {"POST", "/v1/balance/deposits", "{\"id\":\"i2\",\"usd\":-1}", 400, "usd"},
	        {"POST", "/v1/balance/deposits", "{\"id\":\"i2\",\"usd\":0}", 400, "usd"},
	        {"GET", "/v1/balance", NULL, 200, "\"balance_usd_micro\":12500000"},
	        {"POST", "/v1/budgets", "{\"limit_usd\":5}", 201, "\"window\":\"month\""},
	        {"POST", "/v1/budgets",
	         "{\"limit_usd\":5,\"scope\":\"sandbox\",\"subject\":\"metered\","
	         "\"window\":\"total\",\"warn_at\":0.5}",
	         201, "\"warn_at\":0.5"},
	        {"POST", "/v1/budgets", "{\"limit_usd\":0}", 400, "limit_usd"},
	        {"POST", "/v1/budgets", "{\"limit_usd\":1,\"scope\":\"key\"}", 400, "subject"},
	        {"POST", "/v1/budgets", "{\"limit_usd\":1,\"warn_at\":2}", 400, "warn_at"},
	        {"GET", "/v1/budgets", NULL, 200, "\"level\":\"fine\""},
	        {"DELETE", "/v1/budgets/nosuch", NULL, 404, "no budget"},
	};

	CHECK_ROWS(rows);
}

TEST(usage_is_an_admins_of_all_projects_and_a_keys_of_its_own)
{
	char reader[64];
	struct call usage = {.method = "GET", .path = "/v1/usage?group_by=project", .key = reader};
	struct call deposit = {.method = "POST",
	                       .path = "/v1/balance/deposits",
	                       .key = reader,
	                       .body = SPAN("{\"id\":\"x\",\"usd\":1}")};
	struct call budget = {.method = "POST",
	                      .path = "/v1/budgets",
	                      .key = reader,
	                      .body = SPAN("{\"limit_usd\":1}")};
	struct error err = {0};
	const struct project_record other = {.id = "usage-other", .name = "usage-other"};

	assert_int_equal(store_project_insert(harness.store, &other, &err), 0);
	harness_key(&harness, other.id, SCOPE_SANDBOX_READ | SCOPE_SANDBOX_WRITE, reader);
	{
		AUTO(answer_done) struct answer a = harness_call(&harness, &usage);
		AUTO(answer_done) struct answer b = harness_call(&harness, &deposit);
		AUTO(answer_done) struct answer c = harness_call(&harness, &budget);

		assert_int_equal(a.status, 200);
		assert_non_null(strstr(a.body, "\"items\":[]"));
		assert_int_equal(b.status, 403);
		assert_int_equal(c.status, 403);
	}
	usage.key = harness.admin;
	{
		AUTO(answer_done) struct answer a = harness_call(&harness, &usage);

		assert_non_null(strstr(a.body, "\"group\""));
	}
}

#define ONCE(key) NULL, "Idempotency-Key: " key "\r\n"

TEST(a_repeated_request_with_an_idempotency_key_makes_nothing_twice)
{
	static const struct expected rows[] = {
	        {"POST", I, "{\"name\":\"once\"}", 201, "\"name\":\"once\"", ONCE("k-1")},
	        {"POST", I, "{\"name\":\"once\"}", 201, "\"name\":\"once\"", ONCE("k-1")},
	        {"POST", I, "{\"name\":\"once\"}", 409, "exists already"},
	        {"POST", I, "{\"name\":\"twice\"}", 409, "Idempotency-Key", ONCE("k-1")},
	        {"POST", I, "{\"name\":\"twice\"}", 400, "Idempotency-Key", ONCE("a b")},
	        {"POST", I, "{\"name\":\"-bad-\"}", 400, "invalid_request", ONCE("k-2")},
	        {"POST", I, "{\"name\":\"good\"}", 201, "\"name\":\"good\"", ONCE("k-2")},
	        {"DELETE", I "/good", NULL, 204, NULL},
	        {"POST", I, "{\"name\":\"good\"}", 409, "is deleted", ONCE("k-2")},
	        {"DELETE", I "/once", NULL, 204, NULL},
	        {"POST", L "/acquire", "{\"key\":\"o\"}", 201, "\"created\":true", ONCE("k-1")},
	        {"POST", L "/acquire", "{\"key\":\"o\"}", 201, "\"created\":true", ONCE("k-1")},
	        {"POST", L "/acquire", "{\"key\":\"o\"}", 200, "\"created\":false"},
	        {"POST", L "/acquire", "{\"key\":\"o\",\"continue\":false}", 201,
	         "\"lock_version\":4", ONCE("k-3")},
	        {"POST", L "/acquire", "{\"key\":\"o\",\"continue\":false}", 201,
	         "\"lock_version\":4", ONCE("k-3")},
	        {"POST", L "/acquire", "{\"key\":\"o\",\"continue\":true}", 409,
	         "another body before", ONCE("k-3")},
	        {"POST", L "/acquire", "{\"key\":\"o\",\"idempotency_key\":\"k-5\"}", 400,
	         "contradict", ONCE("k-4")},
	        {"POST", L "/acquire", "{\"key\":\"o\",\"idempotency_key\":\"k-5\"}", 200,
	         "\"created\":false"},
	        {"DELETE", L "/o", NULL, 204, NULL},
	};

	CHECK_ROWS(rows);
}

int main(void)
{
	int result;

	harness_open(&harness);
	result = RUN(CASE(sandboxes_are_made_found_stopped_started_and_deleted),
	             CASE(environment_values_are_never_shown),
	             CASE(commands_run_and_tell_their_results),
	             CASE(processes_are_listed_fed_signalled_awaited_and_forgotten),
	             CASE(files_are_read_written_and_moved),
	             CASE(a_range_behind_a_files_end_is_told_where_that_is),
	             CASE(terminals_are_opened_and_want_a_websocket),
	             CASE(templates_are_listed_imported_and_deleted),
	             CASE(projects_keys_and_limits_are_managed),
	             CASE(usage_balance_and_budgets_are_told_and_bounded),
	             CASE(usage_is_an_admins_of_all_projects_and_a_keys_of_its_own),
	             CASE(the_gateway_works_by_tenant_and_session),
	             CASE(a_session_keeps_its_sandbox_and_outlives_it),
	             CASE(a_lease_is_acquired_kept_released_used_and_deleted),
	             CASE(a_repeated_request_with_an_idempotency_key_makes_nothing_twice),
	             CASE(operators_need_no_key));
	harness_close(&harness);
	return result;
}
