/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "git/parse.h"

#define HASH "0123456789012345678901234567890123456789"
#define MODES "N... 100644 100644 100644 " HASH " " HASH

static struct arena arena;

TEST(a_status_is_taken_apart)
{
	static const struct span text =
	        SPAN("# branch.oid " HASH "\0# branch.head main\0# branch.upstream origin/main\0"
	             "# branch.ab +2 -1\0# later.header x\0"
	             "1 .M " MODES " a b\nc\0"
	             "2 R. " MODES " R100 new\0old name\0"
	             "u AA N... 100644 100644 100644 100644 " HASH " " HASH " " HASH " both\0"
	             "? -new\0");
	struct git_status s;
	struct error err = {0};

	assert_int_equal(git_parse_status(&arena, text, &s, &err), 0);
	assert_string_equal(s.branch, "main");
	assert_string_equal(s.commit, HASH);
	assert_string_equal(s.upstream, "origin/main");
	assert_true(s.has_upstream);
	assert_int_equal(s.ahead, 2);
	assert_int_equal(s.behind, 1);
	assert_int_equal(s.count, 4);
	assert_string_equal(s.files[0].path, "a b\nc");
	assert_int_equal(s.files[0].staged, ' ');
	assert_int_equal(s.files[0].worktree, 'M');
	assert_string_equal(s.files[1].path, "new");
	assert_string_equal(s.files[1].old_path, "old name");
	assert_int_equal(s.files[2].staged, 'U');
	assert_string_equal(s.files[3].path, "-new");
	assert_int_equal(s.files[3].worktree, '?');
}

TEST(a_head_may_be_new_or_detached)
{
	struct git_status s;
	struct error err = {0};

	assert_int_equal(git_parse_status(&arena, SPAN("# branch.oid (initial)\0# branch.head x\0"),
	                                  &s, &err),
	                 0);
	assert_string_equal(s.commit, "");
	assert_string_equal(s.branch, "x");
	assert_false(s.has_upstream);
	assert_int_equal(git_parse_status(&arena, SPAN("# branch.head (detached)\0"), &s, &err), 0);
	assert_string_equal(s.branch, "");
	assert_int_equal(git_parse_status(&arena, SPAN(""), &s, &err), 0);
	assert_int_equal(s.count, 0);
}

TEST(a_status_that_is_none_is_refused)
{
	static const struct span texts[] = {
	        SPAN("no end"),
	        SPAN("x\0"),
	        SPAN("1 .M\0"),
	        SPAN("1 .M N... 100644\0"),
	        SPAN("1 XX " MODES " path\0"),
	        SPAN("1 .M " MODES " \0"),
	        SPAN("2 R. " MODES " R100 new\0"),
	        SPAN("? \0"),
	        SPAN("# branch.ab 2 1\0"),
	        SPAN("# branch.ab +99999999999 -1\0"),
	        SPAN("# branch.oid xyz\0"),
	        SPAN("3 .M " MODES " path\0"),
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct git_status s;
		struct error err = {0};

		if (git_parse_status(&arena, texts[i], &s, &err) == 0)
			fail_msg("'%s' is no status", texts[i].data);
		assert_int_equal(err.code, ERROR_SYSTEM);
	}
}

TEST(a_log_is_taken_apart)
{
	static const struct span text = SPAN(HASH "\0A <B>\0a@b\0"
	                                          "1700000000\0subject\n\nbody\n\0" HASH "\0\0\0"
	                                          "0\0\0");
	struct git_log log;
	struct error err = {0};

	assert_int_equal(git_parse_log(&arena, text, &log, &err), 0);
	assert_int_equal(log.count, 2);
	assert_string_equal(log.items[0].author, "A <B>");
	assert_string_equal(log.items[0].message, "subject\n\nbody");
	assert_int_equal(log.items[0].at, INT64_C(1700000000000));
	assert_string_equal(log.items[1].message, "");
}

