/* SPDX-License-Identifier: Apache-2.0 */
/* What the time of a call is metered as: by the path of its route, or by the tool. */
#include <string.h>

#include "api/api.h"
#include "edge/caller.h"
#include "fleet/usage/usage.h"
#include "http/server/failure.h"
#include "tool/tool.h"
#include "unit.h"
#include "fleet/core/use.h"

#define I "/api/sandbox/instances/:id"
#define G "/v1/sandbox"
#define D "/daytona/toolbox/:id"

static const struct {
	const char *path;
	enum usage_reason reason;
} routes[] = {
        {I "/exec", USAGE_EXEC},
        {I "/code", USAGE_CODE},
        {I "/code/contexts", USAGE_CODE},
        {I "/files", USAGE_FILE_OPS},
        {I "/files/content", USAGE_FILE_OPS},
        {I "/terminal", USAGE_TERMINAL},
        {"/api/sandbox/terminal/:session/browser", USAGE_TERMINAL},
        {I "/windows", USAGE_TERMINAL},
        {I "/windows/:window/keys", USAGE_TERMINAL},
        {I "/processes/:process/stdin", USAGE_EXEC},
        {I "/git/clone", USAGE_EXEC},
        {"/v1/leases/:key/exec", USAGE_EXEC},
        {"/v1/leases/:key/code", USAGE_CODE},
        {"/v1/leases/:key/files/content", USAGE_FILE_OPS},
        {G "/execute", USAGE_CODE},
        {G "/bash", USAGE_EXEC},
        {G "/read", USAGE_FILE_OPS},
        {G "/read_binary", USAGE_FILE_OPS},
        {G "/write", USAGE_FILE_OPS},
        {G "/grep", USAGE_FILE_OPS},
        {G "/glob", USAGE_FILE_OPS},
        {G "/sessions/:tenant/:session/copy", USAGE_FILE_OPS},
        {D "/process/execute", USAGE_EXEC},
        {D "/process/session/:session/exec", USAGE_EXEC},
        {D "/process/code-run", USAGE_CODE},
        {D "/process/interpreter/execute", USAGE_CODE},
        {D "/process/pty", USAGE_TERMINAL},
        {D "/process/pty/:pty/connect", USAGE_TERMINAL},
        {D "/files/search", USAGE_FILE_OPS},
};

static bool is_served(const char *path)
{
	for (const struct route *const *table = api_routes; *table; table++)
		for (const struct route *route = *table; route->path; route++)
			if (strcmp(route->path, path) == 0)
				return true;
	return false;
}

TEST(a_route_is_metered_as_what_its_path_says)
{
	for (size_t i = 0; i < COUNT_OF(routes); i++) {
		enum usage_reason reason = api_use_reason(routes[i].path);

		if (!is_served(routes[i].path))
			fail_msg("no route has the path %s", routes[i].path);
		if (reason != routes[i].reason)
			fail_msg("%s is metered as %s", routes[i].path, usage_reason_name(reason));
	}
}

TEST(a_tool_is_metered_as_what_it_does)
{
	static const struct {
		const char *name;
		enum usage_reason reason;
	} rows[] = {
	        {"read", USAGE_FILE_OPS}, {"write", USAGE_FILE_OPS},
	        {"edit", USAGE_FILE_OPS}, {"glob", USAGE_FILE_OPS},
	        {"grep", USAGE_FILE_OPS}, {"list_files", USAGE_FILE_OPS},
	        {"run_code", USAGE_CODE}, {"terminal_operator", USAGE_TERMINAL},
	        {"bash", USAGE_IDLE},     {"execute_command", USAGE_IDLE},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct tool *tool = tool_find(rows[i].name);

		assert_non_null(tool);
		assert_int_equal(tool->reason, rows[i].reason);
	}
}

TEST(a_call_of_a_tool_and_a_run_say_more_than_the_path)
{
	struct api_caller caller = {.account = {.key_id = "k"}};
	const struct route route = {.path = "/mcp"};
	struct api api = {0};
	const struct request rq = {.context = &api, .caller = &caller, .route = &route};
	struct fleet_use use;
	struct error err = {0};

	assert_int_equal(api_describe_use(&rq, &use, &err), 0);
	assert_int_equal(use.reason, USAGE_EXEC);
	caller.reason = USAGE_FILE_OPS;
	assert_int_equal(api_describe_use(&rq, &use, &err), 0);
	assert_int_equal(use.reason, USAGE_FILE_OPS);
	caller.run = "run-1";
	assert_int_equal(api_describe_use(&rq, &use, &err), 0);
	assert_int_equal(use.reason, USAGE_AGENT_RUN);
	assert_string_equal(use.run, "run-1");
	caller.run = "=1+1";
	assert_int_equal(api_describe_use(&rq, &use, &err), -1);
}

int main(void)
{
	return RUN(CASE(a_route_is_metered_as_what_its_path_says),
	           CASE(a_tool_is_metered_as_what_it_does),
	           CASE(a_call_of_a_tool_and_a_run_say_more_than_the_path));
}
