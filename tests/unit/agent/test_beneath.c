/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A workspace, and beside it what may not be reached. */
static void make_workspace(struct box *b)
{
	assert_int_equal(mkdir(box_path(b, "work"), 0777), 0);
	assert_int_equal(mkdir(box_path(b, "work/inner"), 0777), 0);
	assert_int_equal(mkdir(box_path(b, "outside"), 0777), 0);
	box_put(b, "outside/secret", "secret");
	box_put(b, "work/mine", "mine");
	assert_int_equal(symlink("../outside", box_path(b, "work/out")), 0);
	assert_int_equal(symlink(box_path(b, "outside"), box_path(b, "work/absolute")), 0);
	assert_int_equal(symlink("/proc/self/root", box_path(b, "work/magic")), 0);
	assert_int_equal(symlink("../outside/secret", box_path(b, "work/file")), 0);
	assert_int_equal(symlink("inner", box_path(b, "work/fine")), 0);
}

static struct agent_path in_workspace(struct box *b, const char *path)
{
	return (struct agent_path){.root = box_path(b, "work"),
	                           .path = path,
	                           .target = "target",
	                           .flags = AGENT_PATH_BENEATH | AGENT_PATH_RECURSIVE |
	                                    AGENT_PATH_PARENTS};
}

TEST(no_operation_leaves_the_workspace)
{
	static const char *const ways[] = {
	        "../outside/secret", "out/secret",       "absolute/secret",          "/etc/passwd",
	        "inner/../../etc",   "magic/etc/passwd", "fine/../../outside/secret"};
	static const uint16_t types[] = {AGENT_READ,  AGENT_WRITE,   AGENT_STAT,   AGENT_LIST,
	                                 AGENT_GLOB,  AGENT_MKDIR,   AGENT_REMOVE, AGENT_RENAME,
	                                 AGENT_COPY,  AGENT_TAR_OUT, AGENT_TAR_IN, AGENT_WATCH,
	                                 AGENT_SEARCH};
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);

	make_workspace(&b);
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		for (size_t j = 0; j < COUNT_OF(types); j++) {
			struct agent_path path = in_workspace(&b, ways[i]);
			struct agent_failed failed = call_fails(&b, fd, types[j], &path);

			assert_true(failed.code == ERROR_FORBIDDEN || failed.sys_errno == ELOOP);
			if (failed.code == ERROR_FORBIDDEN)
				assert_non_null(strstr(failed.text, "leaves the workspace"));
		}
	}
	assert_string_equal(box_get(&b, "outside/secret"), "secret");
	assert_int_equal(box_count_entries(&b, "outside"), 1);
	(void)close(fd);
	box_end(&b);
}

TEST(targets_do_not_leave_it_either)
{
	static const char *const ways[] = {"../new", "out/new", "absolute/new", "/tmp/new"};
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);

	make_workspace(&b);
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct agent_path path = in_workspace(&b, "mine");

		path.target = ways[i];
		assert_int_equal(call_fails(&b, fd, AGENT_RENAME, &path).code, ERROR_FORBIDDEN);
		assert_int_equal(call_fails(&b, fd, AGENT_COPY, &path).code, ERROR_FORBIDDEN);
	}
	assert_int_equal(box_count_entries(&b, "outside"), 1);
	(void)close(fd);
	box_end(&b);
}

TEST(a_write_through_a_link_that_leads_out_is_refused)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path;
	int fd = box_connect(&b);

	make_workspace(&b);
	path = in_workspace(&b, "file");
	assert_int_equal(call_fails(&b, fd, AGENT_WRITE, &path).code, ERROR_FORBIDDEN);
	assert_int_equal(call_fails(&b, fd, AGENT_READ, &path).code, ERROR_FORBIDDEN);
	path.path = "out";
	say(&b, fd, AGENT_REMOVE, agent_path_shape, &path); /* the link itself */
	assert_int_equal(hear_done(&b, fd), 1);
	assert_string_equal(box_get(&b, "outside/secret"), "secret");
	(void)close(fd);
	box_end(&b);
}

TEST(links_inside_the_workspace_are_followed)
{
	struct box b = box_start(BOX_PLAIN);
	struct agent_path path;
	int fd = box_connect(&b);

	make_workspace(&b);
	path = in_workspace(&b, "fine/sub/file");
	write_file(&b, fd, &path, SPAN("x"));
	assert_string_equal(box_get(&b, "work/inner/sub/file"), "x");
	(void)close(fd);
	box_end(&b);
}

/* Swaps a folder and a link that leads out, as fast as it can. */
static pid_t start_swapping(struct box *b)
{
	const char *work = box_path(b, "work");
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (chdir(work) < 0)
		_exit(1);
	for (;;)
		(void)renameat2(AT_FDCWD, "inner", AT_FDCWD, "out", RENAME_EXCHANGE);
}

