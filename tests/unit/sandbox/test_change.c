/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "unit.h"

#include <string.h>

#include "sandbox/change.h"

static struct arena arena;

static const struct change_side nowhere = {.link = ""};
static const struct change_side file = {.mode = 0100644, .link = "", .size = 3};
static const struct change_side program = {.mode = 0100755, .link = "", .size = 3};
static const struct change_side folder = {.mode = 0040755, .link = ""};
static const struct change_side fifo = {.mode = 0010644, .link = ""};

static struct sandbox_change change(enum change_kind kind, struct change_side was,
                                    struct change_side is)
{
	return (struct sandbox_change){.path = "a/b", .kind = kind, .sides = {was, is}};
}

static const char *head(const struct sandbox_change *c, bool has_contents)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	assert_int_equal(change_add_head(&out, c), has_contents);
	return arena_text(&arena, buf_text(&out));
}

static const char *name(const char *path)
{
	AUTO(buf_done) struct buf out = BUF(4096);

	change_add_name(&out, "a/", path);
	return arena_text(&arena, buf_text(&out));
}

TEST(heads_are_those_of_git)
{
	struct sandbox_change c = change(CHANGE_ADDED, nowhere, program);

	assert_string_equal(head(&c, true), "diff --git a/a/b b/a/b\nnew file mode 100755\n");
	c = change(CHANGE_DELETED, file, nowhere);
	assert_string_equal(head(&c, true), "diff --git a/a/b b/a/b\ndeleted file mode 100644\n");
	c = change(CHANGE_MODIFIED, file, file);
	assert_string_equal(head(&c, true), "diff --git a/a/b b/a/b\n");
	c = change(CHANGE_MODIFIED, file, program);
	assert_string_equal(head(&c, true),
	                    "diff --git a/a/b b/a/b\nold mode 100644\nnew mode 100755\n");
	c = change(CHANGE_ATTRIBUTES, file, program);
	assert_string_equal(head(&c, false),
	                    "diff --git a/a/b b/a/b\nold mode 100644\nnew mode 100755\n");
	arena_done(&arena);
}

TEST(what_a_patch_cannot_tell_is_a_remark)
{
	struct change_side owned = file;
	struct sandbox_change c = change(CHANGE_ADDED, nowhere, fifo);

	assert_string_equal(head(&c, false), "# a/b: fifo added\n");
	owned.uid = 7;
	c = change(CHANGE_ATTRIBUTES, file, owned);
	assert_string_equal(head(&c, false), "# a/b: file mode, owner 7:0 was 0:0\n");
	c = change(CHANGE_ADDED, nowhere, folder);
	assert_string_equal(head(&c, false), "");
	c.is_cut = true;
	assert_string_equal(head(&c, false), "# a/b: dir added, too deep to list its contents\n");
	c = change(CHANGE_ATTRIBUTES, folder, folder);
	c.sides[1].mode = 0040700;
	c.path = "x\ny";
	assert_string_equal(head(&c, false), "# \"x\\ny\": dir mode, mode 0700 was 0755\n");
	arena_done(&arena);
}

TEST(names_are_quoted_when_they_could_be_mistaken)
{
	assert_string_equal(name("plain name"), "a/plain name");
	assert_string_equal(name("\xc3\xbc"), "a/\xc3\xbc");
	assert_string_equal(name("\xff"), "\"a/\\377\"");
	assert_string_equal(name("a\"b\\c"), "\"a/a\\\"b\\\\c\"");
	assert_string_equal(name("\n\t\x1b\x7f"), "\"a/\\n\\t\\033\\177\"");
	arena_done(&arena);
}

TEST(a_label_with_a_blank_ends_in_a_tab)
{
	struct sandbox_change c = change(CHANGE_ADDED, nowhere, file);

	assert_string_equal(change_label(&arena, &c, 0), "/dev/null");
	assert_string_equal(change_label(&arena, &c, 1), "b/a/b");
	c.path = "a b";
	assert_string_equal(change_label(&arena, &c, 1), "b/a b\t");
	c.path = "a\nb c";
	assert_string_equal(change_label(&arena, &c, 1), "\"b/a\\nb c\"");
	arena_done(&arena);
}

