/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "image/image.h"
#include "image/recipes.h"
#include "image/reference.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check(int (*function)(const char *, struct error *), const char *const *good,
                  const char *const *bad)
{
	for (; *good; good++) {
		struct error err = {0};
		if (function(*good, &err) < 0)
			fail_msg("'%s' was refused: %s", *good, err.text);
	}
	for (; *bad; bad++) {
		struct error err = {0};
		if (function(*bad, &err) == 0)
			fail_msg("'%s' was taken", *bad);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_true(err.hint[0] != '\0');
	}
}

TEST(template_names_are_plain_folder_names)
{
	static const char *const good[] = {
	        "base",
	        "a",
	        "7",
	        "my-app_1.2",
	        "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc",
	        NULL};
	static const char *const bad[] = {
	        "",
	        ".",
	        "..",
	        ".hidden",
	        "-x",
	        "_x",
	        "A",
	        "a/b",
	        "a b",
	        "a\n",
	        "é",
	        "../x",
	        "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcd",
	        NULL};

	check(image_name_check, good, bad);
}

TEST(references_follow_the_rules_of_registries)
{
	static const char *const good[] = {"alpine",
	                                   "alpine:3",
	                                   "library/alpine:3.20",
	                                   "docker.io/library/debian:12",
	                                   "127.0.0.1:5000/x@" DIGEST,
	                                   "localhost/x",
	                                   "localhost:5000/a/b/c:T_1.x-y",
	                                   "ghcr.io/a-b/c__d.e:latest@" DIGEST,
	                                   NULL};
	static const char *const bad[] = {"",
	                                  "/",
	                                  "a/",
	                                  "/a",
	                                  "A",
	                                  "a b",
	                                  "a:",
	                                  "a:.x",
	                                  "a@",
	                                  "a@sha256:12",
	                                  "a@" DIGEST "0",
	                                  "-x",
	                                  "--tls-verify=false",
	                                  "a//b",
	                                  "host.io:99999/x",
	                                  "host.io:0/x",
	                                  "host.io:/x",
	                                  "user@host.io/x",
	                                  "docker://alpine",
	                                  "a:b:c",
	                                  "a\n",
	                                  "a;b",
	                                  "$(x)",
	                                  ".io/x",
	                                  "oci:/etc/passwd",
	                                  "-h.io/x",
	                                  NULL};

	check(image_reference_check, good, bad);
}

TEST(a_reference_of_any_length_is_answered)
{
	static char text[100000];
	struct error err = {0};

	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(image_reference_check(text, &err), -1);
}

TEST(what_a_reference_leaves_out_is_understood)
{
	assert_true(image_reference_is_same("debian", "docker.io/library/debian:latest"));
	assert_true(image_reference_is_same("index.docker.io/a/b:1", "a/b:1"));
	assert_false(image_reference_is_same("debian:12", "debian:1"));
	assert_false(image_reference_is_same("debian", "debian:12"));
	assert_false(image_reference_is_same("debian", "debian-x:latest"));
	assert_false(image_reference_is_same("a/b:c", "a-b/c"));
	assert_false(image_reference_is_same("ghcr.io/a/b", "a/b"));
}

