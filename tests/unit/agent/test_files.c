/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* Most tests want just this. */
struct fixture {
	struct box b;
	int fd;
};

static struct fixture start(void)
{
	struct fixture f = {.b = box_start(BOX_PLAIN)};

	f.fd = box_connect(&f.b);
	return f;
}

static void finish(struct fixture *f)
{
	(void)close(f->fd);
	box_end(&f->b);
}

static uint64_t done_count(struct fixture *f, uint16_t type, const struct agent_path *path)
{
	say(&f->b, f->fd, type, agent_path_shape, path);
	return hear_done(&f->b, f->fd);
}

TEST(a_file_is_written_and_read_back)
{
	struct fixture f = start();
	AUTO(buf_done) struct buf out = BUF(64 << 20);
	struct agent_path path = beneath(&f.b, "new.bin");
	static char bytes[5 * 1000 * 1000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 251);
	write_file(&f.b, f.fd, &path, (struct span){bytes, sizeof(bytes)});
	assert_int_equal(call(&f.b, f.fd, AGENT_STAT, &path).mode, 0644);
	read_file(&f.b, f.fd, &path, &out);
	assert_true(span_equals(buf_span(&out), (struct span){bytes, sizeof(bytes)}));
	assert_int_equal(box_count_entries(&f.b, "."), 1);
	finish(&f);
}

TEST(a_copy_goes_to_the_end_of_a_file)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "more");

	box_put(&f.b, "more", "two");
	path.target = "whole";
	path.flags |= AGENT_PATH_APPEND;
	(void)call(&f.b, f.fd, AGENT_COPY, &path);
	assert_string_equal(box_get(&f.b, "whole"), "two");
	assert_int_equal(call(&f.b, f.fd, AGENT_COPY, &path).size, 6);
	assert_string_equal(box_get(&f.b, "whole"), "twotwo");
	path.target = "more";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_COPY, &path).code, ERROR_INVALID);
	assert_string_equal(box_get(&f.b, "more"), "two");
	finish(&f);
}

TEST(a_part_of_a_file_is_read_by_offset_and_size)
{
	struct fixture f = start();
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct agent_path path = beneath(&f.b, "text");

	box_put(&f.b, "text", "0123456789");
	path.offset = 3;
	path.size_max = 4;
	read_file(&f.b, f.fd, &path, &out);
	assert_string_equal(buf_text(&out), "3456");
	buf_reset(&out);
	path.offset = 100;
	read_file(&f.b, f.fd, &path, &out);
	assert_int_equal(out.size, 0);
	path.offset = UINT64_MAX;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_READ, &path).code, ERROR_INVALID);
	finish(&f);
}

TEST(a_write_keeps_the_mode_appends_and_writes_at_an_offset)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "text");

	path.mode = 0750;
	write_file(&f.b, f.fd, &path, SPAN("0123456789"));
	path.mode = 0;
	write_file(&f.b, f.fd, &path, SPAN("abcdef"));
	assert_int_equal(call(&f.b, f.fd, AGENT_STAT, &path).mode, 0750);
	path.flags |= AGENT_PATH_APPEND;
	write_file(&f.b, f.fd, &path, SPAN("-end"));
	path.flags &= ~(uint32_t)AGENT_PATH_APPEND;
	path.offset = 2;
	write_file(&f.b, f.fd, &path, SPAN("XY"));
	assert_string_equal(box_get(&f.b, "text"), "abXYef-end");
	finish(&f);
}

TEST(a_write_makes_parents_when_asked_to)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "a/b/c/file");

	assert_int_equal(call_fails(&f.b, f.fd, AGENT_WRITE, &path).code, ERROR_NOT_FOUND);
	path.flags |= AGENT_PATH_PARENTS;
	write_file(&f.b, f.fd, &path, SPAN("deep"));
	assert_string_equal(box_get(&f.b, "a/b/c/file"), "deep");
	finish(&f);
}