TEST(a_log_that_is_none_is_refused)
{
	static const struct span texts[] = {
	        SPAN("x"),
	        SPAN(HASH "\0A\0a@b\0"
	                  "1\0"),
	        SPAN("xyz\0A\0a@b\0"
	             "1\0m\0"),
	        SPAN(HASH "\0A\0a@b\0-1\0m\0"),
	        SPAN(HASH "\0A\0a@b\0"
	                  "99999999999999999999\0m\0"),
	        SPAN(HASH "\0A\0a@b\0"
	                  "1\0m\0rest"),
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct git_log log;
		struct error err = {0};

		assert_int_equal(git_parse_log(&arena, texts[i], &log, &err), -1);
	}
}

TEST(addresses_that_run_something_or_hold_a_password_are_refused)
{
	static const char *const good[] = {
	        "https://example.com/a.git",
	        "http://127.0.0.1:8080/a",
	        "ssh://git@example.com/a",
	        "git@example.com:a/b.git",
	        "https://me@example.com/a",
	        "file:///srv/a.git",
	        "/srv/a.git",
	        "../a",
	};
	static const char *const bad[] = {
	        "",
	        "ext::sh -c id",
	        "ext::id",
	        "-u/bin/id",
	        "a b",
	        "ftp://x/a",
	        "https://me:secret@example.com/a",
	        "fd::17/x",
	        "https://x/a\nb",
	        "http://:secret@x/a",
	};

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct error err = {0};

		if (git_check_url(good[i], &err) < 0)
			fail_msg("%s: %s", good[i], err.text);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct error err = {0};

		if (git_check_url(bad[i], &err) == 0)
			fail_msg("%s was taken", bad[i]);
	}
}

TEST(a_password_is_for_the_server_of_an_address_alone)
{
	static const struct {
		const char *url, *server;
	} cases[] = {
	        {"https://example.com/a/b.git", "https://example.com"},
	        {"http://127.0.0.1:8080/a?x#y", "http://127.0.0.1:8080"},
	        {"https://me@example.com/a", "https://example.com"},
	        {"https://example.com", "https://example.com"},
	        {"https://a@b@c/d", "https://c"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(git_server_of(&arena, cases[i].url), cases[i].server);
	assert_null(git_server_of(&arena, "ssh://git@example.com/a"));
	assert_null(git_server_of(&arena, "git@example.com:a"));
	assert_null(git_server_of(&arena, "/srv/http"));
}

TEST(names_cannot_be_options)
{
	static const char *const bad[] = {"", "-f", "--upload-pack=id", "a b", "a\nb", "a\177"};
	struct error err = {0};

	assert_int_equal(git_check_name("feature/x", "name", &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(git_check_name(bad[i], "name", &err), -1);
}

TEST(complaints_have_names)
{
	assert_string_equal(git_parse_complaint(SPAN("fatal: not a git repository (or any)")).name,
	                    "GIT_REPO_NOT_FOUND");
	assert_string_equal(
	        git_parse_complaint(SPAN(" ! [rejected]  main -> main (fetch first)")).name,
	        "GIT_PUSH_REJECTED");
	assert_null(git_parse_complaint(SPAN("something else")).name);
	assert_int_equal(git_parse_complaint(SPAN("")).code, ERROR_INVALID);
}

int main(void)
{
	int result = RUN(CASE(a_status_is_taken_apart), CASE(a_head_may_be_new_or_detached),
	                 CASE(a_status_that_is_none_is_refused), CASE(a_log_is_taken_apart),
	                 CASE(a_log_that_is_none_is_refused),
	                 CASE(addresses_that_run_something_or_hold_a_password_are_refused),
	                 CASE(a_password_is_for_the_server_of_an_address_alone),
	                 CASE(names_cannot_be_options), CASE(complaints_have_names));

	arena_done(&arena);
	return result;
}