TEST(a_link_that_appears_in_the_middle_leads_nowhere)
{
	struct box b = box_start(BOX_PLAIN);
	int fd = box_connect(&b);
	pid_t swapper;

	make_workspace(&b);
	swapper = start_swapping(&b);
	for (int i = 0; i < 300; i++) {
		struct agent_path path = in_workspace(&b, "inner/secret");

		say(&b, fd, AGENT_STAT, agent_path_shape, &path);
		assert_int_equal(hear_any(&b, fd), AGENT_FAILED);
		path = in_workspace(&b, "inner/file");
		say(&b, fd, AGENT_WRITE, agent_path_shape, &path);
		if (hear_any(&b, fd) == AGENT_READY) {
			send_bytes(&b, fd, SPAN("x"));
			if (hear_any(&b, fd) == AGENT_FILE)
				(void)hear_done(&b, fd);
		}
		path = in_workspace(&b, "inner/made/deep");
		say(&b, fd, AGENT_MKDIR, agent_path_shape, &path);
		if (hear_any(&b, fd) == AGENT_FILE)
			(void)hear_done(&b, fd);
	}
	(void)kill(swapper, SIGKILL);
	(void)waitpid(swapper, NULL, 0);
	assert_int_equal(box_count_entries(&b, "outside"), 1);
	(void)close(fd);
	box_end(&b);
}

TEST(a_host_folder_is_also_known_by_its_own_path)
{
	struct box b = box_start(BOX_HOST);
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	int fd = box_connect(&b);
	struct agent_path path = {.path = box_path(&b, "folder/file"), .flags = AGENT_PATH_PARENTS};
	struct agent_exec command = shell(&b, "pwd; echo $HOME $ATOLL_PROJECT_DIR");
	struct ran r;

	write_file(&b, fd, &path, SPAN("text"));
	assert_string_equal(box_get(&b, "folder/file"), "text");
	read_file(&b, fd, &path, &out);
	assert_string_equal(buf_text(&out), "text");
	/* A neighbour whose path only begins alike. */
	path.path = arena_format(&b.arena, "%s-other/file", b.folder);
	assert_int_equal(call_fails(&b, fd, AGENT_READ, &path).code, ERROR_NOT_FOUND);
	path.path = arena_format(&b.arena, "%s/../..%s.socket", b.folder, b.folder);
	assert_int_equal(call_fails(&b, fd, AGENT_STAT, &path).code, ERROR_NOT_FOUND);
	command.cwd = box_path(&b, "folder");
	r = exec(&b, fd, &command);
	assert_string_equal(buf_text(&r.out[0]), arena_format(&b.arena, "%s/folder\n%s %s\n",
	                                                      b.folder, b.folder, b.folder));
	ran_done(&r);
	(void)close(fd);
	box_end(&b);
}

TEST(in_a_host_folder_every_path_is_of_that_folder)
{
	struct box b = box_start(BOX_HOST);
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	int fd = box_connect(&b);
	struct agent_path path = {.path = "/etc/passwd"};
	struct agent_exec command;
	struct ran r;

	assert_int_equal(call_fails(&b, fd, AGENT_READ, &path).code, ERROR_NOT_FOUND);
	path.path = "../../../../etc/passwd";
	assert_int_equal(call_fails(&b, fd, AGENT_READ, &path).code, ERROR_NOT_FOUND);
	assert_int_equal(symlink("/etc/passwd", box_path(&b, "link")), 0);
	path.path = "link";
	assert_int_equal(call_fails(&b, fd, AGENT_READ, &path).code, ERROR_NOT_FOUND);
	path = (struct agent_path){.path = "/etc/passwd", .flags = AGENT_PATH_PARENTS};
	write_file(&b, fd, &path, SPAN("own"));
	assert_string_equal(box_get(&b, "etc/passwd"), "own");
	path = (struct agent_path){.path = "link"};
	read_file(&b, fd, &path, &out);
	assert_string_equal(buf_text(&out), "own");
	command = shell(&b, "pwd");
	command.cwd = "/etc";
	r = exec(&b, fd, &command);
	assert_string_equal(buf_text(&r.out[0]), arena_format(&b.arena, "%s/etc\n", b.folder));
	ran_done(&r);
	(void)close(fd);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(no_operation_leaves_the_workspace), CASE(targets_do_not_leave_it_either),
	           CASE(a_write_through_a_link_that_leads_out_is_refused),
	           CASE(links_inside_the_workspace_are_followed),
	           CASE(a_link_that_appears_in_the_middle_leads_nowhere),
	           CASE(a_host_folder_is_also_known_by_its_own_path),
	           CASE(in_a_host_folder_every_path_is_of_that_folder));
}