TEST(a_list_may_be_of_the_files_that_changed_since)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path = beneath(&b, ".");
	struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	int fd = box_connect(&b);

	assert_int_equal(mkdir(box_path(&b, "folder"), 0755), 0);
	box_put(&b, "folder/file", "x");
	box_put(&b, "back-dated", "x");
	assert_int_equal(utimensat(AT_FDCWD, box_path(&b, "back-dated"), old, 0), 0);
	assert_int_equal(symlink("folder/file", box_path(&b, "link")), 0);
	path.depth = 2;
	path.offset = (uint64_t)clock_unix_ms() - 60000;
	assert_string_equal(list_files(&b, fd, AGENT_LIST, &path), "back-dated folder/file");
	path.size_max = 1;
	assert_string_equal(list_files(&b, fd, AGENT_LIST, &path), "back-dated");
	path.offset = (uint64_t)clock_unix_ms() + 60000;
	assert_string_equal(list_files(&b, fd, AGENT_LIST, &path), "");
	(void)close(fd);
	box_end(&b);
}

TEST(a_write_that_must_not_replace_or_is_too_large_changes_nothing)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "there");

	box_put(&f.b, "there", "old");
	path.flags |= AGENT_PATH_NO_REPLACE;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_WRITE, &path).code, ERROR_CONFLICT);
	path.flags &= ~(uint32_t)AGENT_PATH_NO_REPLACE;
	path.size_max = 4;
	say(&f.b, f.fd, AGENT_WRITE, agent_path_shape, &path);
	HEAR_EMPTY(&f.b, f.fd, AGENT_READY);
	say_raw(&f.b, f.fd, AGENT_DATA, SPAN("12345"));
	assert_int_equal(hear_failed(&f.b, f.fd).code, ERROR_TOO_LARGE);
	/* The rest is taken and dropped; the connection goes on. */
	send_bytes(&f.b, f.fd, SPAN("and more"));
	assert_string_equal(box_get(&f.b, "there"), "old");
	path.size_max = 0;
	write_file(&f.b, f.fd, &path, SPAN("new"));
	assert_string_equal(box_get(&f.b, "there"), "new");
	assert_int_equal(box_count_entries(&f.b, "."), 1);
	finish(&f);
}

TEST(a_write_follows_a_link_to_the_file_behind_it)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "link");

	box_put(&f.b, "file", "old");
	assert_int_equal(mkdir(box_path(&f.b, "dir"), 0755), 0);
	assert_int_equal(symlink("dir/../file", box_path(&f.b, "link")), 0);
	write_file(&f.b, f.fd, &path, SPAN("new"));
	assert_string_equal(box_get(&f.b, "file"), "new");
	path.flags |= AGENT_PATH_NO_FOLLOW;
	assert_int_equal(call(&f.b, f.fd, AGENT_STAT, &path).type, AGENT_FILE_SYMLINK);
	assert_string_equal(call(&f.b, f.fd, AGENT_STAT, &path).link, "dir/../file");
	finish(&f);
}

TEST(fifos_devices_and_folders_are_not_read_or_written)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "fifo"), device = {.path = "/dev/zero"};

	assert_int_equal(mkfifo(box_path(&f.b, "fifo"), 0666), 0);
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_READ, &path).code, ERROR_CONFLICT);
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_WRITE, &path).code, ERROR_CONFLICT);
	path.offset = 1;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_WRITE, &path).code, ERROR_CONFLICT);
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_READ, &device).code, ERROR_CONFLICT);
	device.path = "/tmp";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_READ, &device).code, ERROR_CONFLICT);
	path = beneath(&f.b, "");
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_WRITE, &path).code, ERROR_INVALID);
	finish(&f);
}

static void make_tree(struct box *b)
{
	assert_int_equal(mkdir(box_path(b, "d"), 0755), 0);
	assert_int_equal(mkdir(box_path(b, "d/sub"), 0750), 0);
	box_put(b, "d/b.c", "b");
	box_put(b, "d/a.c", "aa");
	box_put(b, "d/.hidden.c", "h");
	box_put(b, "d/sub/deep.c", "deep");
	assert_int_equal(symlink("../../outside", box_path(b, "d/sub/link")), 0);
}

