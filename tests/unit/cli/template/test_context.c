/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "cli/template/context.h"

static struct arena arena;
static struct error err;
static char folder[] = "/tmp/atoll-context-XXXXXX";

static const char *in_folder(const char *name)
{
	return arena_format(&arena, "%s/%s", folder, name);
}

static void write_text(const char *name, const char *text)
{
	assert_int_equal(file_write(AT_FDCWD, in_folder(name), span_of(text), 0644, &err), 0);
}

static int make_folder(UNUSED void **state)
{
	if (!mkdtemp(folder) || mkdir(in_folder("deep"), 0755) < 0 ||
	    symlink("/etc/passwd", in_folder("out")) < 0)
		return -1;
	write_text("a.txt", "a");
	write_text("b.txt", "b");
	write_text("deep/file", "file");
	write_text("secret.key", "x");
	write_text(".atollignore", "*.key\n");
	return 0;
}

static int remove_one(const char *path, UNUSED const struct stat *status, UNUSED int kind,
                      UNUSED struct FTW *where)
{
	return remove(path);
}

static int remove_folder(UNUSED void **state)
{
	arena_done(&arena);
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* "PATH: NAME NAME" */
static const char *selected(struct context *c, const char *source, const char *target)
{
	const char *sources[] = {source, NULL};
	struct context_files files;
	AUTO(buf_done) struct buf text = BUF(4096);

	if (context_select(c, sources, target, &files, &err) < 0)
		return NULL;
	buf_addf(&text, "%s:", files.path);
	for (size_t i = 0; i < files.count; i++)
		buf_addf(&text, " %s", files.items[i].name);
	return arena_copy(&arena, buf_span(&text));
}

TEST(rules_exclude_files_folders_and_what_is_in_them)
{
	static const struct {
		const char *rules, *path;
		bool ignored;
	} cases[] = {
	        {"", "a", false},
	        {"# a\n\n  a  \n", "a", true},
	        {"a", "b/a", false},
	        {"a", "a/b/c", true},
	        {"/a/", "a/b", true},
	        {"./a", "a", true},
	        {"*.log", "x.log", true},
	        {"*.log", "d/x.log", false},
	        {"**/*.log", "d/e/x.log", true},
	        {"**/*.log", "x.log", true},
	        {"a/**", "a/b/c", true},
	        {"d/?.c", "d/x.c", true},
	        {"*\n!keep", "keep", false},
	        {"*\n!keep", "other", true},
	        {"!a\na", "a", true},
	        {"!", "a", false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (ignore_matches(cases[i].rules, cases[i].path) != cases[i].ignored)
			fail_msg("'%s' and '%s'", cases[i].rules, cases[i].path);
}

TEST(sources_become_what_docker_makes_of_them)
{
	AUTO(context_close) struct context c = {0};

	assert_int_equal(context_open(&c, folder, &err), 0);
	assert_string_equal(selected(&c, "a.txt", "/x/y"), "/x: y");
	assert_string_equal(selected(&c, "a.txt", "/y"), "/: y");
	assert_string_equal(selected(&c, "a.txt", "y"), ".: y");
	assert_string_equal(selected(&c, "a.txt", "/x/"), "/x/: a.txt");
	assert_string_equal(selected(&c, "/a.txt", "."), ".: a.txt");
	assert_string_equal(selected(&c, "deep", "/x"), "/x: file");
	assert_string_equal(selected(&c, "deep/", "/x"), "/x: file");
	assert_string_equal(selected(&c, "*.txt", "/x"), "/x: a.txt b.txt");
	assert_string_equal(selected(&c, ".", "/x"),
	                    "/x: .atollignore a.txt b.txt deep deep/file out");
	assert_null(selected(&c, "secret.key", "/x"));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_null(selected(&c, "../etc", "/x"));
	assert_null(selected(&c, "deep/../../x", "/x"));
}

TEST(a_hash_says_what_is_copied_and_a_link_is_never_followed)
{
	AUTO(context_close) struct context c = {0};
	const char *all[] = {".", NULL}, *one[] = {"out", NULL};
	char before[CONTEXT_HASH_SIZE + 1], after[CONTEXT_HASH_SIZE + 1];
	struct context_files files;

	assert_int_equal(context_open(&c, folder, &err), 0);
	assert_int_equal(context_select(&c, all, "/x", &files, &err), 0);
	assert_int_equal(context_hash(&c, &files, before, &err), 0);
	assert_int_equal(context_hash(&c, &files, after, &err), 0);
	assert_string_equal(before, after);
	write_text("b.txt", "c");
	assert_int_equal(context_hash(&c, &files, after, &err), 0);
	assert_string_not_equal(before, after);
	assert_int_equal(context_select(&c, one, "/x", &files, &err), 0);
	assert_true(S_ISLNK(files.items[0].mode));
	assert_string_equal(files.items[0].link, "/etc/passwd");
	/* A file that has become a link since is not read through it. */
	assert_int_equal(context_select(&c, (const char *[]){"a.txt", NULL}, "/x", &files, &err),
	                 0);
	assert_int_equal(unlink(in_folder("a.txt")), 0);
	assert_int_equal(symlink("/etc/passwd", in_folder("a.txt")), 0);
	assert_int_equal(context_hash(&c, &files, after, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(rules_exclude_files_folders_and_what_is_in_them),
	        cmocka_unit_test(sources_become_what_docker_makes_of_them),
	        cmocka_unit_test(a_hash_says_what_is_copied_and_a_link_is_never_followed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