TEST(a_link_is_a_line_without_an_end)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	struct sandbox_change c =
	        change(CHANGE_MODIFIED, (struct change_side){.mode = 0120777, .link = "old"},
	               (struct change_side){.mode = 0120777, .link = "n\new"});

	change_add_links(&out, &arena, &c);
	assert_string_equal(buf_text(&out), "--- a/a/b\n+++ b/a/b\n@@ -1 +1,2 @@\n"
	                                    "-old\n\\ No newline at end of file\n"
	                                    "+n\n+ew\n\\ No newline at end of file\n");
	assert_string_equal(head(&c, true), "diff --git a/a/b b/a/b\n");
	arena_done(&arena);
}

TEST(a_change_of_type_is_two)
{
	struct sandbox_change c = change(CHANGE_RETYPED, folder, file), parts[2];

	assert_int_equal(change_split(&c, parts), 2);
	assert_int_equal(parts[0].kind, CHANGE_DELETED);
	assert_int_equal(parts[0].sides[0].mode, folder.mode);
	assert_int_equal(parts[0].sides[1].mode, 0);
	assert_int_equal(parts[1].kind, CHANGE_ADDED);
	assert_int_equal(parts[1].sides[1].mode, file.mode);
	c.kind = CHANGE_MODIFIED;
	assert_int_equal(change_split(&c, parts), 1);
}

TEST(lines_of_a_patch_are_counted_and_heads_are_none)
{
	struct change_lines lines = change_count_lines(
	        SPAN("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+---\n"
	             "\\ No newline at end of file\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n"));

	assert_int_equal(lines.added, 2);
	assert_int_equal(lines.deleted, 1);
	assert_false(lines.is_binary);
	lines = change_count_lines(SPAN("diff --git a/x b/x\nBinary files a/x and b/x differ\n"));
	assert_true(lines.is_binary);
	lines = change_count_lines(SPAN("@@ -0,0 +1 @@\n+Binary files a and b differ"));
	assert_false(lines.is_binary);
	assert_int_equal(change_count_lines((struct span){NULL, 0}).added, 0);
}

TEST(a_path_is_one_from_the_root_down)
{
	static const struct {
		const char *text, *clean; /* NULL = refused */
	} rows[] = {{"", ""},         {"/", ""},     {"///", ""},         {"a", "a"},
	            {"/a/b/", "a/b"}, {"..", NULL},  {"a/../b", NULL},    {"a//b", NULL},
	            {"./a", NULL},    {"a/.", NULL}, {"..a/b.", "..a/b."}};

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		struct error err = {0};
		const char *clean = NULL;
		int status = change_path_clean(&arena, rows[i].text, &clean, &err);

		assert_int_equal(status, rows[i].clean ? 0 : -1);
		if (rows[i].clean)
			assert_string_equal(clean, rows[i].clean);
		else
			assert_null(clean);
	}
	arena_done(&arena);
}

TEST(a_path_has_its_limits)
{
	char text[5000];
	struct error err = {0};
	const char *clean;

	memset(text, 'a', sizeof(text));
	text[256] = '\0';
	assert_int_equal(change_path_clean(&arena, text, &clean, &err), -1);
	text[255] = '\0';
	assert_int_equal(change_path_clean(&arena, text, &clean, &err), 0);
	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '/' : 'a';
	text[4999] = '\0';
	assert_int_equal(change_path_clean(&arena, text, &clean, &err), -1);
	arena_done(&arena);
}

int main(void)
{
	return RUN(CASE(heads_are_those_of_git), CASE(what_a_patch_cannot_tell_is_a_remark),
	           CASE(names_are_quoted_when_they_could_be_mistaken),
	           CASE(a_label_with_a_blank_ends_in_a_tab), CASE(a_link_is_a_line_without_an_end),
	           CASE(a_change_of_type_is_two),
	           CASE(lines_of_a_patch_are_counted_and_heads_are_none),
	           CASE(a_path_is_one_from_the_root_down), CASE(a_path_has_its_limits));
}
