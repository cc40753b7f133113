/* SPDX-License-Identifier: Apache-2.0 */
/* SEARCH: what grep would print, without a grep. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"

struct fixture {
	struct box b;
	int fd;
	struct buf out;
};

static struct fixture start(void)
{
	struct fixture f = {.b = box_start(BOX_PLAIN), .out = BUF(16 << 20)};

	f.fd = box_connect(&f.b);
	return f;
}

static void finish(struct fixture *f)
{
	(void)close(f->fd);
	box_end(&f->b);
	buf_done(&f->out);
}

/* What is told, with '|' for NUL; *ret_is_cut may be NULL. */
static const char *search(struct fixture *f, struct agent_path *path, bool *ret_is_cut)
{
	uint16_t type;
	struct agent_done done;
	struct error err;

	buf_reset(&f->out);
	say(&f->b, f->fd, AGENT_SEARCH, agent_path_shape, path);
	while ((type = hear_any(&f->b, f->fd)) == AGENT_DATA)
		buf_add_span(&f->out, buf_span(&f->b.payload));
	assert_int_equal(type, AGENT_DONE);
	assert_int_equal(wire_decode(&f->b.arena, buf_span(&f->b.payload), agent_done_shape, &done,
	                             sizeof(done), &err),
	                 0);
	if (ret_is_cut)
		*ret_is_cut = done.count > 0;
	for (size_t i = 0; i < f->out.size; i++)
		if (!f->out.data[i])
			f->out.data[i] = '|';
	return buf_text(&f->out);
}

static struct agent_path wanting(struct box *b, const char *target, enum agent_search_mode mode)
{
	struct agent_path path = beneath(b, ".");

	path.target = target;
	path.mode = mode;
	return path;
}

TEST(lines_that_match_are_told_with_their_numbers)
{
	struct fixture f = start();
	struct agent_path path = wanting(&f.b, "\nb+|[0-9]{2}", AGENT_SEARCH_CONTENT);

	assert_int_equal(mkdir(box_path(&f.b, "d"), 0755), 0);
	box_put(&f.b, "a.txt", "one\nabba\n\n12\nlast b");
	box_put(&f.b, "d/b.c", "B\nb");
	assert_string_equal(search(&f, &path, NULL),
	                    "a.txt|2:abba\na.txt|4:12\na.txt|5:last b\nd/b.c|2:b\n");
	path.flags |= AGENT_PATH_IGNORE_CASE;
	path.path = "d";
	assert_string_equal(search(&f, &path, NULL), "d/b.c|1:B\nd/b.c|2:b\n");
	path.path = "a.txt";
	path.target = "*.never\n^$";
	assert_string_equal(search(&f, &path, NULL), "a.txt|3:\n");
	finish(&f);
}

TEST(paths_and_counts_are_told_instead)
{
	struct fixture f = start();
	struct agent_path path = wanting(&f.b, "\nx", AGENT_SEARCH_FILES);

	assert_int_equal(mkdir(box_path(&f.b, "d"), 0755), 0);
	box_put(&f.b, "a.txt", "x\nx\ny\nx");
	box_put(&f.b, "b.txt", "y\n");
	box_put(&f.b, "d/c.c", "x");
	assert_string_equal(search(&f, &path, NULL), "a.txt|d/c.c|");
	path.mode = AGENT_SEARCH_COUNT;
	assert_string_equal(search(&f, &path, NULL), "a.txt|3\nd/c.c|1\n");
	path.target = "*.c\nx";
	assert_string_equal(search(&f, &path, NULL), "d/c.c|1\n");
	path.target = "d/**\nx";
	assert_string_equal(search(&f, &path, NULL), "d/c.c|1\n");
	finish(&f);
}

TEST(context_is_told_once_and_with_its_gaps)
{
	struct fixture f = start();
	struct agent_path path = wanting(&f.b, "\nx", AGENT_SEARCH_CONTENT);

	box_put(&f.b, "a", "1\n2\nx\n4\n5\n6\n7\n8\nx\nx\n11\n");
	path.depth = 1;
	path.offset = 1;
	assert_string_equal(search(&f, &path, NULL),
	                    "a|2-2\na|3:x\na|4-4\n--\na|8-8\na|9:x\na|10:x\na|11-11\n");
	path.depth = 3;
	path.offset = 2;
	assert_string_equal(search(&f, &path, NULL),
	                    "a|1-1\na|2-2\na|3:x\na|4-4\na|5-5\na|6-6\na|7-7\na|8-8\na|9:x\n"
	                    "a|10:x\na|11-11\n");
	path.depth = 100;
	path.offset = 0;
	assert_string_equal(search(&f, &path, NULL),
	                    "a|1-1\na|2-2\na|3:x\na|4-4\na|5-5\na|6-6\na|7-7\na|8-8\na|9:x\n"
	                    "a|10:x\n");
	finish(&f);
}

