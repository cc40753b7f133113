/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/listen.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

TEST(an_address_with_port_zero_gets_a_port)
{
	AUTO(buf_done) struct buf text = BUF(128);
	AUTO_CLOSE int fd = -1;
	struct error err;

	assert_int_equal(listen_open("127.0.0.1:0", &fd, &err), 0);
	listen_describe(fd, "http", &text);
	assert_int_equal(strncmp(buf_text(&text), "http://127.0.0.1:", 17), 0);
	assert_string_not_equal(buf_text(&text) + 17, "0");
}

TEST(a_port_in_use_is_a_conflict)
{
	AUTO(buf_done) struct buf text = BUF(128);
	AUTO_CLOSE int first = -1, second = -1;
	struct error err;

	assert_int_equal(listen_open("127.0.0.1:0", &first, &err), 0);
	listen_describe(first, "http", &text);
	assert_int_equal(listen_open(buf_text(&text) + 7, &second, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(second, -1);
	assert_non_null(strstr(err.hint, "another program has port "));
	assert_non_null(strstr(err.hint, "--listen"));
}

TEST(an_address_of_another_machine_is_refused_with_one_that_works)
{
	struct error err;
	int fd = -1;

	assert_int_equal(listen_open("192.0.2.1:7777", &fd, &err), -1);
	assert_int_equal(err.sys_errno, EADDRNOTAVAIL);
	assert_non_null(strstr(err.hint, "0.0.0.0"));
}

TEST(a_port_that_a_dying_process_has_is_waited_for)
{
	AUTO(buf_done) struct buf text = BUF(128);
	AUTO_CLOSE int first = -1, second = -1;
	int held[2];
	struct error err;
	pid_t child;

	assert_int_equal(listen_open("127.0.0.1:0", &first, &err), 0);
	listen_describe(first, "http", &text);
	assert_int_equal(pipe(held), 0);
	child = fork();
	if (child == 0) {
		(void)!write(held[1], "x", 1);
		(void)usleep(100000); /* no wait: for so long the port is taken */
		_exit(0);
	}
	assert_int_equal(read(held[0], &(char){0}, 1), 1);
	fd_forget(&first);
	assert_int_equal(listen_open(buf_text(&text) + 7, &second, &err), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(held[0]);
	(void)close(held[1]);
}

TEST(what_is_no_address_is_refused)
{
	static const char *const bad[] = {"",
	                                  "localhost",
	                                  "127.0.0.1",
	                                  "127.0.0.1:",
	                                  "127.0.0.1:x",
	                                  "127.0.0.1:65536",
	                                  ":80",
	                                  "[]:80",
	                                  "no.such.host:80",
	                                  "unix:relative",
	                                  "unix:/nosuch/folder/s"};
	struct error err;
	int fd = -1;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(listen_open(bad[i], &fd, &err), -1);
		assert_int_equal(fd, -1);
	}
}

TEST(a_unix_socket_may_lie_in_a_folder_with_a_long_path)
{
	char path[400] = "/tmp/atoll-listen-XXXXXX";
	AUTO_CLOSE int folder = -1, fd = -1, again = -1;
	AUTO(buf_done) struct buf text = BUF(128);
	struct stat status;
	struct error err;
	size_t root;

	assert_non_null(mkdtemp(path));
	root = strlen(path);
	memset(path + root, 'x', 200);
	path[root] = '/';
	assert_int_equal(mkdir(path, 0700), 0);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(listen_open_unix(folder, "s", &fd, &err), 0);
	/* What was left by one that died is replaced. */
	assert_int_equal(listen_open_unix(folder, "s", &again, &err), 0);
	assert_int_equal(fstatat(folder, "s", &status, 0), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	listen_describe(again, "http", &text);
	assert_string_equal(buf_text(&text), "unix");
	(void)unlinkat(folder, "s", 0);
	(void)rmdir(path);
	path[root] = '\0';
	(void)rmdir(path);
}

int main(void)
{
	return RUN(CASE(an_address_with_port_zero_gets_a_port), CASE(a_port_in_use_is_a_conflict),
	           CASE(an_address_of_another_machine_is_refused_with_one_that_works),
	           CASE(a_port_that_a_dying_process_has_is_waited_for),
	           CASE(what_is_no_address_is_refused),
	           CASE(a_unix_socket_may_lie_in_a_folder_with_a_long_path));
}