TEST(a_folder_is_listed_as_deep_as_wanted)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "d");

	make_tree(&f.b);
	assert_string_equal(list_files(&f.b, f.fd, AGENT_LIST, &path), ".hidden.c a.c b.c sub");
	path.depth = 2;
	assert_string_equal(list_files(&f.b, f.fd, AGENT_LIST, &path),
	                    ".hidden.c a.c b.c sub sub/deep.c sub/link");
	path.size_max = 2;
	assert_string_equal(list_files(&f.b, f.fd, AGENT_LIST, &path), ".hidden.c a.c");
	path.depth = 65;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_LIST, &path).code, ERROR_INVALID);
	path = beneath(&f.b, "d/a.c");
	assert_int_not_equal(call_fails(&f.b, f.fd, AGENT_LIST, &path).code, ERROR_NONE);
	finish(&f);
}

static void set_time(struct box *b, const char *name, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	assert_int_equal(utimensat(AT_FDCWD, box_path(b, name), times, 0), 0);
}

TEST(glob_finds_by_pattern_with_the_newest_first)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "d");

	make_tree(&f.b);
	set_time(&f.b, "d/a.c", 100);
	set_time(&f.b, "d/b.c", 300);
	set_time(&f.b, "d/sub/deep.c", 200);
	path.target = "**/*.c";
	assert_string_equal(list_files(&f.b, f.fd, AGENT_GLOB, &path), "b.c sub/deep.c a.c");
	path.target = "*.c";
	assert_string_equal(list_files(&f.b, f.fd, AGENT_GLOB, &path), "b.c a.c");
	path.target = "*/[a-e]*";
	assert_string_equal(list_files(&f.b, f.fd, AGENT_GLOB, &path), "sub/deep.c");
	path.target = "nothing*";
	assert_string_equal(list_files(&f.b, f.fd, AGENT_GLOB, &path), "");
	path.target = "/etc/*";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_GLOB, &path).code, ERROR_INVALID);
	finish(&f);
}

TEST(folders_are_made)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "new/er");

	assert_int_equal(call_fails(&f.b, f.fd, AGENT_MKDIR, &path).code, ERROR_NOT_FOUND);
	path.flags |= AGENT_PATH_PARENTS;
	path.mode = 0700;
	assert_int_equal(call(&f.b, f.fd, AGENT_MKDIR, &path).mode, 0700);
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_MKDIR, &path).code, ERROR_CONFLICT);
	path.flags |= AGENT_PATH_MAY_EXIST;
	assert_int_equal(call(&f.b, f.fd, AGENT_MKDIR, &path).type, AGENT_FILE_FOLDER);
	path.mode = 0750;
	assert_int_equal(call(&f.b, f.fd, AGENT_MKDIR, &path).mode, 0700);
	path.flags |= AGENT_PATH_ADOPT;
	assert_int_equal(call(&f.b, f.fd, AGENT_MKDIR, &path).mode, 0750);
	box_put(&f.b, "file", "");
	path.path = "file";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_MKDIR, &path).code, ERROR_CONFLICT);
	finish(&f);
}

TEST(things_are_removed_without_following_links)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "d");

	make_tree(&f.b);
	assert_int_equal(mkdir(box_path(&f.b, "outside"), 0755), 0);
	box_put(&f.b, "outside/kept", "kept");
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_REMOVE, &path).code, ERROR_CONFLICT);
	path.flags |= AGENT_PATH_RECURSIVE;
	assert_int_equal(done_count(&f, AGENT_REMOVE, &path), 7);
	assert_string_equal(box_get(&f.b, "outside/kept"), "kept");
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_REMOVE, &path).code, ERROR_NOT_FOUND);
	path.flags |= AGENT_PATH_MAY_EXIST;
	assert_int_equal(done_count(&f, AGENT_REMOVE, &path), 0);
	path.path = "d/deeper/still";
	assert_int_equal(done_count(&f, AGENT_REMOVE, &path), 0);
	path.path = ".";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_REMOVE, &path).code, ERROR_INVALID);
	finish(&f);
}