TEST(what_is_no_text_or_no_file_is_passed_over)
{
	struct fixture f = start();
	struct agent_path path = wanting(&f.b, "\nx", AGENT_SEARCH_FILES);
	int fd = open(box_path(&f.b, "binary"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, "x\0x", 3), 3);
	(void)close(fd);
	box_put(&f.b, "empty", "");
	assert_int_equal(mkfifo(box_path(&f.b, "pipe"), 0644), 0);
	assert_int_equal(symlink("/etc/passwd", box_path(&f.b, "link")), 0);
	assert_int_equal(symlink("..", box_path(&f.b, "up")), 0);
	assert_string_equal(search(&f, &path, NULL), "");
	finish(&f);
}

TEST(what_is_too_much_is_cut_and_says_so)
{
	struct fixture f = start();
	struct agent_path path = wanting(&f.b, "\nx", AGENT_SEARCH_CONTENT);
	AUTO(buf_done) struct buf text = BUF(16 << 20);
	bool is_cut = true;

	box_put(&f.b, "a", "x");
	(void)search(&f, &path, &is_cut);
	assert_false(is_cut);
	/* A line: its beginning is looked at, and told. */
	for (int i = 0; i < 20000; i++)
		buf_add_byte(&text, 'y');
	buf_add_text(&text, "x\nx\n");
	box_put(&f.b, "a", buf_text(&text));
	assert_string_equal(search(&f, &path, NULL), "a|2:x\n");
	/* A file: what is behind its first 8 MiB. */
	while (text.size < (8 << 20))
		buf_add_text(&text,
		             "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n");
	buf_add_text(&text, "x\n");
	box_put(&f.b, "a", buf_text(&text));
	box_put(&f.b, "b", "x");
	assert_string_equal(search(&f, &path, &is_cut), "a|2:x\nb|1:x\n");
	assert_true(is_cut);
	/* All that is told. */
	path.target = "\ny";
	(void)search(&f, &path, &is_cut);
	assert_true(is_cut && f.out.size > (3 << 20) && f.out.size <= (4 << 20));
	finish(&f);
}

TEST(what_is_no_expression_is_refused)
{
	struct fixture f = start();
	struct agent_path path = wanting(&f.b, "\n(", AGENT_SEARCH_FILES);
	struct agent_failed failed = call_fails(&f.b, f.fd, AGENT_SEARCH, &path);

	assert_int_equal(failed.code, ERROR_INVALID);
	assert_non_null(strstr(failed.text, "pattern: "));
	path.target = "no line feed";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_SEARCH, &path).code, ERROR_INVALID);
	path.target = "\nx";
	path.mode = 9;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_SEARCH, &path).code, ERROR_INVALID);
	path.mode = 0;
	path.depth = 5000;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_SEARCH, &path).code, ERROR_INVALID);
	path.depth = 0;
	path.path = "missing";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_SEARCH, &path).code, ERROR_NOT_FOUND);
	finish(&f);
}

TEST(an_expression_that_would_take_all_the_memory_is_refused)
{
	struct fixture f;
	struct agent_path path;

	if (UNIT_WITH_ASAN)
		return;
	f = start();
	path = wanting(&f.b, "\n((((x{1,200}){1,200}){1,200}){1,200})", AGENT_SEARCH_FILES);
	box_put(&f.b, "a", "x");
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_SEARCH, &path).code, ERROR_INVALID);
	path.target = "\nx";
	assert_string_equal(search(&f, &path, NULL), "a|");
	finish(&f);
}

int main(void)
{
	return RUN(CASE(lines_that_match_are_told_with_their_numbers),
	           CASE(paths_and_counts_are_told_instead),
	           CASE(context_is_told_once_and_with_its_gaps),
	           CASE(what_is_no_text_or_no_file_is_passed_over),
	           CASE(what_is_too_much_is_cut_and_says_so),
	           CASE(what_is_no_expression_is_refused),
	           CASE(an_expression_that_would_take_all_the_memory_is_refused));
}
