/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/template/recipe.h"

static struct arena arena;
static struct error err;

static const struct command_option options[] = {OPTIONS_RECIPE, {0}};
static const struct cli_command command = {
        .name = "x",
        .usage = "",
        .options = options,
        .arguments_max = 0,
        .has_inner_command = true,
};

/* What `words` make of an empty object, without its end. */
static int write_recipe(const char *const *words, const char *limits, struct buf *out)
{
	struct cli cli = {.arena = &arena, .command = &command, .err = &err};
	const struct json_value *so_far = NULL;

	buf_reset(out);
	buf_add_byte(out, '{');
	assert_int_equal(arguments_parse(&arena, &command, words, &cli.args, &err), 0);
	if (limits)
		assert_int_equal(json_load(&arena, span_of(limits), &so_far, &err), 0);
	return recipe_write(&cli, so_far, out);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_recipe(const char *const *words, const char *expected)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	if (write_recipe(words, NULL, &out) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(buf_text(&out), expected);
	arena_done(&arena);
}

static void assert_refused(const char *const *words, const char *why)
{
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(write_recipe(words, NULL, &out), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, why));
	arena_done(&arena);
}

TEST(only_what_was_given_is_said)
{
	assert_recipe(WORDS(NULL), "{");
	assert_recipe(WORDS("--user", "root"), "{\"user\":\"root\"");
	assert_recipe(WORDS("--description", "a \"b\"", "--runtime", "", "--isolation", "native",
	                    "--workdir", "/srv"),
	              "{\"description\":\"a \\\"b\\\"\",\"runtime\":\"\","
	              "\"isolation\":\"native\",\"workdir\":\"/srv\"");
}

TEST(repeated_options_and_the_entrypoint_are_lists)
{
	assert_recipe(WORDS("-p", "1", "--port=65535", "-e", "A=1", "-e", "B==", "--", "/bin/x",
	                    "--user", "", "-p"),
	              "{\"entrypoint\":[\"/bin/x\",\"--user\",\"\",\"-p\"],"
	              "\"env\":{\"A\":\"1\",\"B\":\"=\"},\"ports\":[1,65535]");
}

TEST(a_limit_leaves_the_others_as_they_are)
{
	static const char so_far[] = "{\"cpu\":0.5,\"memory_mb\":256,\"disk_mb\":0,\"pids\":64}";
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(write_recipe(WORDS("--cpu", "2", "--disk", "1g"), so_far, &out), 0);
	assert_string_equal(buf_text(&out), "{\"resources\":{\"cpu\":2,\"memory_mb\":256,"
	                                    "\"disk_mb\":1024,\"pids\":64}");
	assert_int_equal(write_recipe(WORDS("--user", "u"), so_far, &out), 0);
	assert_string_equal(buf_text(&out), "{\"user\":\"u\"");
	arena_done(&arena);
}

TEST(fields_can_be_emptied_once)
{
	assert_recipe(WORDS("--clear", "description", "--clear", "runtime", "--clear", "user",
	                    "--clear", "workdir", "--clear", "env", "--clear", "ports", "--clear",
	                    "entrypoint", "--clear", "resources", "--clear", "env"),
	              "{\"description\":\"\",\"runtime\":\"\",\"user\":\"\",\"workdir\":\"\","
	              "\"env\":{},\"ports\":[],\"entrypoint\":[],\"resources\":{}");
	assert_recipe(WORDS("--clear", "isolation", "--clear", "provider"),
	              "{\"isolation\":\"\",\"provider\":\"\"");
	assert_refused(WORDS("--clear", "magic"), "magic");
	assert_refused(WORDS("--clear", ""), "--clear");
	assert_refused(WORDS("--clear", "env", "-e", "A=1"), "'env' is both");
	assert_refused(WORDS("--clear", "ports", "-p", "1"), "'ports' is both");
	assert_refused(WORDS("--clear", "resources", "--pids", "9"), "'resources' is both");
	assert_refused(WORDS("--clear", "entrypoint", "--", "x"), "'entrypoint' is both");
}

TEST(bad_values_are_refused_by_their_options_name)
{
	const char *ports[2 * 65 + 1] = {NULL};

	for (unsigned i = 0; i < 65; i++) {
		ports[2 * i] = "-p";
		ports[2 * i + 1] = "80";
	}
	assert_refused(ports, "at most 64");
	assert_refused(WORDS("-p", "0"), "--port");
	assert_refused(WORDS("-p", "65536"), "--port");
	assert_refused(WORDS("-p", "http"), "--port");
	assert_refused(WORDS("-p", ""), "--port");
	assert_refused(WORDS("-e", "=1"), "'=1'");
	assert_refused(WORDS("--memory", "much"), "--memory");
	assert_refused(WORDS("--cpu", "5000"), "cpu");
}

TEST(the_servers_limits_are_wanted_only_for_a_part_of_them)
{
	static const struct {
		const char *words[9];
		bool wanted;
	} rows[] = {
	        {{"--user", "u"}, false},
	        {{"--cpu", "1"}, true},
	        {{"--cpu", "1", "--memory", "1g", "--disk", "1g"}, true},
	        {{"--cpu", "1", "--memory", "1g", "--disk", "1g", "--pids", "9"}, false},
	};

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		struct cli_arguments args;

		assert_int_equal(arguments_parse(&arena, &command, rows[i].words, &args, &err), 0);
		assert_int_equal(recipe_needs_limits(&args), rows[i].wanted);
	}
	arena_done(&arena);
}

TEST(a_pool_is_a_target_a_minimum_and_a_maximum)
{
	assert_recipe(WORDS("--pool", "4"), "{\"pool\":{\"target\":4}");
	assert_recipe(WORDS("--pool", "4:1:9", "--user", "u"),
	              "{\"user\":\"u\",\"pool\":{\"target\":4,\"min\":1,\"max\":9}");
	assert_recipe(WORDS("--clear", "pool"), "{\"pool\":{\"target\":0}");
	assert_refused(WORDS("--pool", "many"), "--pool");
	assert_refused(WORDS("--pool", ""), "--pool");
	assert_refused(WORDS("--pool", "1:"), "min");
	assert_refused(WORDS("--pool", "1:1:1:1"), "TARGET[:MIN[:MAX]]");
	assert_refused(WORDS("--pool", "257"), "--pool");
	assert_refused(WORDS("--clear", "pool", "--pool", "1"), "'pool' is both");
}

int main(void)
{
	return RUN(CASE(a_pool_is_a_target_a_minimum_and_a_maximum),
	           CASE(only_what_was_given_is_said),
	           CASE(repeated_options_and_the_entrypoint_are_lists),
	           CASE(a_limit_leaves_the_others_as_they_are), CASE(fields_can_be_emptied_once),
	           CASE(bad_values_are_refused_by_their_options_name),
	           CASE(the_servers_limits_are_wanted_only_for_a_part_of_them));
}
