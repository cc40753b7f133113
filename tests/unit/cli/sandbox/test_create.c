/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "cli/sandbox/create.h"

static struct arena arena;
static struct error err;

TEST(the_body_says_only_what_was_asked_for)
{
	struct create_options options = {0};
	const char *body;

	assert_int_equal(create_body(&arena, &options, &body, &err), 0);
	assert_string_equal(body,
	                    "{\"resources\":{\"cpu\":0,\"memory_mb\":0,\"disk_mb\":0,\"pids\":0}}");
	options = (struct create_options){
	        .template = "base",
	        .snapshot = "monday",
	        .name = "a\"b",
	        .env = (const char *const[]){"A=1", NULL},
	        .resources = {0.5, 256, 1024, 64},
	        .no_internet = true,
	        .persistent = true,
	};
	assert_int_equal(create_body(&arena, &options, &body, &err), 0);
	assert_string_equal(
	        body, "{\"name\":\"a\\\"b\",\"template\":\"base\",\"snapshot\":\"monday\",\"env\":{"
	              "\"A\":\"1\"},"
	              "\"resources\":{\"cpu\":0.5,\"memory_mb\":256,\"disk_mb\":1024,\"pids\":64},"
	              "\"internet\":false,\"persistent\":true}");
	arena_done(&arena);
}

TEST(who_only_allows_denies_all_else)
{
	struct create_options options = {.egress.allow =
	                                         (const char *const[]){"1.1.1.1", "\"", NULL}};
	const char *body;

	assert_int_equal(create_body(&arena, &options, &body, &err), 0);
	assert_non_null(strstr(body, "\"egress\":{\"allow\":[\"1.1.1.1\",\"\\\"\"],"
	                             "\"deny\":[\"0.0.0.0/0\"]}"));
	options.egress.deny = (const char *const[]){"2.2.2.2", NULL};
	assert_int_equal(create_body(&arena, &options, &body, &err), 0);
	assert_non_null(strstr(body, "\"deny\":[\"2.2.2.2\"]}"));
	options.egress.allow = NULL;
	assert_int_equal(create_body(&arena, &options, &body, &err), 0);
	assert_non_null(strstr(body, "\"egress\":{\"deny\":[\"2.2.2.2\"]}"));
	arena_done(&arena);
}

TEST(a_bad_environment_is_refused)
{
	struct create_options options = {.env = (const char *const[]){"=x", NULL}};
	const char *body;

	assert_int_equal(create_body(&arena, &options, &body, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	arena_done(&arena);
}

static const struct command_option options[] = {OPTIONS_RESOURCES, {0}};
static const struct cli_command command = {
        .name = "x", .usage = "", .options = options, .arguments_max = 0};

static int parse(const char *option, const char *value, struct sandbox_resources *ret)
{
	struct cli_arguments args;

	assert_int_equal(arguments_parse(&arena, &command,
	                                 (const char *const[]){option, value, NULL}, &args, &err),
	                 0);
	return resources_parse(&args, ret, &err);
}

TEST(resources_are_parsed_and_checked)
{
	struct sandbox_resources r = {0};

	assert_int_equal(parse("--memory", "2g", &r), 0);
	assert_int_equal(r.memory_mb, 2048);
	assert_int_equal(parse("--cpu", "1.5", &r), 0);
	assert_true(r.cpu == 1.5);
	assert_int_equal(parse("--memory", "1", &r), -1);
	assert_int_equal(parse("--pids", "many", &r), -1);
	assert_int_equal(parse("--cpu", "100000", &r), -1);
	arena_done(&arena);
}

int main(void)
{
	return RUN(CASE(the_body_says_only_what_was_asked_for),
	           CASE(who_only_allows_denies_all_else), CASE(a_bad_environment_is_refused),
	           CASE(resources_are_parsed_and_checked));
}