TEST(things_are_renamed)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "old");

	box_put(&f.b, "old", "text");
	box_put(&f.b, "there", "other");
	path.target = "there";
	path.flags |= AGENT_PATH_NO_REPLACE;
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_RENAME, &path).code, ERROR_CONFLICT);
	path.target = "sub/new";
	path.flags |= AGENT_PATH_PARENTS;
	assert_string_equal(call(&f.b, f.fd, AGENT_RENAME, &path).path, "sub/new");
	assert_string_equal(box_get(&f.b, "sub/new"), "text");
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_RENAME, &path).code, ERROR_NOT_FOUND);
	finish(&f);
}

TEST(files_and_folders_are_copied)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "d/a.c");

	make_tree(&f.b);
	path.target = "copy.c";
	assert_int_equal(call(&f.b, f.fd, AGENT_COPY, &path).size, 2);
	assert_string_equal(box_get(&f.b, "copy.c"), "aa");
	path.path = "d";
	path.target = "e";
	assert_int_equal(call_fails(&f.b, f.fd, AGENT_COPY, &path).code, ERROR_CONFLICT);
	path.flags |= AGENT_PATH_RECURSIVE;
	(void)call(&f.b, f.fd, AGENT_COPY, &path);
	assert_string_equal(box_get(&f.b, "e/sub/deep.c"), "deep");
	path.path = "e/sub/link";
	path.flags |= AGENT_PATH_NO_FOLLOW;
	assert_string_equal(call(&f.b, f.fd, AGENT_STAT, &path).link, "../../outside");
	finish(&f);
}

TEST(a_folder_is_copied_into_itself_once)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "d");

	make_tree(&f.b);
	path.target = "d/copy";
	path.flags |= AGENT_PATH_RECURSIVE;
	(void)call(&f.b, f.fd, AGENT_COPY, &path);
	assert_string_equal(box_get(&f.b, "d/copy/sub/deep.c"), "deep");
	assert_null(box_get(&f.b, "d/copy/copy/a.c"));
	finish(&f);
}

TEST(a_silent_connection_gives_its_worker_back)
{
	struct fixture f = start();
	struct agent_path path = beneath(&f.b, "");
	struct agent_exec command;
	struct ran r;

	(void)call(&f.b, f.fd, AGENT_STAT, &path);
	assert_int_equal(box_children(&f.b), 1);
	box_wait_for_children(&f.b, 0);
	(void)call(&f.b, f.fd, AGENT_STAT, &path);
	/* The same connection, while the worker has it. */
	command = shell(&f.b, "echo from a command");
	command.cwd = "/";
	r = exec(&f.b, f.fd, &command);
	assert_string_equal(buf_text(&r.out[0]), "from a command\n");
	ran_done(&r);
	(void)call(&f.b, f.fd, AGENT_STAT, &path);
	finish(&f);
}

int main(void)
{
	return RUN(CASE(a_file_is_written_and_read_back), CASE(a_copy_goes_to_the_end_of_a_file),
	           CASE(a_part_of_a_file_is_read_by_offset_and_size),
	           CASE(a_write_keeps_the_mode_appends_and_writes_at_an_offset),
	           CASE(a_write_makes_parents_when_asked_to),
	           CASE(a_list_may_be_of_the_files_that_changed_since),
	           CASE(a_write_that_must_not_replace_or_is_too_large_changes_nothing),
	           CASE(a_write_follows_a_link_to_the_file_behind_it),
	           CASE(fifos_devices_and_folders_are_not_read_or_written),
	           CASE(a_folder_is_listed_as_deep_as_wanted),
	           CASE(glob_finds_by_pattern_with_the_newest_first), CASE(folders_are_made),
	           CASE(things_are_removed_without_following_links), CASE(things_are_renamed),
	           CASE(files_and_folders_are_copied), CASE(a_folder_is_copied_into_itself_once),
	           CASE(a_silent_connection_gives_its_worker_back));
}
