/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as overlays would show them, made by hand. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/compare.h"
#include "agent/walk.h"
#include "base/bytes.h"
#include "base/fd.h"

struct trees {
	char folder[64];
	struct tree_folders roots;
};

static const char *const names[TREE_COUNT] = {"base", "now", "over0", "over1"};

static int open_trees(void **state)
{
	struct trees *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	(void)snprintf(t->folder, sizeof(t->folder), "/tmp/atoll-compare-XXXXXX");
	assert_non_null(mkdtemp(t->folder));
	for (unsigned i = 0; i < TREE_COUNT; i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "%s/%s", t->folder, names[i]);
		assert_int_equal(mkdir(path, 0755), 0);
		t->roots.fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(t->roots.fds[i] >= 0);
	}
	*state = t;
	return 0;
}

static int close_trees(void **state)
{
	struct trees *t = *state;
	char line[128];

	for (unsigned i = 0; i < TREE_COUNT; i++)
		fd_forget(&t->roots.fds[i]);
	(void)snprintf(line, sizeof(line), "rm -rf '%s'", t->folder);
	assert_int_equal(system(line), 0); /* NOLINT(concurrency-mt-unsafe,cert-env33-c) */
	free(t);
	return 0;
}

/* "base now over0": in which trees; the file's text, or NULL for a folder. */
static void put(struct trees *t, const char *where, const char *path, const char *text)
{
	for (unsigned i = 0; i < TREE_COUNT; i++) {
		int fd;

		if (!strstr(where, names[i]))
			continue;
		if (!text) {
			assert_int_equal(mkdirat(t->roots.fds[i], path, 0755), 0);
			continue;
		}
		fd = openat(t->roots.fds[i], path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		(void)close(fd);
	}
}

struct told {
	struct buf text;
	unsigned count, count_max;
};

static int tell(struct compare *c, const struct difference *d, struct error *err)
{
	static const char letters[] = {[AGENT_ADDED] = 'A',
	                               [AGENT_DELETED] = 'D',
	                               [AGENT_CONTENT] = 'M',
	                               [AGENT_ATTRIBUTES] = 'm',
	                               [AGENT_RETYPED] = 'T'};
	struct told *told = c->context;

	(void)err;
	if (told->count_max && told->count == told->count_max)
		return 1;
	buf_addf(&told->text, "%s%c %s%s", told->count++ ? ", " : "", letters[d->kind], d->path,
	         d->is_cut ? " cut" : "");
	return 0;
}

static struct arena arena;

struct ask {
	const char *path, *after;
	unsigned count_max;
	uint64_t read_max;
};

static const char *ask_for(struct trees *t, const struct ask *ask)
{
	struct told told = {.text = BUF(1 << 20), .count_max = ask->count_max};
	struct compare c = {.on_difference = tell, .context = &told, .read_max = ask->read_max};
	struct error err = {0};
	const char *text;

	if (compare_run(&c, &t->roots, ask->path, ask->after, &err) < 0)
		text = arena_format(&arena, "failed %d", err.code);
	else
		text = arena_text(&arena, buf_text(&told.text));
	buf_done(&told.text);
	return text;
}

static const char *all(struct trees *t)
{
	return ask_for(t, &(struct ask){"", "", 0, 1 << 20});
}

#define ALL "base now over0 over1"

TEST(equal_trees_do_not_differ)
{
	struct trees *t = *state;

	put(t, ALL, "folder", NULL);
	put(t, ALL, "folder/file", "same");
	assert_string_equal(all(t), "");
}

TEST(what_no_layer_has_is_not_looked_at)
{
	struct trees *t = *state;

	put(t, "base now", "deep", NULL);
	put(t, "base", "deep/file", "one");
	put(t, "now", "deep/file", "two");
	assert_string_equal(all(t), "");
	put(t, "over1", "deep", NULL);
	assert_string_equal(all(t), "");
	put(t, "over1", "deep/file", "whatever");
	assert_string_equal(all(t), "M deep/file");
}

TEST(a_folder_comes_before_what_it_holds_and_names_are_in_order)
{
	struct trees *t = *state;

	put(t, "now over0", "b", NULL);
	put(t, "now over0", "b/z", "");
	put(t, "now over0", "b-a", "");
	put(t, "base over0", "a", "");
	put(t, "base", "c", NULL);
	put(t, "base", "c/d", NULL);
	put(t, "base", "c/d/e", "");
	put(t, "now over0", "c", "a file");
	assert_string_equal(all(t), "D a, A b, A b/z, A b-a, T c, D c/d, D c/d/e");
}

TEST(a_folder_that_was_made_anew_has_lost_what_it_held)
{
	struct trees *t = *state;

	put(t, "base now over0", "d", NULL);
	put(t, "base", "d/old", NULL);
	put(t, "base", "d/old/file", "x");
	put(t, "now over0", "d/new", "y");
	assert_string_equal(all(t), "A d/new, D d/old, D d/old/file");
}

TEST(contents_are_compared_whatever_size_and_time_say)
{
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct trees *t = *state;

	put(t, "base", "f", "one");
	put(t, "now over0", "f", "two");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(utimensat(t->roots.fds[i], "f", times, 0), 0);
	assert_string_equal(all(t), "M f");
	put(t, "base", "f", "two");
	assert_string_equal(all(t), "");
}

TEST(what_is_too_much_to_read_counts_as_different)
{
	struct trees *t = *state;

	put(t, "base now over0", "f", "0123456789");
	put(t, "base now over0", "g", "0123456789");
	assert_string_equal(ask_for(t, &(struct ask){"", "", 0, 20}), "");
	assert_string_equal(ask_for(t, &(struct ask){"", "", 0, 19}), "M g");
	assert_string_equal(ask_for(t, &(struct ask){"", "", 0, 0}), "M f, M g");
}

TEST(mode_and_links_tell)
{
	struct trees *t = *state;

	put(t, "base now over0", "f", "x");
	assert_int_equal(fchmodat(t->roots.fds[TREE_NOW], "f", 0600, 0), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(symlinkat(i ? "there" : "here", t->roots.fds[i], "l"), 0);
		assert_int_equal(symlinkat("same", t->roots.fds[i], "s"), 0);
	}
	assert_string_equal(all(t), "m f, M l");
}

TEST(links_are_never_followed)
{
	struct trees *t = *state;

	put(t, "base", "d", NULL);
	put(t, "base", "d/x", "x");
	put(t, "over0", "d", NULL);
	assert_int_equal(symlinkat("/etc", t->roots.fds[TREE_NOW], "d"), 0);
	assert_int_equal(symlinkat("/etc", t->roots.fds[TREE_OVER_1], "e"), 0);
	put(t, "base now", "e", NULL);
	assert_string_equal(all(t), "T d, D d/x");
	assert_string_equal(ask_for(t, &(struct ask){"d/passwd", "", 0, 100}), "failed 4");
}

TEST(pages_join_to_the_whole)
{
	struct trees *t = *state;
	const char *whole;

	put(t, "base now over0", "a", NULL);
	put(t, "now over0", "a/b", NULL);
	put(t, "now over0", "a/b/c", "");
	put(t, "now over0", "a/b/d", "");
	put(t, "now over0", "a.b", "");
	put(t, "base over0", "a/e", "");
	put(t, "now over0", "z", "");
	whole = all(t);
	for (unsigned size = 1; size < 4; size++) {
		AUTO(buf_done) struct buf joined = BUF(4096);
		const char *after = "", *page;

		while (*(page = ask_for(t, &(struct ask){"", after, size, 100}))) {
			buf_addf(&joined, "%s%s", joined.size ? ", " : "", page);
			after = strrchr(page, ' ') + 1;
		}
		assert_string_equal(buf_text(&joined), whole);
	}
	assert_string_equal(ask_for(t, &(struct ask){"a/b", "a/b/c", 0, 100}), "A a/b/d");
	/* The last path may be gone by the next page. */
	assert_string_equal(ask_for(t, &(struct ask){"", "a/b/ca", 0, 100}),
	                    "A a/b/d, D a/e, A a.b, A z");
}

TEST(a_path_alone_is_compared)
{
	struct trees *t = *state;

	put(t, "base over0", "a", NULL);
	put(t, "base over0", "a/b", "");
	put(t, "now over0", "c", "");
	assert_string_equal(ask_for(t, &(struct ask){"a", "", 0, 100}), "D a, D a/b");
	assert_string_equal(ask_for(t, &(struct ask){"a/b", "", 0, 100}), "D a/b");
	assert_string_equal(ask_for(t, &(struct ask){"c", "", 0, 100}), "A c");
	assert_string_equal(ask_for(t, &(struct ask){"none", "", 0, 100}), "failed 4");
	assert_string_equal(ask_for(t, &(struct ask){"../etc", "", 0, 100}), "failed 1");
}

TEST(the_kernels_own_and_ours_are_left_out)
{
	struct trees *t = *state;

	put(t, "now over0", "proc", NULL);
	put(t, "now over0", "proc/x", "");
	put(t, "now over0", "etc", NULL);
	put(t, "now over0", "etc/hosts", "");
	put(t, "now over0", "etc/proc", "");
	assert_string_equal(all(t), "A etc, A etc/proc");
	assert_string_equal(ask_for(t, &(struct ask){"proc/x", "", 0, 100}), "failed 1");
}

TEST(an_empty_list_that_a_start_in_gvisor_makes_is_left_out)
{
	struct trees *t = *state;

	put(t, ALL, "etc", NULL);
	put(t, "now over0", "etc/ld.so.preload", "");
	assert_string_equal(all(t), "");
	put(t, "now over0", "etc/ld.so.preload", "evil.so");
	assert_string_equal(all(t), "A etc/ld.so.preload");
	put(t, ALL, "etc/ld.so.preload", "own.so");
	put(t, "now over0", "etc/ld.so.preload", "");
	assert_string_equal(all(t), "M etc/ld.so.preload");
}

TEST(what_is_too_deep_is_told_as_cut)
{
	struct trees *t = *state;
	const char *text;

	for (unsigned i = TREE_NOW; i <= TREE_OVER_0; i++) {
		int at = dup(t->roots.fds[i]);

		for (unsigned d = 0; d < WALK_DEPTH_MAX + 50; d++) {
			int next;

			assert_int_equal(mkdirat(at, "d", 0755), 0);
			next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			assert_true(next >= 0);
			(void)close(at);
			at = next;
		}
		(void)close(at);
	}
	put(t, "now over0", "e", "");
	text = all(t);
	assert_non_null(strstr(text, "d cut, A e"));
	assert_null(strstr(text, "failed"));
}

#define EACH(name) cmocka_unit_test_setup_teardown(name, open_trees, close_trees)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(equal_trees_do_not_differ),
	        EACH(what_no_layer_has_is_not_looked_at),
	        EACH(a_folder_comes_before_what_it_holds_and_names_are_in_order),
	        EACH(a_folder_that_was_made_anew_has_lost_what_it_held),
	        EACH(contents_are_compared_whatever_size_and_time_say),
	        EACH(what_is_too_much_to_read_counts_as_different),
	        EACH(mode_and_links_tell),
	        EACH(links_are_never_followed),
	        EACH(pages_join_to_the_whole),
	        EACH(a_path_alone_is_compared),
	        EACH(the_kernels_own_and_ours_are_left_out),
	        EACH(an_empty_list_that_a_start_in_gvisor_makes_is_left_out),
	        EACH(what_is_too_deep_is_told_as_cut),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_done(&arena);
	return failed;
}