TEST(every_format_has_a_name_that_is_parsed_back)
{
	for (unsigned i = 0; i < IMAGE_FORMAT_COUNT; i++) {
		struct error err = {0};
		enum image_format format = IMAGE_FORMAT_COUNT;
		assert_int_equal(image_format_parse(image_format_name(i), &format, &err), 0);
		assert_int_equal(format, i);
	}
	struct error err = {0};
	enum image_format format;
	assert_int_equal(image_format_parse("zip", &format, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

TEST(the_default_templates_are_named_and_described)
{
	unsigned count = 0;

	for (const struct image_seed *seed = image_seeds; seed->name; seed++, count++) {
		struct error err = {0};
		assert_int_equal(image_name_check(seed->name, &err), 0);
		assert_true(seed->description[0] && seed->runtime[0] && seed->workdir[0] == '/');
		assert_non_null(seed->ports);
	}
	assert_int_equal(count, 8);
}

/* A recipe's start is a template of the same name, and no recipe leads to itself. */
TEST(each_default_template_starts_from_one_that_is_built_before)
{
	for (const struct image_seed *seed = image_seeds; seed->name; seed++) {
		const char *from = seed->recipe;
		unsigned depth = 0;

		if (!*from)
			continue;
		assert_string_equal(seed->recipe, seed->name);
		assert_non_null(image_recipe_find(from));
		while ((from = image_recipe_from(from)) != NULL)
			assert_true(++depth < 4);
		assert_int_equal(depth == 0, strcmp(seed->name, "minimal") == 0);
	}
	assert_null(image_recipe_from("docker-archive"));
}

TEST(an_unknown_recipe_is_refused)
{
	struct image_spec spec = {.templates_dir = "/nonexistent", .name = "a", .progress_fd = -1};
	struct error err = {0};

	assert_int_equal(image_build(&spec, "nothing", &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "there is no recipe 'nothing'"));
}

TEST(only_an_address_of_this_machine_is_loopback)
{
	static const char *const here[] = {"localhost/x", "localhost:5000/x:1", "127.0.0.1/x",
	                                   "127.8.8.8:5000/x"};
	static const char *const elsewhere[] = {"x",
	                                        "127.example.org/x",
	                                        "127.0.0.1.example.org:5000/x",
	                                        "localhost.example.org/x",
	                                        "10.0.0.1:5000/x",
	                                        "docker.io/localhost/x"};

	for (size_t i = 0; i < COUNT_OF(here); i++)
		assert_true(reference_is_loopback(here[i]));
	for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
		assert_false(reference_is_loopback(elsewhere[i]));
}

TEST(a_login_is_for_the_host_of_its_image_alone)
{
	const struct image_login login = {"me", "s:\"ecret"};
	static const char *const rows[][2] = {
	        {"registry.example:5000/team/app:1", "registry.example:5000"},
	        {"team/app:1", "docker.io"},
	        {"debian", "docker.io"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(buf_done) struct buf out = BUF(IMAGE_LOGIN_MAX), wanted = BUF(IMAGE_LOGIN_MAX);

		image_login_write(&login, rows[i][0], &out);
		buf_addf(&wanted, "{\"auths\":{\"%s\":{\"auth\":\"bWU6czoiZWNyZXQ=\"}}}",
		         rows[i][1]);
		assert_string_equal(buf_text(&out), buf_text(&wanted));
	}
}

TEST(a_login_that_cannot_be_one_is_refused)
{
	static char long_text[20000];
	const struct image_login good[] = {{"me", "x"}, {"_json_key", "{\n \"a\": 1\n}"}};
	const struct image_login bad[] = {{NULL, "x"},  {"", "x"},        {"a:b", "x"},
	                                  {"a\n", "x"}, {long_text, "x"}, {"me", NULL},
	                                  {"me", ""},   {"me", long_text}};
	struct error err = {0};

	memset(long_text, 'a', sizeof(long_text) - 1);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_int_equal(image_login_check(&good[i], &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(image_login_check(&bad[i], &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

TEST(a_reference_is_read_with_what_it_implies)
{
	static const struct {
		const char *text, *host, *path, *tag, *digest;
		bool is_loopback;
	} cases[] = {
	        {"debian", "docker.io", "library/debian", "latest", "", false},
	        {"0123456789abcdef", "docker.io", "library/0123456789abcdef", "latest", "", false},
	        {"index.docker.io/debian:12", "docker.io", "library/debian", "12", "", false},
	        {"docker.io/a/b", "docker.io", "a/b", "latest", "", false},
	        {"127.0.0.1:5000/x:1@sha256:00", "127.0.0.1:5000", "x", "1", "sha256:00", true},
	        {"ghcr.io/x/y@sha256:00", "ghcr.io", "x/y", "latest", "sha256:00", false},
	};
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct image_reference r = image_reference_read(&a, cases[i].text);

		assert_string_equal(r.host, cases[i].host);
		assert_string_equal(r.path, cases[i].path);
		assert_string_equal(r.tag, cases[i].tag);
		assert_string_equal(r.digest, cases[i].digest);
		assert_int_equal(r.is_loopback, cases[i].is_loopback);
	}
}

int main(void)
{
	return RUN(CASE(a_reference_is_read_with_what_it_implies),
	           CASE(template_names_are_plain_folder_names),
	           CASE(references_follow_the_rules_of_registries),
	           CASE(a_reference_of_any_length_is_answered),
	           CASE(what_a_reference_leaves_out_is_understood),
	           CASE(only_an_address_of_this_machine_is_loopback),
	           CASE(a_login_is_for_the_host_of_its_image_alone),
	           CASE(a_login_that_cannot_be_one_is_refused),
	           CASE(every_format_has_a_name_that_is_parsed_back),
	           CASE(the_default_templates_are_named_and_described),
	           CASE(each_default_template_starts_from_one_that_is_built_before),
	           CASE(an_unknown_recipe_is_refused));
}
